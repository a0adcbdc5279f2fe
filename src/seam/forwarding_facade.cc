#include "driverupgrade/forwarding_facade.h"

#include <cassert>
#include <utility>

namespace driverupgrade::inline v1 {

ForwardingFacade::ForwardingFacade(std::shared_ptr<ClusterFacade> next) : next_(std::move(next)) {
  assert(next_ != nullptr);
}

bool ForwardingFacade::Supports(Operation operation) const { return next_->Supports(operation); }

absl::StatusOr<Node> ForwardingFacade::GetNode(const CallContext& context, const GetNodeParams& params) {
  return next_->GetNode(context, params);
}

absl::StatusOr<std::vector<Node>> ForwardingFacade::ListNodes(const CallContext& context,
                                                              const ListNodesParams& params) {
  return next_->ListNodes(context, params);
}

absl::StatusOr<Pod> ForwardingFacade::GetPod(const CallContext& context, const GetPodParams& params) {
  return next_->GetPod(context, params);
}

absl::StatusOr<std::vector<Pod>> ForwardingFacade::ListPods(const CallContext& context, const ListPodsParams& params) {
  return next_->ListPods(context, params);
}

absl::StatusOr<std::vector<DaemonSet>> ForwardingFacade::ListDaemonSets(const CallContext& context,
                                                                        const ListDaemonSetsParams& params) {
  return next_->ListDaemonSets(context, params);
}

absl::StatusOr<std::vector<ControllerRevision>> ForwardingFacade::ListControllerRevisions(
    const CallContext& context, const ListControllerRevisionsParams& params) {
  return next_->ListControllerRevisions(context, params);
}

absl::StatusOr<std::vector<PodDisruptionBudget>> ForwardingFacade::ListPodDisruptionBudgets(
    const CallContext& context, const ListPodDisruptionBudgetsParams& params) {
  return next_->ListPodDisruptionBudgets(context, params);
}

absl::StatusOr<NodeMaintenance> ForwardingFacade::GetNodeMaintenance(const CallContext& context,
                                                                     const GetNodeMaintenanceParams& params) {
  return next_->GetNodeMaintenance(context, params);
}

absl::StatusOr<std::vector<NodeMaintenance>> ForwardingFacade::ListNodeMaintenances(
    const CallContext& context, const ListNodeMaintenancesParams& params) {
  return next_->ListNodeMaintenances(context, params);
}

absl::Status ForwardingFacade::WatchNodes(const CallContext& context, const WatchParams& params,
                                          WatchSink<Node>& sink) {
  return next_->WatchNodes(context, params, sink);
}

absl::Status ForwardingFacade::WatchPods(const CallContext& context, const WatchParams& params, WatchSink<Pod>& sink) {
  return next_->WatchPods(context, params, sink);
}

absl::Status ForwardingFacade::WatchDaemonSets(const CallContext& context, const WatchParams& params,
                                               WatchSink<DaemonSet>& sink) {
  return next_->WatchDaemonSets(context, params, sink);
}

absl::Status ForwardingFacade::WatchControllerRevisions(const CallContext& context, const WatchParams& params,
                                                        WatchSink<ControllerRevision>& sink) {
  return next_->WatchControllerRevisions(context, params, sink);
}

absl::Status ForwardingFacade::WatchNodeMaintenances(const CallContext& context, const WatchParams& params,
                                                     WatchSink<NodeMaintenance>& sink) {
  return next_->WatchNodeMaintenances(context, params, sink);
}

absl::StatusOr<Lease> ForwardingFacade::GetLease(const CallContext& context, const GetLeaseParams& params) {
  return next_->GetLease(context, params);
}

absl::StatusOr<ConfigMap> ForwardingFacade::GetConfigMap(const CallContext& context, const GetConfigMapParams& params) {
  return next_->GetConfigMap(context, params);
}

absl::StatusOr<Node> ForwardingFacade::PatchNode(const CallContext& context, const PatchNodeParams& params) {
  return next_->PatchNode(context, params);
}

absl::StatusOr<EvictionAnswer> ForwardingFacade::EvictPod(const CallContext& context, const EvictPodParams& params) {
  return next_->EvictPod(context, params);
}

absl::Status ForwardingFacade::DeletePod(const CallContext& context, const DeletePodParams& params) {
  return next_->DeletePod(context, params);
}

absl::StatusOr<NodeMaintenance> ForwardingFacade::CreateNodeMaintenance(const CallContext& context,
                                                                        const CreateNodeMaintenanceParams& params) {
  return next_->CreateNodeMaintenance(context, params);
}

absl::StatusOr<NodeMaintenance> ForwardingFacade::PatchNodeMaintenance(const CallContext& context,
                                                                       const PatchNodeMaintenanceParams& params) {
  return next_->PatchNodeMaintenance(context, params);
}

absl::Status ForwardingFacade::DeleteNodeMaintenance(const CallContext& context,
                                                     const DeleteNodeMaintenanceParams& params) {
  return next_->DeleteNodeMaintenance(context, params);
}

absl::StatusOr<Lease> ForwardingFacade::CreateLease(const CallContext& context, const Lease& lease) {
  return next_->CreateLease(context, lease);
}

absl::StatusOr<Lease> ForwardingFacade::UpdateLease(const CallContext& context, const Lease& lease) {
  return next_->UpdateLease(context, lease);
}

absl::StatusOr<ConfigMap> ForwardingFacade::CreateConfigMap(const CallContext& context, const ConfigMap& config_map) {
  return next_->CreateConfigMap(context, config_map);
}

absl::StatusOr<ConfigMap> ForwardingFacade::PatchConfigMap(const CallContext& context,
                                                           const PatchConfigMapParams& params) {
  return next_->PatchConfigMap(context, params);
}

absl::Status ForwardingFacade::RecordEvent(const CallContext& context, const RecordEventParams& params) {
  return next_->RecordEvent(context, params);
}

}  // namespace driverupgrade::inline v1
