// The calls of a FaultyCluster, each with its own special cases.
#include <functional>
#include <utility>

#include "absl/strings/numbers.h"
#include "fmt/format.h"
#include "simulation/world/faulty_call.h"
#include "simulation/world/faulty_cluster.h"

namespace driverupgrade::testing::internal {
namespace {

// Forwards events until the watch breaks. Forwards bookmarks only if `bookmarks` is set.
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

// Reports lists to `on_list`. With Mode::kWatchTwice, forwards every event twice.
template <class T>
class ReaderSink final : public WatchSink<T> {
 public:
  ReaderSink(WatchSink<T>& next, World& world, std::function<void()> on_list)
      : next_(next), world_(world), twice_(world.setup.Has(Mode::kWatchTwice)), on_list_(std::move(on_list)) {}
  bool OnList(std::vector<T> objects, std::string_view version) override {
    on_list_();
    return next_.OnList(std::move(objects), version);
  }
  bool OnChange(T object, std::string_view version) override {
    if (!twice_) return next_.OnChange(std::move(object), version);
    world_.CameBy(Mode::kWatchTwice);
    return next_.OnChange(object, version) && next_.OnChange(object, version);
  }
  bool OnDelete(T object, std::string_view version) override {
    if (!twice_) return next_.OnDelete(std::move(object), version);
    world_.CameBy(Mode::kWatchTwice);
    return next_.OnDelete(object, version) && next_.OnDelete(object, version);
  }
  bool OnBookmark(std::string_view version) override { return next_.OnBookmark(version); }

