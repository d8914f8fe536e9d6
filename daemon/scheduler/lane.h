// SPDX-License-Identifier: MIT
// A lane: one thread that owns one device and its session. Jobs go in, outcomes come out. The lane
// packs blobs of many requests into batches, keeps several in flight, gives each piece's hits to
// its blob exactly once, retries a failed batch once, and hands what the device could not do to the
// CPU route.
//
//   Lane lane(options, opener, cpu_lane);
//   absl::Status opened = lane.Start();    // the opener ran on the lane's thread
//   lane.Submit(job);
//
// Its states, and what leads from one to another:
//
//   failed to open --Resume--> open               the opener runs again
//   open --Quarantine (an operator)--> quarantined    batches in flight end, the session is freed
//   quarantined --Resume--> open | failed to open
//   open --lost, hung, failing in a row, a call that never returns--> quarantined and abandoned
//   quarantined and abandoned                     stays so as long as the process lives
//
// In every state but open, jobs go to the CPU route at once. Once abandoned, no call touches the
// device again and everything that was pending has been handed to the CPU route.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "daemon/scheduler/matcher.h"
#include "daemon/scheduler/packer.h"
#include "daemon/scheduler/table_cache.h"
#include "evidence/base/mutex.h"
#include "megakernel/session.h"

namespace keysieve::scheduler {

enum class LaneState : uint8_t { kOpen, kFailedToOpen, kQuarantined };
std::string_view LaneStateName(LaneState state);  // "open", "failed_to_open", "quarantined"

// A device with its session. The device may be null in tests that fake the session.
struct LaneParts {
  std::unique_ptr<backends::Device> device;
  std::unique_ptr<megakernel::Session> session;  // destroyed before the device
};
using LaneOpener = std::function<absl::StatusOr<LaneParts>()>;

struct LaneOptions {
  backends::Identity identity;
  evidence::ScanRecorder* recorder = nullptr;  // null for the CPU; outlives the lane
  // One batch, or one call that does not return; past the session's own watchdog.
  std::chrono::milliseconds hang_after{60000};
  std::chrono::milliseconds poll{2};  // between looks for new work while there is room for it
  std::function<backends::Clock::time_point()> now = [] { return backends::Clock::now(); };
  std::function<void(const std::string&)> say;  // faults and the program's debug log, for the log
};

// What GetStatus and the metrics show.
struct LaneStatus {
  backends::Identity identity;
  LaneState state = LaneState::kFailedToOpen;
  std::string reason;      // empty while open
  bool abandoned = false;  // quarantined for as long as the process lives
  megakernel::SessionPolicy policy = megakernel::SessionPolicy::kEpoch;  // of the last session
  std::string policy_reason;                                             // empty until it was open
  uint64_t resident_bytes = 0;
  uint32_t batches_in_flight = 0;
  uint32_t slots_used = 0;    // of the ring
  uint64_t queued_blobs = 0;  // waiting or under way
  uint64_t queued_bytes = 0;
};

class Lane : public Matcher {
 public:
  // `recovery` is the CPU route, or null on the CPU route itself. It outlives this lane.
  Lane(LaneOptions options, LaneOpener opener, Matcher* recovery);
  // Drains first. A lane stuck in a call waits for that call: a process with an abandoned device
  // leaves by _exit() instead.
  ~Lane() override;

  // Opens on the lane's thread and waits for it. An error leaves the lane failed to open.
  absl::Status Start();

  // Instead of Start(), for whoever wants to be the lane's thread himself, such as a simulation:
  // opens here, and Step() makes one turn if there is something to do; else it is false. Stop()
  // then makes the turns that are left. Jobs and orders may come from `done` callbacks too.
  absl::Status StartHere();
  bool Step();

  // On a lane that is not open the job goes to the CPU route at once.
  void Submit(MatchJob job) override;

  // An operator's orders, carried out by the lane's thread, which then calls `done`; any thread.
  using Done = std::function<void(absl::Status)>;
  // No more work for the device: batches in flight end, the rest takes the CPU route, the session
  // and the device are closed. FAILED_PRECONDITION on the CPU route, which nothing could replace.
  void Quarantine(const std::string& reason, Done done);
  // Opens the device again. FAILED_PRECONDITION once it was abandoned; else what opening said.
  void Resume(Done done);

  // Has the lane's thread been in one turn for longer than `hang_after`? Then a call into the
  // device's library does not return: the lane is given up from here. A few times a second, by any
  // thread.
  void Supervise();

