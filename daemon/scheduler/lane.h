// SPDX-License-Identifier: MIT
// A lane: one thread that owns one device and its session. Jobs go in, outcomes come out. The lane
// packs blobs of many requests into batches, keeps several in flight, gives each piece's hits to
// its blob exactly once, retries a failed batch once, and hands what the device could not do to the
// CPU route. A lost or hung device is quarantined: its handles are abandoned and nothing touches it
// again.
//
//   Lane lane(options, opener, cpu_lane);
//   absl::Status opened = lane.Start();    // the opener ran on the lane's thread
//   lane.Submit(job);
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <thread>
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
  evidence::DeviceRecorder* recorder = nullptr;  // null for the CPU; outlives the lane
  std::chrono::milliseconds hang_after{60000};   // one batch; past the session's own watchdog
  std::chrono::milliseconds poll{2};             // between looks for new work while a batch runs
  std::function<void(const std::string&)> say;   // faults and the program's debug log, for the log
};

// What GetStatus and the metrics show.
struct LaneStatus {
  backends::Identity identity;
  LaneState state = LaneState::kFailedToOpen;
  std::string reason;  // empty while open
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
  // Drains first.
  ~Lane() override;

  // Opens on the lane's thread and waits for it. An error leaves the lane failed to open.
  absl::Status Start();

  // On a lane that is not open the job goes to the CPU route at once.
  void Submit(MatchJob job) override;

  LaneStatus status() const;
  bool open() const { return open_.load(); }
  // True once handles were abandoned: the process must then leave without running destructors that
  // belong to the vendor's library.
  bool abandoned() const { return abandoned_.load(); }

  // Ends intake, finishes what is queued, shuts the session down and joins. Safe to call twice.
  void Stop();

 private:
  struct Flight {
    megakernel::BatchId id = 0;
    PackedBatch batch;
    megakernel::TableHandle table;
    backends::Clock::time_point since;
  };

  void Run();
  bool Intake();  // false: stop
  void Fill();
  bool SubmitNext();  // false: nothing more fits now
  void Collect();
  void Deliver(Flight flight, megakernel::BatchResult result);
  void Faulted(const absl::Status& status, PackedBatch batch);
  void Quarantine(const absl::Status& status);
  void Recover(std::vector<std::shared_ptr<ActiveJob>> jobs, const std::string& why);
  void RecoverBatch(PackedBatch batch, const std::string& why);
  void FailBatch(PackedBatch batch, const absl::Status& status);
  void Split(PackedBatch batch);
  void Finish(ActiveJob& job, MatchOutcome outcome);
  void Report();
  void Say(const std::string& sentence) const;
  std::string Name() const;

  const LaneOptions options_;
  const LaneOpener opener_;
  Matcher* const recovery_;
  std::atomic<bool> open_{false};
  std::atomic<bool> abandoned_{false};

  mutable Mutex mutex_;
  CondVar wake_;
  std::deque<std::shared_ptr<ActiveJob>> incoming_ ABSL_GUARDED_BY(mutex_);
  bool started_ ABSL_GUARDED_BY(mutex_) = false;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
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
  uint32_t faults_in_row_ = 0;             // batches that failed twice, since the last success

  std::thread thread_;
};

}  // namespace keysieve::scheduler