 private:
  WatchSink<T>& next_;
  World& world_;
  const bool twice_;
  const std::function<void()> on_list_;
};

std::int64_t VersionOf(const std::string& resource_version) {
  std::int64_t version = 0;
  return absl::SimpleAtoi(resource_version, &version) ? version : 0;
}

}  // namespace

absl::StatusOr<std::vector<Node>> FaultyCluster::ListNodes(const CallContext& context, const ListNodesParams& params) {
  auto nodes = Run<absl::StatusOr<std::vector<Node>>>(
      context, Operation::kListNodes, [&](const CallContext& at) { return next_->ListNodes(at, params); });
  list_version_ = world_.cluster->revision();
  if (nodes.ok()) NoteListed(Operation::kListNodes);
  if (!nodes.ok() || !world_.setup.Has(Fault::kStaleRead)) return nodes;
  std::vector<Node> stale = std::exchange(nodes_before_, *nodes);
  const std::int64_t stale_version = std::exchange(nodes_before_version_, list_version_);
  if (stale.empty() || !world_.chaos || !random_.Percent(10)) return nodes;
  world_.Fired(Fault::kStaleRead);
  nodes_before_ = stale;
  nodes_before_version_ = list_version_ = stale_version;
  // An engine with a cache relies on its watch until it releases its nodes. Until then, only the ledger lists nodes, to
  // check whether a node exists.
  if (!world_.setup.cache || world_.releasing) next_->NoteOldNodes(stale_version);
  return stale;
}

absl::StatusOr<std::vector<Pod>> FaultyCluster::ListPods(const CallContext& context, const ListPodsParams& params) {
  std::int64_t read_at = 0;
  auto pods = List<Pod>(context, Operation::kListPods, [&](const CallContext& at) {
    read_at = world_.cluster->revision();
    return next_->ListPods(at, params);
  });
  if (pods.ok() && params.ns.empty() && params.label_selector == LabelSelector())
    pods_listed_[params.node_name] = read_at;
  return pods;
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
                                  WatchSink<T>& reader, F call) {
  const std::string watch = fmt::format("{} {} {}", ToString(operation), params.ns, params.label_selector.ToString());
  ReaderSink<T> sink(reader, world_, [&] {
    followed_.insert(operation);
    to_be_listed_.erase(watch);
  });
  const auto troubled = [&](Fault fault, absl::Status status) {
    world_.Fired(fault);
    watch_trouble_ = true;
    ++troubles_;
    Note(operation, status);
    return status;
  };
  const auto too_old = [&](Fault fault) {
    expired_[operation] = VersionOf(params.resource_version);
    to_be_listed_.insert(watch);
    return troubled(fault, absl::OutOfRangeError("410 too old resource version"));
  };
  bool begun = false;
  absl::Status ended = Run<absl::Status>(context, operation, [&](const CallContext& at) -> absl::Status {
    begun = true;
    // If requests are sent as bytes, the replica might not have received the error.
    if (to_be_listed_.contains(watch) && !params.resource_version.empty() && !world_.setup.wire) {
      checker_.Fail("I13", fmt::format("{}: {} starts at a version that the server has reported as too old", name_,
                                       ToString(operation)));
    }
    // A version that the server has discarded never becomes available again.
    const auto expired = expired_.find(operation);
    if (expired != expired_.end() && !params.resource_version.empty() &&
        VersionOf(params.resource_version) <= expired->second) {
      return too_old(Fault::kWatchExpired);
    }
    if (!params.resource_version.empty() && IsHeldBack(operation)) {
      (void)sink.OnBookmark(params.resource_version);
      return absl::OkStatus();
    }
    const bool unlucky = world_.chaos && (world_.setup.light ? random_.PerMille(1) : random_.Percent(5));
    if (unlucky && world_.May(Fault::kWatchLost) && random_.Percent(50)) {
      return troubled(Fault::kWatchLost, absl::UnavailableError("connection lost"));
    }
    if (unlucky && world_.May(Fault::kWatchExpired) && !params.resource_version.empty() && random_.Percent(50)) {
      return too_old(Fault::kWatchExpired);
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
  // A watch that was started may have reported events before it broke.
  if (begun) {
    failing_since_.erase(operation);
  } else {
    failing_since_.try_emplace(operation, clock_->Now());
  }
  if (!ended.ok()) watch_trouble_ = true;
  return ended;
}

absl::Status FaultyCluster::WatchNodes(const CallContext& context, const WatchParams& params, WatchSink<Node>& sink) {
  // If requests are sent as bytes, the list before the watch is a separate call.
  next_->NoteNodesRead(VersionOf(params.resource_version));
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
  if (releases_ && world_.chaos && odd_.Percent(20)) {
    knows_maintenances_ = false;
    ++troubles_;
    return absl::UnavailableError("503");
  }
  auto objects = List<NodeMaintenance>(context, Operation::kListNodeMaintenances,
                                       [&](const CallContext& at) { return next_->ListNodeMaintenances(at, params); });
  knows_maintenances_ = objects.ok();
  return objects;
}

absl::StatusOr<NodeMaintenance> FaultyCluster::CreateNodeMaintenance(const CallContext& context,
                                                                     const CreateNodeMaintenanceParams& params) {
  return Write<absl::StatusOr<NodeMaintenance>>(
      context, Operation::kCreateNodeMaintenance,
      [next = next_, params](const CallContext& at) { return next->CreateNodeMaintenance(at, params); });
}

template <class P>
void FaultyCluster::NoteSent(const P& params) {
  if (sender_) return next_->As(*sender_, [&] { next_->NoteSent(params); });
  next_->NoteSent(params);
}

absl::StatusOr<NodeMaintenance> FaultyCluster::PatchNodeMaintenance(const CallContext& context,
                                                                    const PatchNodeMaintenanceParams& params) {
  NoteSent(params);
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

absl::StatusOr<std::vector<DeviceTaintRule>> FaultyCluster::ListDeviceTaintRules(
    const CallContext& context, const ListDeviceTaintRulesParams& params) {
  return List<DeviceTaintRule>(context, Operation::kListDeviceTaintRules,
                               [&](const CallContext& at) { return next_->ListDeviceTaintRules(at, params); });
}

absl::StatusOr<std::vector<ResourceClaim>> FaultyCluster::ListResourceClaims(const CallContext& context,
                                                                             const ListResourceClaimsParams& params) {
  return List<ResourceClaim>(context, Operation::kListResourceClaims,
                             [&](const CallContext& at) { return next_->ListResourceClaims(at, params); });
}

absl::StatusOr<std::vector<ResourceSlice>> FaultyCluster::ListResourceSlices(const CallContext& context,
                                                                             const ListResourceSlicesParams& params) {
  return List<ResourceSlice>(context, Operation::kListResourceSlices,
                             [&](const CallContext& at) { return next_->ListResourceSlices(at, params); });
}

absl::Status FaultyCluster::WatchDeviceTaintRules(const CallContext& context, const WatchParams& params,
                                                  WatchSink<DeviceTaintRule>& sink) {
  return Watch<DeviceTaintRule>(Operation::kWatchDeviceTaintRules, context, params, sink,
                                [&](const CallContext& at, WatchSink<DeviceTaintRule>& to) {
                                  return next_->WatchDeviceTaintRules(at, params, to);
                                });
}

absl::Status FaultyCluster::WatchResourceClaims(const CallContext& context, const WatchParams& params,
                                                WatchSink<ResourceClaim>& sink) {
  return Watch<ResourceClaim>(
      Operation::kWatchResourceClaims, context, params, sink,
      [&](const CallContext& at, WatchSink<ResourceClaim>& to) { return next_->WatchResourceClaims(at, params, to); });
}

absl::Status FaultyCluster::WatchResourceSlices(const CallContext& context, const WatchParams& params,
                                                WatchSink<ResourceSlice>& sink) {
  return Watch<ResourceSlice>(
      Operation::kWatchResourceSlices, context, params, sink,
      [&](const CallContext& at, WatchSink<ResourceSlice>& to) { return next_->WatchResourceSlices(at, params, to); });
}

absl::StatusOr<DeviceTaintRule> FaultyCluster::CreateDeviceTaintRule(const CallContext& context,
                                                                     const CreateDeviceTaintRuleParams& params) {
  return Write<absl::StatusOr<DeviceTaintRule>>(
      context, Operation::kCreateDeviceTaintRule,
      [next = next_, params](const CallContext& at) { return next->CreateDeviceTaintRule(at, params); });
}

absl::StatusOr<DeviceTaintRule> FaultyCluster::PatchDeviceTaintRule(const CallContext& context,
                                                                    const PatchDeviceTaintRuleParams& params) {
  return Write<absl::StatusOr<DeviceTaintRule>>(
      context, Operation::kPatchDeviceTaintRule,
      [next = next_, params](const CallContext& at) { return next->PatchDeviceTaintRule(at, params); });
}

absl::Status FaultyCluster::DeleteDeviceTaintRule(const CallContext& context,
                                                  const DeleteDeviceTaintRuleParams& params) {
  return Write<absl::Status>(context, Operation::kDeleteDeviceTaintRule, [next = next_, params](const CallContext& at) {
    return next->DeleteDeviceTaintRule(at, params);
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
  NoteSent(params);
  if (!world_.unwritable.empty() && params.name == world_.unwritable) {
    ++troubles_;
    return absl::UnavailableError("503 this node cannot be written");
  }
  const bool is_lost = loses_answer_;
  if (releases_ && !knows_maintenances_) {
    checker_.Fail("L2", fmt::format("{}: node {} is released, although the NodeMaintenances could not be read", name_,
                                    params.name));
  }
  const Writer before = next_->writer();
  auto answer = Write<absl::StatusOr<Node>>(
      context, Operation::kPatchNode,
      [next = next_, params](const CallContext& at) { return next->PatchNode(at, params); });
  if (is_lost || !answer.ok()) next_->NoteAnswerLost(params.name, before);
  return answer;
}

absl::StatusOr<EvictionAnswer> FaultyCluster::EvictPod(const CallContext& context, const EvictPodParams& params) {
  const bool is_lost = loses_answer_;
  auto answer = Write<absl::StatusOr<EvictionAnswer>>(
      context, Operation::kEvictPod,
      [next = next_, params](const CallContext& at) { return next->EvictPod(at, params); });
  next_->NoteEvictionAnswer(params, answer.ok() && !is_lost ? std::optional(answer->refusal) : std::nullopt);
  return answer;
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

}  // namespace driverupgrade::testing::internal