  LaneStatus status() const;
  const backends::Identity& identity() const { return options_.identity; }
  bool open() const { return open_.load(); }
  uint64_t queued_bytes() const { return queued_bytes_.load(); }
  // True once handles were abandoned: the process must then leave without running destructors that
  // belong to the vendor's library.
  bool abandoned() const { return abandoned_.load(); }

  // Ends intake, finishes what is queued, shuts the session down and joins. Does not wait for a
  // thread that is stuck in a call. Safe to call twice.
  void Stop();

 private:
  struct Flight {
    megakernel::BatchId id = 0;
    PackedBatch batch;
    megakernel::TableHandle table;
    backends::Clock::time_point since;
    std::vector<evidence::ContextId> scans;  // profiled ones
  };
  struct Order {
    enum class Kind : uint8_t { kQuarantine, kResume } kind = Kind::kQuarantine;
    std::string reason;
    Done done;
  };

  // lane.cc: the states
  void Run();
  bool Turn();  // false: stop, nothing is left
  bool AwaitWork();
  void Open();
  void Obey(Order order);
  void Enqueue(Order order);
  absl::Status GivenUp() const;
  absl::Status ObeyQuarantine(const std::string& reason);
  absl::Status ObeyResume();
  void TakeIn();
  void CloseSession();
  void Report();
  bool idle() const { return in_flight_.empty() && ready_.empty() && packer_.empty(); }
  bool usable() const { return parts_.session != nullptr && !abandoned_.load() && !stuck_.load(); }
  void Enter(LaneState state, const std::string& reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // True for the one caller who may answer the job.
  bool Claim(ActiveJob& job);
  void Finish(ActiveJob& job, MatchOutcome outcome);
  void Say(const std::string& sentence) const;
  std::string Name() const;

  // lane_batches.cc: work on an open device
  void Fill();
  bool SubmitNext();  // false: nothing more fits now
  bool HandIn(PackedBatch batch, megakernel::TableHandle table);
  void DropAnswered(PackedBatch& batch);
  void Collect();
  void Deliver(Flight flight, megakernel::BatchResult result);
  void Split(PackedBatch batch);
  void BindProfiles(std::span<const evidence::ContextId> scans);

  // lane_faults.cc: the device fails
  void Faulted(const absl::Status& status, PackedBatch batch);
  void Abandon(const absl::Status& status);
  void RecoverPending(const std::string& why);
  void RecoverBatch(PackedBatch batch, const std::string& why);
  void FailBatch(PackedBatch batch, const absl::Status& status);
  void Recover(const std::vector<std::shared_ptr<ActiveJob>>& jobs, const std::string& why,
               evidence::ScanRecorder* counted);
  void Reroute(MatchJob job, const std::string& why,
               std::function<void(bool)> ended);  // before the job's own `done`

  const LaneOptions options_;
  const LaneOpener opener_;
  Matcher* const recovery_;
  std::atomic<bool> open_{false};
  std::atomic<bool> abandoned_{false};
  std::atomic<bool> stuck_{false};  // the thread is in a call that does not return
  std::atomic<uint64_t> queued_bytes_{0};
  std::atomic<backends::Clock::rep> turn_began_{0};  // 0: the thread waits for work

  mutable Mutex mutex_;
  CondVar wake_;
  std::deque<std::shared_ptr<ActiveJob>> incoming_ ABSL_GUARDED_BY(mutex_);
  std::deque<Order> orders_ ABSL_GUARDED_BY(mutex_);
  Done obeying_ ABSL_GUARDED_BY(mutex_);  // of the order being carried out
  // Every job that was taken in and not yet answered. Who takes a job out answers it.
  std::unordered_map<const ActiveJob*, std::shared_ptr<ActiveJob>> active_ ABSL_GUARDED_BY(mutex_);
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;  // the thread
  absl::Status opened_ ABSL_GUARDED_BY(mutex_);
  LaneStatus status_ ABSL_GUARDED_BY(mutex_);

  // The lane thread's own.
  LaneParts parts_;
  TableCache tables_;
  Packer packer_;
  std::deque<PackedBatch> ready_;          // packed, not yet accepted by the session
  std::deque<Flight> in_flight_;           // in order of submission
  uint32_t max_pieces_ = UINT32_MAX;       // what the session was seen to take
  backends::Clock::time_point sampled_{};  // when the device was last asked about itself
  bool bound_ = false;                     // profiled scans are bound to the recorder
  uint32_t faults_in_row_ = 0;             // batches that failed twice, since the last success

  bool here_ = false;  // no thread of its own
  std::thread thread_;
};

}  // namespace keysieve::scheduler
