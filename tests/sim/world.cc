// SPDX-License-Identifier: MIT
// See world.h. The oracle is the plainest matcher over each blob.
#include "tests/sim/world.h"

#include <memory>
#include <optional>
#include <random>

#include "daemon/scheduler/scheduler.h"
#include "evidence/base/status.h"
#include "megakernel/table.h"
#include "tests/megakernel/naive_matcher.h"
#include "tests/sim/sim_device.h"
#include "tests/sim/watched_session.h"

namespace keysieve::sim {
namespace {

using megakernel::Geometry;
using megakernel::Literal;
using scheduler::Lane;
using scheduler::MatchOutcome;

constexpr uint64_t kMostSteps = 200'000;
constexpr std::chrono::minutes kPoll(1);  // virtual
constexpr std::chrono::hours kWatchdog(1);

struct Profile {
  const char* name;
  Dice dice;
};

const Profile kProfiles[] = {
    {"calm", {.slow = 50}},
    {"dispatch", {.refuse = 60, .fail = 60}},
    {"always failing", {.refuse = 400, .fail = 400}},
    {"damage", {.corrupt = 100, .spurious = 100}},
    {"hang", {.hang = 60, .slow = 50}},
    {"loss", {.lose = 40}},
    {"memory", {.no_memory = 60}},
    {"everything",
     {.refuse = 20,
      .fail = 20,
      .hang = 5,
      .lose = 5,
      .slow = 50,
      .corrupt = 20,
      .spurious = 20,
      .no_memory = 10}},
};

struct RuleSet {
  std::vector<Literal> literals;
  std::shared_ptr<const megakernel::Table> table;
};

// Compiled once: a seed chooses among them.
const std::vector<RuleSet>& RuleSets() {
  static const std::vector<RuleSet> sets = [] {
    std::vector<RuleSet> made = {{{{"abc", false}, {"BCA", true}, {"aaaa", false}}, nullptr},
                                 {{{"key", true}, {"ab", false}}, nullptr},
                                 {{{"c a", false}, {"bbb", true}, {"a", false}}, nullptr}};
    for (RuleSet& set : made) {
      set.table =
          std::make_shared<const megakernel::Table>(*megakernel::CompileTable(set.literals));
    }
    return made;
  }();
  return sets;
}

struct BlobState {
  std::string text;
  const RuleSet* rules = nullptr;
  uint64_t request = 0;
  std::weak_ptr<const void> bytes;
  int answers = 0;
  MatchOutcome outcome;
};

class World {
 public:
  explicit World(uint64_t seed)
      : random_(seed), profile_(kProfiles[random_() % std::size(kProfiles)]) {
    report_.profile = profile_.name;
  }

  Report Run() {
    Build();
    Drive();
    Judge();
    return std::move(report_);
  }

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  void Broken(const std::string& what) { report_.broken.push_back(what); }
  void Expect(bool holds, const std::string& what) {
    if (!holds) Broken(what);
  }
  void ExpectEqual(uint64_t got, uint64_t want, const std::string& what) {
    if (got != want) Broken(Cat(what, ": ", got, " instead of ", want));
  }

  Geometry RandomGeometry();
  void Build();
  void MakeBlobs();
  scheduler::LaneOpener Opener(Geometry geometry);
  backends::Clock::time_point Now() const {
    return fakes_.empty() ? backends::Clock::time_point(std::chrono::hours(1))
                          : fakes_.back()->now();
  }
  void Submit(BlobState& blob);
  void Drive();
  void Event();
  void Order(bool quarantine);
  void Judge();
  void JudgeBlob(size_t index);
  void JudgeCounters();

