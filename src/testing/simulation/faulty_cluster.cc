#include "testing/simulation/faulty_cluster.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace driverupgrade::inline v1::testing::internal {
namespace {

// Of 100,000 calls.
constexpr int kCrashes = 150;
constexpr int kStalls = 60;

enum class CallKind : std::uint8_t { kRead, kWrite, kWatch };

CallKind KindOf(Operation operation) {
  switch (operation) {
    case Operation::kWatchNodes:
    case Operation::kWatchPods:
    case Operation::kWatchDaemonSets:
    case Operation::kWatchControllerRevisions:
    case Operation::kWatchNodeMaintenances: return CallKind::kWatch;
    case Operation::kPatchNode:
    case Operation::kEvictPod:
    case Operation::kDeletePod:
    case Operation::kCreateNodeMaintenance:
    case Operation::kPatchNodeMaintenance:
    case Operation::kDeleteNodeMaintenance:
    case Operation::kCreateLease:
    case Operation::kUpdateLease:
    case Operation::kCreateConfigMap:
    case Operation::kPatchConfigMap:
    case Operation::kRecordEvent: return CallKind::kWrite;
    default: return CallKind::kRead;
  }
}

bool IsUpgradeWrite(Operation operation) {
  switch (operation) {
    case Operation::kPatchNode:
    case Operation::kEvictPod:
    case Operation::kDeletePod:
    case Operation::kCreateNodeMaintenance:
    case Operation::kPatchNodeMaintenance:
    case Operation::kDeleteNodeMaintenance: return true;
    default: return false;
  }
}

template <class T>
T ToAnswer(const absl::Status& status, Random& random) {
  if constexpr (std::is_same_v<T, absl::StatusOr<EvictionAnswer>>) {
    if (absl::IsResourceExhausted(status)) {
      return EvictionAnswer{
          .kind = EvictionAnswer::Kind::kThrottled,
          .message = "too many requests",
          .retry_after = random.Pick({absl::ZeroDuration(), absl::Seconds(1), absl::Seconds(30), absl::Minutes(5)})};
    }
    if (absl::IsNotFound(status)) return EvictionAnswer{.kind = EvictionAnswer::Kind::kGone};
  }
  (void)random;
  return T(status);
}

template <class T>
const absl::Status& StatusOf(const absl::StatusOr<T>& answer) {
  return answer.status();
}
const absl::Status& StatusOf(const absl::Status& answer) { return answer; }

// Gives events on until the watch breaks, and bookmarks only if told.
template <class T>
class LimitedSink final : public WatchSink<T> {
 public:
  LimitedSink(WatchSink<T>& next, int events, bool bookmarks) : next_(next), events_(events), bookmarks_(bookmarks) {}
  bool OnList(std::vector<T> objects, std::string_view version) override {
    return next_.OnList(std::move(objects), version);
  }
  bool OnChange(T object, std::string_view version) override {
    return events_-- > 0 && next_.OnChange(std::move(object), version);
  }
  bool OnDelete(T object, std::string_view version) override {
    return events_-- > 0 && next_.OnDelete(std::move(object), version);
  }
  bool OnBookmark(std::string_view version) override { return !bookmarks_ || next_.OnBookmark(version); }

 private:
  WatchSink<T>& next_;
  int events_;
  bool bookmarks_;
};

}  // namespace

void LateRequests::SendNext() {
  const std::function<void()> send = std::move(requests_.extract(requests_.begin()).mapped());
  send();
}

