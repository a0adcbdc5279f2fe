// Two or three replicas run for hours of virtual time. Each replica has its own clock, which jumps occasionally, and a
// connection that loses or delays calls and applies some writes late. The seed determines the entire run, and a failure
// reports the seed.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "driverupgrade/upgrade_controller.h"
#include "fmt/format.h"
#include "property/seeded_random.h"
#include "support/catch.h"
#include "support/object_server.h"

namespace driverupgrade::tests {
namespace {

constexpr std::uint64_t kSeeds = 1'000;
// Most defects show early, so only every tenth run is long.
absl::Duration Chaos(std::uint64_t seed) { return seed % 10 == 0 ? absl::Hours(4) : absl::Minutes(30); }
constexpr absl::Duration kCalm = absl::Seconds(60);

const absl::Time kStart = absl::FromUnixSeconds(1'800'000'000);

// A replica's own clock, which is offset from the real time and runs at a different rate.
class DriftingClock final : public Clock {
 public:
  DriftingClock(const absl::Time& real, absl::Duration offset, double rate)
      : real_(real), offset_(offset), rate_(rate) {}
  absl::Time Now() const override { return kStart + offset_ + (real_ - kStart) * rate_; }
  bool SleepFor(absl::Duration, std::stop_token) override { return true; }
  void Jump(absl::Duration by) { offset_ += by; }
  absl::Time ToReal(absl::Time local) const { return kStart + (local - kStart - offset_) / rate_; }

 private:
  const absl::Time& real_;
  absl::Duration offset_;
  double rate_;
};

class World {
 public:
  explicit World(std::uint64_t seed);
  // Returns the rule that was broken, or an empty string.
  std::string Run(absl::Duration chaos);
  int terms_begun() const { return terms_begun_; }
  absl::Duration led() const { return led_; }

 private:
  class Line;
  struct Replica {
    std::string name;
    std::shared_ptr<DriftingClock> clock;
    std::shared_ptr<Line> line;
    std::unique_ptr<LeaderElection> election;
    absl::Time wakes = kStart;
    absl::Time jumped = kStart;
    int incarnation = 0;
    bool busy = false;
  };
  struct LateWrite {
    absl::Time at;
    Lease lease;
    bool create;
  };

  void Start(Replica& replica);
  void Act(Replica& replica);
  void RunUntil(absl::Time end);
  bool RunOne(absl::Time end);
  void Check();
  absl::StatusOr<Lease> Call(const Lease* write, bool create);
  void Apply(const LateWrite& write) {
    (void)(write.create ? server_.Create(write.lease) : server_.Update(write.lease));
  }

  SeededRandom random_;
  absl::Time now_ = kStart;
  absl::Time outage_ends_ = kStart;
  ObjectServer<Lease> server_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  std::vector<LateWrite> late_;
  int fault_percent_ = 0;
  int mischief_percent_ = 0;
  bool calm_ = false;
  absl::Time checked_ = kStart;
  bool led_then_ = false;
  absl::Duration led_ = absl::ZeroDuration();
  int terms_begun_ = 0;
  std::string broken_;
};

// A replica's connection to the server. The rest of the world continues while a call is in progress.
class World::Line final : public ClusterFacade {
 public:
  explicit Line(World& world) : world_(world) {}
  bool Supports(Operation) const override { return true; }
  absl::StatusOr<Lease> GetLease(const CallContext&, const GetLeaseParams&) override {
    return world_.Call(nullptr, false);
  }
  absl::StatusOr<Lease> CreateLease(const CallContext&, const Lease& lease) override {
    return world_.Call(&lease, true);
  }
  absl::StatusOr<Lease> UpdateLease(const CallContext&, const Lease& lease) override {
    return world_.Call(&lease, false);
  }

 private:
  World& world_;
};

World::World(std::uint64_t seed) : random_(seed) {
  fault_percent_ = random_.Pick({0, 2, 10, 30});
  mischief_percent_ = random_.Pick({0, 1, 3});
  const int count = random_.Between(2, 3);
  for (int i = 0; i < count; ++i) {
    auto replica = std::make_unique<Replica>();
    replica->name = std::string(1, static_cast<char>('a' + i));
    replica->clock = std::make_shared<DriftingClock>(now_, absl::Seconds(random_.Between(-7200, 7200)),
                                                     1 + random_.Between(-100, 100) / 10'000.0);
    replica->line = std::make_shared<Line>(*this);
    Start(*replica);
    replicas_.push_back(std::move(replica));
  }
}

void World::Start(Replica& replica) {
  if (replica.election) terms_begun_ += static_cast<int>(replica.election->terms());
  replica.election =
      *LeaderElection::Create(replica.line, {.ns = "ops",
                                             .name = "driver",
                                             .identity = fmt::format("{}_{}", replica.name, ++replica.incarnation),
                                             .clock = replica.clock});
}

absl::StatusOr<Lease> World::Call(const Lease* write, bool create) {
  const LateWrite request{.at = {}, .lease = write == nullptr ? Lease{} : *write, .create = create};
  const auto answer = [&]() -> absl::StatusOr<Lease> {
    if (write == nullptr) return server_.Get();
    return create ? server_.Create(request.lease) : server_.Update(request.lease);
  };
  const auto pause = [&](int max_ms) { RunUntil(now_ + absl::Milliseconds(random_.Between(1, max_ms))); };
  if (now_ < outage_ends_) {
    pause(random_.Chance(50) ? 20 : 5000);
    return absl::UnavailableError("down");
  }
  if (calm_ || !random_.Chance(fault_percent_)) {
    pause(20);
    absl::StatusOr<Lease> result = answer();
    Check();
    pause(20);
    return result;
  }
  pause(random_.Chance(50) ? 50 : 5000);
  switch (random_.Below(5)) {
    case 0: return absl::UnavailableError("lost before");
    case 1: (void)answer(); return absl::DeadlineExceededError("lost after");
    case 2: (void)answer(); return absl::AbortedError("a silent replay met its own write");
    case 3:
      late_.push_back(request);
      late_.back().at = now_ + absl::Milliseconds(random_.Between(1, 30'000));
      return absl::DeadlineExceededError("applied late");
    default: {
      absl::StatusOr<Lease> result = answer();
      Check();
      pause(5000);
      return result;
    }
  }
}

// Steps the replica's election. Occasionally another event replaces the step: the replica crashes, releases the Lease,
// or pauses; all connections fail for a while; or the replica's clock jumps.
void World::Act(Replica& replica) {
  replica.busy = true;
  const int dice = calm_ ? 100'000 : random_.Below(20'000);
  absl::Duration rest = absl::ZeroDuration();
  if (dice < 10 * mischief_percent_) {
    Start(replica);  // the process crashes, and starts again
    rest = absl::Milliseconds(random_.Between(0, 30'000));
  } else if (dice < 20 * mischief_percent_) {
    (void)replica.election->Release({});
    rest = absl::Milliseconds(random_.Between(0, 30'000));
  } else if (dice < 30 * mischief_percent_) {
    rest = absl::Milliseconds(random_.Between(0, 60'000));  // the process is suspended
  } else if (dice < 40 * mischief_percent_) {
    outage_ends_ = now_ + absl::Seconds(random_.Pick({9, 11, 60}));
  } else if (dice < 50 * mischief_percent_ && now_ - replica.jumped > absl::Seconds(30)) {
    replica.clock->Jump(absl::Milliseconds(random_.Between(-30'000, 30'000)));
    replica.jumped = now_;
  } else {
    const absl::Time due = replica.clock->ToReal(replica.election->Step({}));
    rest = std::max(due - now_, absl::ZeroDuration()) + absl::Milliseconds(random_.Between(1, 20));
  }
  replica.wakes = now_ + rest;
  replica.busy = false;
  Check();
}

// Runs the next event before `end`. Returns false if no event is left.
bool World::RunOne(absl::Time end) {
  const auto late = std::min_element(late_.begin(), late_.end(), [](auto& a, auto& b) { return a.at < b.at; });
  Replica* next = nullptr;
  for (const auto& replica : replicas_) {
    if (!replica->busy && (next == nullptr || replica->wakes < next->wakes)) next = replica.get();
  }
  if (late != late_.end() && late->at <= end && (next == nullptr || late->at <= next->wakes)) {
    now_ = std::max(now_, late->at);
    Apply(*late);
    late_.erase(late);
    return true;
  }
  if (next == nullptr || next->wakes > end) return false;
  now_ = std::max(now_, next->wakes);
  Act(*next);
  return true;
}

void World::RunUntil(absl::Time end) {
  while (broken_.empty() && RunOne(end)) {
  }
  now_ = std::max(now_, end);
}

// Only an action can make a replica believe that it leads, so a check after each action is enough.
void World::Check() {
  std::string leaders;
  for (const auto& replica : replicas_) {
    if (replica->election->IsLeader()) leaders += replica->name;
  }
  if (leaders.size() > 1) broken_ = fmt::format("{} lead at {}", leaders, absl::FormatDuration(now_ - kStart));
  if (led_then_) led_ += now_ - checked_;
  led_then_ = !leaders.empty();
  checked_ = now_;
}

std::string World::Run(absl::Duration chaos) {
  RunUntil(kStart + chaos);
  calm_ = true;
  outage_ends_ = now_;
  late_.clear();
  for (const auto& replica : replicas_) replica->wakes = now_;
  RunUntil(now_ + kCalm);
  Check();
  if (!broken_.empty()) return broken_;
  if (!led_then_) return "nobody leads in the end";
  for (const auto& replica : replicas_) {
    terms_begun_ += static_cast<int>(replica->election->terms());
    if (replica->election->IsLeader() && server_.object()->holder != replica->election->leader()) {
      return "the leader is not the holder";
    }
  }
  return "";
}

TEST_CASE(
    "api-A58, api-A60: for 1,000 seeds, two replicas never lead at the same time, and one replica leads in the end") {
  std::string report;
  int failures = 0;
  int terms = 0;
  absl::Duration led = absl::ZeroDuration();
  absl::Duration total = absl::ZeroDuration();
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    World world(seed);
    const std::string broken = world.Run(Chaos(seed));
    total += Chaos(seed);
    terms += world.terms_begun();
    led += world.led();
    if (!broken.empty() && ++failures <= 5) report += fmt::format("seed {}: {}\n", seed, broken);
  }
  INFO(report);
  CHECK(failures == 0);
  // The faults take effect, but a replica still leads most of the time.
  CAPTURE(terms, absl::FormatDuration(led), absl::FormatDuration(total));
  CHECK(terms > 5 * static_cast<int>(kSeeds));
  CHECK(led > 0.9 * total);
}

}  // namespace
}  // namespace driverupgrade::tests