  std::mt19937_64 random_;
  const Profile profile_;
  Report report_;
  Seen seen_;
  SessionBook book_;
  test::CountingRecorder recorder_;
  std::vector<std::unique_ptr<test::FakeDevice>> fakes_;  // each opening has a new one
  std::unique_ptr<test::FakeDevice> cpu_fake_;
  std::map<uint64_t, std::shared_ptr<std::atomic<bool>>> cancelled_;
  std::vector<BlobState> blobs_;
  size_t next_blob_ = 0;
  uint64_t orders_ = 0, orders_answered_ = 0, quarantines_ordered_ = 0;
  std::unique_ptr<Lane> cpu_, gpu_;
};

Geometry World::RandomGeometry() {
  Geometry geometry{.slots = 32, .workgroup = 8, .tenants = 4};
  geometry.batches = 1 + static_cast<uint32_t>(Below(4));
  geometry.batch_bytes = Below(2) == 0 ? 8 << 10 : 64 << 10;
  geometry.hits_per_batch = Below(3) == 0 ? 16 : 4096;  // small: many overflows
  // Room for two of the three tables, or for all.
  const uint64_t table = RuleSets()[0].table->words.size() * 4;
  geometry.table_bytes = std::max<uint64_t>((Below(2) == 0 ? 5 : 8) * table / 2, 64 << 10);
  return geometry;
}

scheduler::LaneOpener World::Opener(Geometry geometry) {
  return [this, geometry]() -> absl::StatusOr<scheduler::LaneParts> {
    test::FakeOptions options;
    options.run_late = Below(2) == 0;
    fakes_.push_back(std::make_unique<test::FakeDevice>(options, &recorder_));
    scheduler::LaneParts parts;
    parts.device = std::make_unique<SimDevice>(*fakes_.back(), profile_.dice, random_, seen_);
    KS_ASSIGN_OR_RETURN(auto session,
                        megakernel::Session::Open(*parts.device, {.geometry = geometry,
                                                                  .recorder = &recorder_,
                                                                  .watchdog = kWatchdog,
                                                                  .copy_threads = 1,
                                                                  .decode_threads = 1}));
    parts.session = std::make_unique<WatchedSession>(std::move(session), book_);
    return parts;
  };
}

void World::Build() {
  MakeBlobs();
  const Geometry geometry = RandomGeometry();
  cpu_ = std::make_unique<Lane>(
      scheduler::LaneOptions{},
      [this, geometry]() -> absl::StatusOr<scheduler::LaneParts> {
        cpu_fake_ = std::make_unique<test::FakeDevice>();
        scheduler::LaneParts parts;
        parts.device = std::make_unique<test::ForwardingDevice>(*cpu_fake_);
        KS_ASSIGN_OR_RETURN(
            parts.session,
            megakernel::Session::Open(
                *parts.device, {.geometry = geometry, .copy_threads = 1, .decode_threads = 1}));
        return parts;
      },
      nullptr);
  Expect(cpu_->StartHere().ok(), "the CPU route does not open");
  scheduler::LaneOptions options;
  options.identity.backend = backends::BackendKind::kVulkan;
  options.recorder = &recorder_;
  options.poll = kPoll;
  options.now = [this] { return Now(); };
  // Either the session's watchdog comes first or the lane's own look at its oldest batch.
  options.hang_after = Below(2) == 0 ? std::chrono::hours(24) : std::chrono::minutes(30);
  gpu_ = std::make_unique<Lane>(options, Opener(geometry), cpu_.get());
  const absl::Status opened = gpu_->StartHere();
  Expect(opened.ok() || seen_.memory_faults > 0 || seen_.lost,
         "the device does not open: " + Message(opened));
}

void World::MakeBlobs() {
  blobs_.resize(5 + Below(40));
  for (BlobState& blob : blobs_) {
    blob.request = 1 + Below(6);
    const uint64_t kind = Below(20);
    const uint64_t bytes = kind == 0 ? Below(60'000) : kind < 4 ? Below(8000) : Below(400);
    blob.text.resize(bytes);
    for (char& c : blob.text) c = "abcABC ky\ne"[Below(11)];
    blob.rules = &RuleSets()[Below(RuleSets().size())];
    auto& flag = cancelled_[blob.request];
    if (flag == nullptr) flag = std::make_shared<std::atomic<bool>>(false);
  }
}

void World::Submit(BlobState& blob) {
  const auto owner = std::make_shared<std::string>(blob.text);
  blob.bytes = owner;
  scheduler::MatchJob job;
  job.bytes = test::Bytes(*owner);
  job.owner = owner;
  job.table = blob.rules->table;
  job.request = blob.request;
  job.tenant = static_cast<uint32_t>(blob.request % 4);
  job.cancelled = cancelled_[blob.request];
  job.done = [&blob](MatchOutcome outcome) {
    ++blob.answers;
    blob.outcome = std::move(outcome);
  };
  gpu_->Submit(std::move(job));
}

void World::Order(bool quarantine) {
  ++orders_;
  const auto done = [this](const absl::Status&) { ++orders_answered_; };
  const bool already = gpu_->status().state == scheduler::LaneState::kQuarantined;
  if (quarantine) {
    if (!already) ++quarantines_ordered_;
    gpu_->Quarantine("an order of the simulation", done);
  } else {
    gpu_->Resume(done);
  }
  // Obeyed before the next one, so that this one's effect is known.
  while (orders_answered_ < orders_ && gpu_->Step()) {
  }
}

void World::Event() {
  const uint64_t what = Below(1000);
  if (what < 400 && next_blob_ < blobs_.size()) {
    Submit(blobs_[next_blob_++]);
  } else if (what < 800) {
    gpu_->Step();
  } else if (what < 990) {
    cpu_->Step();
  } else if (what < 993) {
    const auto flag = cancelled_.find(1 + Below(6));
    if (flag != cancelled_.end()) flag->second->store(true);
  } else if (what < 995) {
    Order(true);
  } else {
    Order(false);
  }
}

void World::Drive() {
  uint64_t steps = 0;
  while (next_blob_ < blobs_.size() && ++steps < kMostSteps) Event();
  while ((gpu_->Step() | cpu_->Step()) && ++steps < kMostSteps) {
  }
  if (steps >= kMostSteps) return Broken("the lanes do not come to an end");
  gpu_->Stop();
  cpu_->Stop();
}

void World::JudgeBlob(size_t index) {
  const BlobState& blob = blobs_[index];
  const std::string name = Cat("blob ", index, " of ", blob.text.size(), " bytes");
  ExpectEqual(static_cast<uint64_t>(blob.answers), 1, name + " was answered");
  Expect(blob.bytes.expired(), name + ": its bytes are still held");
  const MatchOutcome& outcome = blob.outcome;
  if (absl::IsCancelled(outcome.status)) {
    ++report_.counts["cancelled"];
    Expect(cancelled_[blob.request]->load(), name + " was cancelled by nobody");
    return;
  }
  if (!outcome.status.ok()) return Broken(Cat(name, " failed: ", Message(outcome.status)));
  ++report_.counts[outcome.recovered ? "blobs_recovered" : "blobs_on_the_device"];
  Expect(outcome.recovered == (outcome.route == backends::BackendKind::kCpu),
         name + ": its route is not the one that matched");
  Expect(!outcome.recovered || !outcome.route_reason.empty(), name + ": no reason for its route");
  const auto want = test::NaiveMatches(blob.rules->literals, test::Bytes(blob.text));
  if (outcome.hits != want) Broken(Cat(name, ": ", test::Difference(outcome.hits, want)));
}

void World::JudgeCounters() {
  using evidence::FaultKind;
  using evidence::Traffic;
  uint64_t launches = 0;
  for (const auto& record : recorder_.completed) launches += record.launched ? 1 : 0;
  const uint64_t uploaded = recorder_.uploaded(Traffic::kText);
  ExpectEqual(recorder_.retried, book_.retries, "retries counted");
  ExpectEqual(recorder_.faults_of(FaultKind::kDispatch), seen_.dispatch_faults, "dispatch faults");
  ExpectEqual(recorder_.faults_of(FaultKind::kOutOfMemory), seen_.memory_faults, "memory faults");
  ExpectEqual(recorder_.faults_of(FaultKind::kDeviceLost), seen_.lost ? 1 : 0, "losses");
  const bool gave_up = gpu_->abandoned();
  const bool over = book_.ended_early || gave_up;
  if (!over) {
    // A batch may fail in a replay, its text long uploaded.
    Expect(
        uploaded >= book_.text_completed && uploaded <= book_.text_completed + book_.text_unclear,
        Cat("text bytes uploaded: ", uploaded,
            ", of batches that completed: ", book_.text_completed));
    ExpectEqual(launches, book_.epochs, "dispatches counted");
    ExpectEqual(recorder_.faults_of(FaultKind::kIntegrity), book_.integrity_errors,
                "integrity faults");
    ExpectEqual(recorder_.residual, book_.failed_batches, "batches left over");
    ExpectEqual(recorder_.faults_of(FaultKind::kTimeout), 0, "timeouts");
  } else {
    Expect(uploaded >= book_.text_completed && uploaded <= book_.text_submitted,
           "text bytes uploaded lie outside what was submitted");
    Expect(launches >= book_.epochs, "more epochs than dispatches");
    Expect(recorder_.faults_of(FaultKind::kTimeout) <= 1, "more than one timeout");
    Expect(recorder_.residual >= book_.failed_batches, "batches left over");
  }
  Expect(recorder_.recovered <= recorder_.residual + seen_.dispatch_faults,
         Cat("recoveries: ", recorder_.recovered, " of ", recorder_.residual, " batches"));
  ExpectEqual(recorder_.quarantined, quarantines_ordered_ + (gave_up ? 1 : 0), "quarantines");
  Expect(gave_up || !seen_.lost, "a lost device was not given up");
}

void World::Judge() {
  for (size_t i = 0; i < blobs_.size(); ++i) JudgeBlob(i);
  JudgeCounters();
  for (const auto& fake : fakes_) {
    ExpectEqual(fake->calls_after_abandon(), 0, "calls after Abandon()");
    if (!fake->abandoned()) ExpectEqual(fake->live_buffers(), 0, "buffers that were not freed");
  }
  ExpectEqual(orders_answered_, orders_, "orders answered");
  const scheduler::LaneStatus status = gpu_->status();
  ExpectEqual(status.queued_blobs, 0, "blobs still counted as waiting");
  ExpectEqual(status.queued_bytes, 0, "bytes still counted as waiting");
  auto& counts = report_.counts;
  counts["blobs"] = blobs_.size();
  counts["batches"] = book_.batches;
  counts["hits"] = book_.hits;
  counts["retries"] = recorder_.retried;
  counts["recoveries"] = recorder_.recovered;
  counts["replays"] = recorder_.replayed;
  counts["dispatch_faults"] = seen_.dispatch_faults;
  counts["integrity_faults"] = book_.integrity_errors;
  counts["memory_faults"] = seen_.memory_faults;
  counts["damages"] = seen_.damages;
  counts["devices_lost"] = seen_.lost ? 1 : 0;
  counts["devices_hung"] = recorder_.faults_of(evidence::FaultKind::kTimeout);
  counts["devices_given_up"] = gpu_->abandoned() ? 1 : 0;
  counts["orders"] = orders_;
}

}  // namespace

Report RunWorld(uint64_t seed) { return World(seed).Run(); }

}  // namespace keysieve::sim
