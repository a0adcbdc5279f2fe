#include "simulation/world/faulty_cluster.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fmt/format.h"
#include "simulation/world/faulty_call.h"

namespace driverupgrade::testing::internal {
namespace {

// Number of crashes and stalls per 100,000 calls.
constexpr int kCrashes = 150;
constexpr int kStalls = 60;
// WatchCache::Health distrusts a watch that has failed for a minute, and a pass takes at most two minutes.
constexpr absl::Duration kWatchesMayFail = absl::Minutes(4);

enum class CallKind : std::uint8_t { kRead, kWrite, kWatch };

CallKind KindOf(Operation operation) {
  switch (operation) {
    case Operation::kWatchNodes:
    case Operation::kWatchPods:
    case Operation::kWatchDaemonSets:
    case Operation::kWatchControllerRevisions:
    case Operation::kWatchNodeMaintenances:
    case Operation::kWatchDeviceTaintRules:
    case Operation::kWatchResourceClaims:
    case Operation::kWatchResourceSlices: return CallKind::kWatch;
    default: return IsWrite(operation) ? CallKind::kWrite : CallKind::kRead;
  }
}

constexpr std::array kFollowed = {Operation::kWatchNodes, Operation::kWatchPods, Operation::kWatchDaemonSets,
                                  Operation::kWatchControllerRevisions};

Operation WatchOf(Operation list) {
  switch (list) {
    case Operation::kListNodes: return Operation::kWatchNodes;
    case Operation::kListPods: return Operation::kWatchPods;
    case Operation::kListDaemonSets: return Operation::kWatchDaemonSets;
    case Operation::kListControllerRevisions: return Operation::kWatchControllerRevisions;
    case Operation::kListNodeMaintenances: return Operation::kWatchNodeMaintenances;
    case Operation::kListDeviceTaintRules: return Operation::kWatchDeviceTaintRules;
    case Operation::kListResourceClaims: return Operation::kWatchResourceClaims;
    case Operation::kListResourceSlices: return Operation::kWatchResourceSlices;
    default: return list;
  }
}

}  // namespace

bool IsUpgradeWrite(Operation operation) {
  switch (operation) {
    case Operation::kPatchNode:
    case Operation::kEvictPod:
    case Operation::kDeletePod:
    case Operation::kCreateNodeMaintenance:
    case Operation::kPatchNodeMaintenance:
    case Operation::kDeleteNodeMaintenance:
    case Operation::kCreateDeviceTaintRule:
    case Operation::kPatchDeviceTaintRule:
    case Operation::kDeleteDeviceTaintRule: return true;
    default: return false;
  }
}

void LateRequests::SendNext() {
  const std::function<void()> send = std::move(requests_.extract(requests_.begin()).mapped());
  send();
}

FaultyCluster::FaultyCluster(World& world, InvariantChecker& checker, std::shared_ptr<Guarded> next,
                             std::shared_ptr<Clock> replica_clock, LateRequests& late, Random& random, std::string name)
    : ForwardingFacade(next),
      world_(world),
      checker_(checker),
      next_(std::move(next)),
      clock_(std::move(replica_clock)),
      late_(late),
      random_(random),
      name_(std::move(name)),
      odd_(world.seed, "alone " + name_),
      order_(world.seed, "watch order " + name_) {}

void FaultyCluster::Note(Operation operation, const absl::Status& answer) {
  if (world_.trace.on()) world_.trace.Line("{}: {}: fault {}", name_, ToString(operation), answer.ToString());
}

FaultyCluster::Fate FaultyCluster::DrawCallFault(Operation operation) {
  const CallKind kind = KindOf(operation);
  std::vector<std::pair<Fault, Fate>> fates;
  const auto add = [&](Fault fault, Fate::Kind fate, absl::Status answer, absl::Duration delay = {}) {
    if (world_.May(fault)) fates.push_back({fault, {.kind = fate, .answer = std::move(answer), .delay = delay}});
  };
  using Kind = Fate::Kind;
  if (kind == CallKind::kWrite) {
    // This fault refuses requests even if they name the current version. The cluster itself refuses only outdated
    // versions.
    add(Fault::kConflict, Kind::kRefused, absl::AbortedError("409 the object has been modified"));
    add(Fault::kAppliedNoAnswer, Kind::kAnswerLost, absl::UnavailableError("504 gateway timeout"));
    add(Fault::kAppliedNoAnswer, Kind::kAnswerLost, absl::DeadlineExceededError("no answer"));
    add(Fault::kAppliedLate, Kind::kLate, absl::DeadlineExceededError("no answer"),
        random_.Between(absl::Milliseconds(1), absl::Minutes(3)));
  }
  if (kind == CallKind::kRead) add(Fault::kListBroken, Kind::kRefused, absl::OutOfRangeError("410 continue expired"));
  if (kind != CallKind::kWatch) {
    add(Fault::kThrottled, Kind::kRefused, absl::ResourceExhaustedError("429 too many requests"));
    add(Fault::kForbidden, Kind::kRefused, absl::NotFoundError("404"));
  }
  add(Fault::kServerError, Kind::kRefused, absl::UnavailableError("503"));
  add(Fault::kNoConnection, Kind::kRefused, absl::UnavailableError("connection reset by peer"));
  add(Fault::kTimeout, Kind::kRefused, absl::DeadlineExceededError("no answer"));
  if (fates.empty()) return {};
  auto& [fault, fate] = fates[static_cast<std::size_t>(random_.Below(static_cast<int>(fates.size())))];
  // A read returns 404 for an existing object only if the resource's definition was deleted, so this fault returns 403.
  if (fault == Fault::kForbidden && kind == CallKind::kRead) fate.answer = absl::PermissionDeniedError("403");
  world_.Fired(fault);
  return fate;
}

// Returns whether this request is forbidden because, for some minutes, one kind of request is forbidden and all others
// are allowed, as if a role lacked a rule.
bool FaultyCluster::IsForbiddenAlone(Operation operation) {
  if (world_.Now() >= alone_until_) {
    if (odd_.Below(20'000) >= 8) return false;
    alone_ = odd_.Pick({Alone::kLedger, Alone::kWatches, Alone::kNodeWatch, Alone::kDriver, Alone::kPodLists});
    alone_until_ = world_.Now() + odd_.Between(absl::Minutes(1), absl::Minutes(12));
    world_.trace.Line("{}: requests of kind {} are forbidden for {}", name_, static_cast<int>(alone_),
                      absl::FormatDuration(alone_until_ - world_.Now()));
  }
  switch (alone_) {
    case Alone::kLedger:
      return operation == Operation::kGetConfigMap || operation == Operation::kCreateConfigMap ||
             operation == Operation::kPatchConfigMap;
    case Alone::kWatches: return KindOf(operation) == CallKind::kWatch;
    case Alone::kNodeWatch: return operation == Operation::kWatchNodes;
    case Alone::kDriver:
      return operation == Operation::kListDaemonSets || operation == Operation::kWatchDaemonSets ||
             operation == Operation::kListControllerRevisions || operation == Operation::kWatchControllerRevisions;
    case Alone::kPodLists: return operation == Operation::kListPods;
  }
  return false;
}

FaultyCluster::Fate FaultyCluster::Draw(Operation operation) {
  if (!world_.chaos) return {};
  if (world_.May(Fault::kForbidden)) {
    if (world_.Now() < forbidden_until_) return {.kind = Fate::Kind::kRefused, .answer = forbidden_};
    if (random_.Below(20'000) < 8) {
      forbidden_until_ = world_.Now() + random_.Between(absl::Seconds(5), absl::Minutes(3));
      forbidden_ = random_.Pick({absl::UnauthenticatedError("401 the token has expired"),
                                 absl::PermissionDeniedError("403 nodes is forbidden")});
      world_.Fired(Fault::kForbidden);
    }
    if (IsForbiddenAlone(operation)) {
      world_.Fired(Fault::kForbidden);
      return {.kind = Fate::Kind::kRefused, .answer = absl::PermissionDeniedError("403 it alone is forbidden")};
    }
  }
  if (world_.Now() < world_.outage_until) {
    world_.Fired(Fault::kOutage);
    if (world_.setup.Has(Mode::kLongOutage)) world_.CameBy(Mode::kLongOutage);
    return {.kind = Fate::Kind::kRefused, .answer = absl::UnavailableError("connection refused")};
  }
  if (world_.May(Fault::kCrash) &&
      random_.Below(100'000) < kCrashes * (KindOf(operation) == CallKind::kWrite ? 6 : 1)) {
    world_.Fired(Fault::kCrash);
    return {.kind = random_.Percent(50) ? Fate::Kind::kCrashBefore : Fate::Kind::kCrashAfter};
  }
  if (random_.PerMille(world_.setup.call_faults_per_mille)) return DrawCallFault(operation);
  return {};
}

void FaultyCluster::PassTime() {
  if (!world_.chaos || !world_.elapse) return;
  if (world_.May(Fault::kStall) && random_.Below(100'000) < kStalls) {
    world_.Fired(Fault::kStall);
    const absl::Duration stall = random_.Between(absl::Seconds(5), absl::Minutes(2));
    if (world_.trace.on()) world_.trace.Line("{}: stands still for {}", name_, absl::FormatDuration(stall));
    world_.elapse(stall);
  } else if (world_.setup.latency_max > absl::ZeroDuration()) {
    world_.elapse(random_.Between(absl::ZeroDuration(), world_.setup.latency_max));
  }
}

void FaultyCluster::AwaitAnswer(Operation operation) {
  if (!world_.chaos || !world_.setup.Has(Mode::kInFlight) || !IsWrite(operation)) return;
  world_.elapse(random_.Between(absl::ZeroDuration(), world_.setup.latency_max));
}

CallContext FaultyCluster::ToClusterTime(const CallContext& context) const {
  if (context.deadline == absl::InfiniteFuture()) return context;
  return {.deadline = world_.Now() + (context.deadline - clock_->Now()), .stop = context.stop};
}

// Checks that the replica may still write (I9).
void FaultyCluster::JudgeLease(Operation operation) {
  if (!renew_deadline_ || !IsUpgradeWrite(operation)) return;
  checker_.CheckLease(name_, clock_->Now() - renewed_at_, *renew_deadline_);
}

// Listing the objects counts as reading them, even if a replica lists them because its watch fails.
void FaultyCluster::NoteListed(Operation operation) {
  failing_since_.erase(WatchOf(operation));
  followed_.insert(WatchOf(operation));
}

bool FaultyCluster::HasListedAll(bool maintenances) const {
  return std::all_of(kFollowed.begin(), kFollowed.end(), [&](Operation watch) { return followed_.contains(watch); }) &&
         (!maintenances || followed_.contains(Operation::kWatchNodeMaintenances));
}

bool FaultyCluster::IsHeldBack(Operation watch) {
  if (!world_.chaos || !world_.setup.Has(Mode::kWatchOrder)) return false;
  absl::Time& until = held_back_until_.try_emplace(watch, absl::InfinitePast()).first->second;
  if (world_.Now() >= until && order_.Percent(30)) {
    until = world_.Now() + order_.Between(absl::Milliseconds(10), absl::Seconds(10));
    world_.CameBy(Mode::kWatchOrder);
  }
  if (world_.Now() >= until) return false;
  world_.NoteFault();
  watch_trouble_ = true;
  ++troubles_;
  return true;
}

void FaultyCluster::JudgeWatches(Operation operation) {
  if (!world_.setup.cache || world_.releasing || world_.setup.ClocksJump() || !IsUpgradeWrite(operation)) return;
  for (const auto& [watch, since] : failing_since_) {
    const absl::Duration failing = clock_->Now() - since;
    if (failing <= kWatchesMayFail) continue;
    checker_.Fail("I16", fmt::format("{}: {} while {} has been failing for {}", name_, ToString(operation),
                                     ToString(watch), absl::FormatDuration(failing)));
  }
}

void FaultyCluster::NoteClock() {
  const absl::Duration ahead = clock_->Now() - world_.Now();
  next_->NoteClock(ahead);
  if (sender_) sender_->clock_ahead = std::max(sender_->clock_ahead.value_or(ahead), ahead);
}

std::optional<absl::Status> FaultyCluster::Begin(const CallContext& context, Operation operation) {
  ++world_.result.calls;
  // After a violation, all calls fail so that the run ends soon.
  if (crashed_ || world_.Broken()) return absl::CancelledError("the process is dead");
  NoteClock();
  PassTime();
  NoteClock();
  if (crashed_ || world_.Broken()) return absl::CancelledError("the process is dead");
  if (context.deadline <= clock_->Now()) return absl::DeadlineExceededError("the deadline of the call has passed");
  JudgeLease(operation);
  JudgeWatches(operation);
  return std::nullopt;
}

}  // namespace driverupgrade::testing::internal