FaultyCluster::FaultyCluster(World& world, std::shared_ptr<Guarded> next, std::shared_ptr<Clock> replica_clock,
                             LateRequests& late, Random& random, std::string name)
    : ForwardingFacade(next),
      world_(world),
      next_(std::move(next)),
      clock_(std::move(replica_clock)),
      late_(late),
      random_(random),
      name_(std::move(name)) {}

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
    // A version that is current is not refused; one that is not is, without our doing.
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
  // A resource that exists is not answered 404 when it is read, but for a kind that is gone.
  if (fault == Fault::kForbidden && kind == CallKind::kRead) fate.answer = absl::PermissionDeniedError("403");
  world_.Fired(fault);
  return fate;
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
  }
  if (world_.May(Fault::kOutage) && world_.Now() < world_.outage_until) {
    world_.Fired(Fault::kOutage);
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

CallContext FaultyCluster::ToClusterTime(const CallContext& context) const {
  if (context.deadline == absl::InfiniteFuture()) return context;
  return {.deadline = world_.Now() + (context.deadline - clock_->Now()), .stop = context.stop};
}

// I9.
void FaultyCluster::JudgeLease(Operation operation) {
  if (!renew_deadline_ || !IsUpgradeWrite(operation)) return;
  const absl::Duration since = clock_->Now() - renewed_at_;
  if (since <= *renew_deadline_) return;
  world_.checker->Fail("I9", fmt::format("{} writes ({}) {} after the last renewal of its lease that was acknowledged",
                                         name_, ToString(operation), absl::FormatDuration(since)));
}

std::optional<absl::Status> FaultyCluster::Begin(const CallContext& context, Operation operation) {
  ++world_.result.calls;
  // A broken run ends soon.
  if (crashed_ || world_.Broken()) return absl::CancelledError("the process is dead");
  PassTime();
  if (crashed_ || world_.Broken()) return absl::CancelledError("the process is dead");
  if (context.deadline <= clock_->Now()) return absl::DeadlineExceededError("the deadline of the call has passed");
  JudgeLease(operation);
  return std::nullopt;
}

template <class T, class F>
T FaultyCluster::Run(const CallContext& context, Operation operation, F call) {
  if (std::optional<absl::Status> over = Begin(context, operation)) return T(*std::move(over));
  const Fate fate = Draw(operation);
  if (fate.kind != Fate::Kind::kNormal) Note(operation, fate.answer);
  switch (fate.kind) {
    case Fate::Kind::kNormal: break;
    case Fate::Kind::kRefused: return ToAnswer<T>(fate.answer, random_);
    case Fate::Kind::kCrashBefore: crashed_ = true; return T(absl::CancelledError("the process is dead"));
    case Fate::Kind::kAnswerLost: (void)call(ToClusterTime(context)); return T(fate.answer);
    case Fate::Kind::kLate:
      late_.Add(world_.Now() + fate.delay, [next = next_, writer = next_->writer(), call] {
        next->As(writer, [&] { (void)call(CallContext{}); });
      });
      return T(fate.answer);
    case Fate::Kind::kCrashAfter:
      (void)call(ToClusterTime(context));
      crashed_ = true;
      return T(absl::CancelledError("the process is dead"));
  }
  return call(ToClusterTime(context));
}

template <class T, class F>
T FaultyCluster::Write(const CallContext& context, Operation operation, F call) {
  // The request may arrive when its sender is gone: nothing of him is kept.
  return Run<T>(context, operation, [world = &world_, name = name_, operation, call](const CallContext& at) -> T {
    if (IsUpgradeWrite(operation)) ++world->writes;
    T answer = call(at);
    if (world->trace.on()) world->trace.Line("{}: {}: {}", name, ToString(operation), StatusOf(answer).ToString());
    return answer;
  });
}

template <class T, class F>
absl::StatusOr<std::vector<T>> FaultyCluster::List(const CallContext& context, Operation operation, F call) {
  auto objects = Run<absl::StatusOr<std::vector<T>>>(context, operation, call);
  list_version_ = world_.cluster->revision();
  return objects;
}

absl::StatusOr<std::vector<Node>> FaultyCluster::ListNodes(const CallContext& context, const ListNodesParams& params) {
  auto nodes = Run<absl::StatusOr<std::vector<Node>>>(
      context, Operation::kListNodes, [&](const CallContext& at) { return next_->ListNodes(at, params); });
  list_version_ = world_.cluster->revision();
  if (!nodes.ok() || !world_.setup.Has(Fault::kStaleRead)) return nodes;
  std::vector<Node> stale = std::exchange(nodes_before_, *nodes);
  const std::int64_t stale_version = std::exchange(nodes_before_version_, list_version_);
  if (stale.empty() || !world_.chaos || !random_.Percent(10)) return nodes;
  world_.Fired(Fault::kStaleRead);
  nodes_before_ = stale;
  nodes_before_version_ = list_version_ = stale_version;
  return stale;
}

absl::StatusOr<std::vector<Pod>> FaultyCluster::ListPods(const CallContext& context, const ListPodsParams& params) {
  return List<Pod>(context, Operation::kListPods, [&](const CallContext& at) { return next_->ListPods(at, params); });
}

absl::StatusOr<std::vector<DaemonSet>> FaultyCluster::ListDaemonSets(const CallContext& context,
                                                                     const ListDaemonSetsParams& params) {
  return List<DaemonSet>(context, Operation::kListDaemonSets,
                         [&](const CallContext& at) { return next_->ListDaemonSets(at, params); });
}

absl::StatusOr<std::vector<ControllerRevision>> FaultyCluster::ListControllerRevisions(
    const CallContext& context, const ListControllerRevisionsParams& params) {
  return List<ControllerRevision>(context, Operation::kListControllerRevisions,
                                  [&](const CallContext& at) { return next_->ListControllerRevisions(at, params); });
}

template <class T, class F>
absl::Status FaultyCluster::Watch(Operation operation, const CallContext& context, const WatchParams& params,
                                  WatchSink<T>& sink, F call) {
  const auto troubled = [&](Fault fault, absl::Status status) {
    world_.Fired(fault);
    watch_trouble_ = true;
    Note(operation, status);
    return status;
  };
  absl::Status ended = Run<absl::Status>(context, operation, [&](const CallContext& at) -> absl::Status {
    const bool unlucky = world_.chaos && random_.Percent(5);
    if (unlucky && world_.May(Fault::kWatchLost) && random_.Percent(50)) {
      return troubled(Fault::kWatchLost, absl::UnavailableError("connection lost"));
    }
    if (unlucky && world_.May(Fault::kWatchExpired) && !params.resource_version.empty() && random_.Percent(50)) {
      return troubled(Fault::kWatchExpired, absl::OutOfRangeError("410 too old resource version"));
    }
    if (unlucky && world_.May(Fault::kWatchBroken)) {
      LimitedSink<T> limited(sink, random_.Below(3), false);
      absl::Status status = call(at, limited);
      return status.ok() ? troubled(Fault::kWatchBroken, absl::UnavailableError("unexpected EOF")) : status;
    }
    if (world_.May(Fault::kNoBookmarks)) {
      world_.Fired(Fault::kNoBookmarks);
      watch_trouble_ = true;
      LimitedSink<T> silent(sink, 1'000'000'000, false);
      return call(at, silent);
    }
    return call(at, sink);
  });
  if (!ended.ok()) watch_trouble_ = true;
  return ended;
}

absl::Status FaultyCluster::WatchNodes(const CallContext& context, const WatchParams& params, WatchSink<Node>& sink) {
  return Watch<Node>(Operation::kWatchNodes, context, params, sink,
                     [&](const CallContext& at, WatchSink<Node>& to) { return next_->WatchNodes(at, params, to); });
}

absl::Status FaultyCluster::WatchPods(const CallContext& context, const WatchParams& params, WatchSink<Pod>& sink) {
  return Watch<Pod>(Operation::kWatchPods, context, params, sink,
                    [&](const CallContext& at, WatchSink<Pod>& to) { return next_->WatchPods(at, params, to); });
}

absl::Status FaultyCluster::WatchDaemonSets(const CallContext& context, const WatchParams& params,
                                            WatchSink<DaemonSet>& sink) {
  return Watch<DaemonSet>(
      Operation::kWatchDaemonSets, context, params, sink,
      [&](const CallContext& at, WatchSink<DaemonSet>& to) { return next_->WatchDaemonSets(at, params, to); });
}

absl::Status FaultyCluster::WatchControllerRevisions(const CallContext& context, const WatchParams& params,
                                                     WatchSink<ControllerRevision>& sink) {
  return Watch<ControllerRevision>(Operation::kWatchControllerRevisions, context, params, sink,
                                   [&](const CallContext& at, WatchSink<ControllerRevision>& to) {
                                     return next_->WatchControllerRevisions(at, params, to);
                                   });
}

absl::Status FaultyCluster::WatchNodeMaintenances(const CallContext& context, const WatchParams& params,
                                                  WatchSink<NodeMaintenance>& sink) {
  return Watch<NodeMaintenance>(Operation::kWatchNodeMaintenances, context, params, sink,
                                [&](const CallContext& at, WatchSink<NodeMaintenance>& to) {
                                  return next_->WatchNodeMaintenances(at, params, to);
                                });
}

absl::StatusOr<std::vector<NodeMaintenance>> FaultyCluster::ListNodeMaintenances(
    const CallContext& context, const ListNodeMaintenancesParams& params) {
  return List<NodeMaintenance>(context, Operation::kListNodeMaintenances,
                               [&](const CallContext& at) { return next_->ListNodeMaintenances(at, params); });
}

absl::StatusOr<NodeMaintenance> FaultyCluster::CreateNodeMaintenance(const CallContext& context,
                                                                     const CreateNodeMaintenanceParams& params) {
  return Write<absl::StatusOr<NodeMaintenance>>(
      context, Operation::kCreateNodeMaintenance,
      [next = next_, params](const CallContext& at) { return next->CreateNodeMaintenance(at, params); });
}

absl::StatusOr<NodeMaintenance> FaultyCluster::PatchNodeMaintenance(const CallContext& context,
                                                                    const PatchNodeMaintenanceParams& params) {
  return Write<absl::StatusOr<NodeMaintenance>>(
      context, Operation::kPatchNodeMaintenance,
      [next = next_, params](const CallContext& at) { return next->PatchNodeMaintenance(at, params); });
}

absl::Status FaultyCluster::DeleteNodeMaintenance(const CallContext& context,
                                                  const DeleteNodeMaintenanceParams& params) {
  return Write<absl::Status>(context, Operation::kDeleteNodeMaintenance, [next = next_, params](const CallContext& at) {
    return next->DeleteNodeMaintenance(at, params);
  });
}

absl::StatusOr<Lease> FaultyCluster::GetLease(const CallContext& context, const GetLeaseParams& params) {
  return Run<absl::StatusOr<Lease>>(context, Operation::kGetLease,
                                    [&](const CallContext& at) { return next_->GetLease(at, params); });
}

absl::StatusOr<ConfigMap> FaultyCluster::GetConfigMap(const CallContext& context, const GetConfigMapParams& params) {
  return Run<absl::StatusOr<ConfigMap>>(context, Operation::kGetConfigMap,
                                        [&](const CallContext& at) { return next_->GetConfigMap(at, params); });
}

absl::StatusOr<Node> FaultyCluster::PatchNode(const CallContext& context, const PatchNodeParams& params) {
  next_->NoteSent(params);
  return Write<absl::StatusOr<Node>>(context, Operation::kPatchNode, [next = next_, params](const CallContext& at) {
    return next->PatchNode(at, params);
  });
}

absl::StatusOr<EvictionAnswer> FaultyCluster::EvictPod(const CallContext& context, const EvictPodParams& params) {
  return Write<absl::StatusOr<EvictionAnswer>>(
      context, Operation::kEvictPod,
      [next = next_, params](const CallContext& at) { return next->EvictPod(at, params); });
}

absl::Status FaultyCluster::DeletePod(const CallContext& context, const DeletePodParams& params) {
  return Write<absl::Status>(context, Operation::kDeletePod,
                             [next = next_, params](const CallContext& at) { return next->DeletePod(at, params); });
}

absl::StatusOr<Lease> FaultyCluster::CreateLease(const CallContext& context, const Lease& lease) {
  const absl::Time sent = clock_->Now();
  auto answer = Write<absl::StatusOr<Lease>>(
      context, Operation::kCreateLease,
      [next = next_, lease](const CallContext& at) { return next->CreateLease(at, lease); });
  if (answer.ok()) renewed_at_ = sent;
  return answer;
}

absl::StatusOr<Lease> FaultyCluster::UpdateLease(const CallContext& context, const Lease& lease) {
  const absl::Time sent = clock_->Now();
  auto answer = Write<absl::StatusOr<Lease>>(
      context, Operation::kUpdateLease,
      [next = next_, lease](const CallContext& at) { return next->UpdateLease(at, lease); });
  if (answer.ok()) renewed_at_ = sent;
  return answer;
}

absl::StatusOr<ConfigMap> FaultyCluster::CreateConfigMap(const CallContext& context, const ConfigMap& config_map) {
  return Write<absl::StatusOr<ConfigMap>>(
      context, Operation::kCreateConfigMap,
      [next = next_, config_map](const CallContext& at) { return next->CreateConfigMap(at, config_map); });
}

absl::StatusOr<ConfigMap> FaultyCluster::PatchConfigMap(const CallContext& context,
                                                        const PatchConfigMapParams& params) {
  return Write<absl::StatusOr<ConfigMap>>(
      context, Operation::kPatchConfigMap,
      [next = next_, params](const CallContext& at) { return next->PatchConfigMap(at, params); });
}

absl::Status FaultyCluster::RecordEvent(const CallContext& context, const RecordEventParams& params) {
  return Write<absl::Status>(context, Operation::kRecordEvent,
                             [next = next_, params](const CallContext& at) { return next->RecordEvent(at, params); });
}

}  // namespace driverupgrade::inline v1::testing::internal
