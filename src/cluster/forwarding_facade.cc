#include <cassert>
#include <utility>

#include "driverupgrade/cluster_facade.h"

namespace driverupgrade {

ForwardingFacade::ForwardingFacade(std::shared_ptr<ClusterFacade> next) : next_(std::move(next)) {
  assert(next_ != nullptr);
}

absl::Status ForwardingFacade::Around(Operation /*operation*/, const CallContext& context, const Call& call) {
  return call(context);
}

template <typename T, typename Make>
absl::StatusOr<T> ForwardingFacade::Pass(Operation operation, const CallContext& context, const Make& make) {
  absl::StatusOr<T> answer = absl::InternalError("the call was not made");
  absl::Status status = Around(operation, context, [&](const CallContext& c) {
    answer = make(c);
    return answer.status();
  });
  if (!status.ok()) return status;
  return answer;
}

bool ForwardingFacade::Supports(Operation operation) const { return next_->Supports(operation); }

absl::StatusOr<Node> ForwardingFacade::GetNode(const CallContext& context, const GetNodeParams& params) {
  return Pass<Node>(Operation::kGetNode, context, [&](const CallContext& c) { return next_->GetNode(c, params); });
}

absl::StatusOr<std::vector<Node>> ForwardingFacade::ListNodes(const CallContext& context,
                                                              const ListNodesParams& params) {
  return Pass<std::vector<Node>>(Operation::kListNodes, context,
                                 [&](const CallContext& c) { return next_->ListNodes(c, params); });
}

absl::StatusOr<Pod> ForwardingFacade::GetPod(const CallContext& context, const GetPodParams& params) {
  return Pass<Pod>(Operation::kGetPod, context, [&](const CallContext& c) { return next_->GetPod(c, params); });
}

absl::StatusOr<std::vector<Pod>> ForwardingFacade::ListPods(const CallContext& context, const ListPodsParams& params) {
  return Pass<std::vector<Pod>>(Operation::kListPods, context,
                                [&](const CallContext& c) { return next_->ListPods(c, params); });
}

absl::StatusOr<std::vector<DaemonSet>> ForwardingFacade::ListDaemonSets(const CallContext& context,
                                                                        const ListDaemonSetsParams& params) {
  return Pass<std::vector<DaemonSet>>(Operation::kListDaemonSets, context,
                                      [&](const CallContext& c) { return next_->ListDaemonSets(c, params); });
}

absl::StatusOr<std::vector<ControllerRevision>> ForwardingFacade::ListControllerRevisions(
    const CallContext& context, const ListControllerRevisionsParams& params) {
  return Pass<std::vector<ControllerRevision>>(Operation::kListControllerRevisions, context, [&](const CallContext& c) {
    return next_->ListControllerRevisions(c, params);
  });
}

absl::StatusOr<std::vector<PodDisruptionBudget>> ForwardingFacade::ListPodDisruptionBudgets(
    const CallContext& context, const ListPodDisruptionBudgetsParams& params) {
  return Pass<std::vector<PodDisruptionBudget>>(
      Operation::kListPodDisruptionBudgets, context,
      [&](const CallContext& c) { return next_->ListPodDisruptionBudgets(c, params); });
}

absl::StatusOr<NodeMaintenance> ForwardingFacade::GetNodeMaintenance(const CallContext& context,
                                                                     const GetNodeMaintenanceParams& params) {
  return Pass<NodeMaintenance>(Operation::kGetNodeMaintenance, context,
                               [&](const CallContext& c) { return next_->GetNodeMaintenance(c, params); });
}

absl::StatusOr<std::vector<NodeMaintenance>> ForwardingFacade::ListNodeMaintenances(
    const CallContext& context, const ListNodeMaintenancesParams& params) {
  return Pass<std::vector<NodeMaintenance>>(Operation::kListNodeMaintenances, context, [&](const CallContext& c) {
    return next_->ListNodeMaintenances(c, params);
  });
}

absl::Status ForwardingFacade::WatchNodes(const CallContext& context, const WatchParams& params,
                                          WatchSink<Node>& sink) {
  return Around(Operation::kWatchNodes, context,
                [&](const CallContext& c) { return next_->WatchNodes(c, params, sink); });
}

absl::Status ForwardingFacade::WatchPods(const CallContext& context, const WatchParams& params, WatchSink<Pod>& sink) {
  return Around(Operation::kWatchPods, context,
                [&](const CallContext& c) { return next_->WatchPods(c, params, sink); });
}

absl::Status ForwardingFacade::WatchDaemonSets(const CallContext& context, const WatchParams& params,
                                               WatchSink<DaemonSet>& sink) {
  return Around(Operation::kWatchDaemonSets, context,
                [&](const CallContext& c) { return next_->WatchDaemonSets(c, params, sink); });
}

absl::Status ForwardingFacade::WatchControllerRevisions(const CallContext& context, const WatchParams& params,
                                                        WatchSink<ControllerRevision>& sink) {
  return Around(Operation::kWatchControllerRevisions, context,
                [&](const CallContext& c) { return next_->WatchControllerRevisions(c, params, sink); });
}

absl::Status ForwardingFacade::WatchNodeMaintenances(const CallContext& context, const WatchParams& params,
                                                     WatchSink<NodeMaintenance>& sink) {
  return Around(Operation::kWatchNodeMaintenances, context,
                [&](const CallContext& c) { return next_->WatchNodeMaintenances(c, params, sink); });
}

absl::StatusOr<std::vector<DeviceTaintRule>> ForwardingFacade::ListDeviceTaintRules(
    const CallContext& context, const ListDeviceTaintRulesParams& params) {
  return Pass<std::vector<DeviceTaintRule>>(Operation::kListDeviceTaintRules, context, [&](const CallContext& c) {
    return next_->ListDeviceTaintRules(c, params);
  });
}

absl::Status ForwardingFacade::WatchDeviceTaintRules(const CallContext& context, const WatchParams& params,
                                                     WatchSink<DeviceTaintRule>& sink) {
  return Around(Operation::kWatchDeviceTaintRules, context,
                [&](const CallContext& c) { return next_->WatchDeviceTaintRules(c, params, sink); });
}

absl::StatusOr<std::vector<ResourceClaim>> ForwardingFacade::ListResourceClaims(
    const CallContext& context, const ListResourceClaimsParams& params) {
  return Pass<std::vector<ResourceClaim>>(Operation::kListResourceClaims, context,
                                          [&](const CallContext& c) { return next_->ListResourceClaims(c, params); });
}

absl::Status ForwardingFacade::WatchResourceClaims(const CallContext& context, const WatchParams& params,
                                                   WatchSink<ResourceClaim>& sink) {
  return Around(Operation::kWatchResourceClaims, context,
                [&](const CallContext& c) { return next_->WatchResourceClaims(c, params, sink); });
}

absl::StatusOr<std::vector<ResourceSlice>> ForwardingFacade::ListResourceSlices(
    const CallContext& context, const ListResourceSlicesParams& params) {
  return Pass<std::vector<ResourceSlice>>(Operation::kListResourceSlices, context,
                                          [&](const CallContext& c) { return next_->ListResourceSlices(c, params); });
}

absl::Status ForwardingFacade::WatchResourceSlices(const CallContext& context, const WatchParams& params,
                                                   WatchSink<ResourceSlice>& sink) {
  return Around(Operation::kWatchResourceSlices, context,
                [&](const CallContext& c) { return next_->WatchResourceSlices(c, params, sink); });
}

absl::StatusOr<Lease> ForwardingFacade::GetLease(const CallContext& context, const GetLeaseParams& params) {
  return Pass<Lease>(Operation::kGetLease, context, [&](const CallContext& c) { return next_->GetLease(c, params); });
}

absl::StatusOr<ConfigMap> ForwardingFacade::GetConfigMap(const CallContext& context, const GetConfigMapParams& params) {
  return Pass<ConfigMap>(Operation::kGetConfigMap, context,
                         [&](const CallContext& c) { return next_->GetConfigMap(c, params); });
}

absl::StatusOr<Node> ForwardingFacade::PatchNode(const CallContext& context, const PatchNodeParams& params) {
  return Pass<Node>(Operation::kPatchNode, context, [&](const CallContext& c) { return next_->PatchNode(c, params); });
}

absl::StatusOr<EvictionAnswer> ForwardingFacade::EvictPod(const CallContext& context, const EvictPodParams& params) {
  return Pass<EvictionAnswer>(Operation::kEvictPod, context,
                              [&](const CallContext& c) { return next_->EvictPod(c, params); });
}

absl::Status ForwardingFacade::DeletePod(const CallContext& context, const DeletePodParams& params) {
  return Around(Operation::kDeletePod, context, [&](const CallContext& c) { return next_->DeletePod(c, params); });
}

absl::StatusOr<NodeMaintenance> ForwardingFacade::CreateNodeMaintenance(const CallContext& context,
                                                                        const CreateNodeMaintenanceParams& params) {
  return Pass<NodeMaintenance>(Operation::kCreateNodeMaintenance, context,
                               [&](const CallContext& c) { return next_->CreateNodeMaintenance(c, params); });
}

absl::StatusOr<NodeMaintenance> ForwardingFacade::PatchNodeMaintenance(const CallContext& context,
                                                                       const PatchNodeMaintenanceParams& params) {
  return Pass<NodeMaintenance>(Operation::kPatchNodeMaintenance, context,
                               [&](const CallContext& c) { return next_->PatchNodeMaintenance(c, params); });
}

absl::Status ForwardingFacade::DeleteNodeMaintenance(const CallContext& context,
                                                     const DeleteNodeMaintenanceParams& params) {
  return Around(Operation::kDeleteNodeMaintenance, context,
                [&](const CallContext& c) { return next_->DeleteNodeMaintenance(c, params); });
}

absl::StatusOr<DeviceTaintRule> ForwardingFacade::CreateDeviceTaintRule(const CallContext& context,
                                                                        const CreateDeviceTaintRuleParams& params) {
  return Pass<DeviceTaintRule>(Operation::kCreateDeviceTaintRule, context,
                               [&](const CallContext& c) { return next_->CreateDeviceTaintRule(c, params); });
}

absl::StatusOr<DeviceTaintRule> ForwardingFacade::PatchDeviceTaintRule(const CallContext& context,
                                                                       const PatchDeviceTaintRuleParams& params) {
  return Pass<DeviceTaintRule>(Operation::kPatchDeviceTaintRule, context,
                               [&](const CallContext& c) { return next_->PatchDeviceTaintRule(c, params); });
}

absl::Status ForwardingFacade::DeleteDeviceTaintRule(const CallContext& context,
                                                     const DeleteDeviceTaintRuleParams& params) {
  return Around(Operation::kDeleteDeviceTaintRule, context,
                [&](const CallContext& c) { return next_->DeleteDeviceTaintRule(c, params); });
}

absl::StatusOr<Lease> ForwardingFacade::CreateLease(const CallContext& context, const Lease& lease) {
  return Pass<Lease>(Operation::kCreateLease, context,
                     [&](const CallContext& c) { return next_->CreateLease(c, lease); });
}

absl::StatusOr<Lease> ForwardingFacade::UpdateLease(const CallContext& context, const Lease& lease) {
  return Pass<Lease>(Operation::kUpdateLease, context,
                     [&](const CallContext& c) { return next_->UpdateLease(c, lease); });
}

absl::StatusOr<ConfigMap> ForwardingFacade::CreateConfigMap(const CallContext& context, const ConfigMap& config_map) {
  return Pass<ConfigMap>(Operation::kCreateConfigMap, context,
                         [&](const CallContext& c) { return next_->CreateConfigMap(c, config_map); });
}

absl::StatusOr<ConfigMap> ForwardingFacade::PatchConfigMap(const CallContext& context,
                                                           const PatchConfigMapParams& params) {
  return Pass<ConfigMap>(Operation::kPatchConfigMap, context,
                         [&](const CallContext& c) { return next_->PatchConfigMap(c, params); });
}

absl::Status ForwardingFacade::RecordEvent(const CallContext& context, const RecordEventParams& params) {
  return Around(Operation::kRecordEvent, context, [&](const CallContext& c) { return next_->RecordEvent(c, params); });
}

}  // namespace driverupgrade
