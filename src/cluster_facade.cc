#include "driverupgrade/cluster_facade.h"

#include <cassert>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fmt/format.h"

namespace driverupgrade::inline v1 {
namespace {

absl::Status NotImplemented(Operation operation) {
  return absl::UnimplementedError(fmt::format("{}: this cluster facade does not implement it", ToString(operation)));
}

}  // namespace

std::string_view ToString(Operation operation) {
  switch (operation) {
    case Operation::kGetNode: return "get node";
    case Operation::kListNodes: return "list nodes";
    case Operation::kGetPod: return "get pod";
    case Operation::kListPods: return "list pods";
    case Operation::kListDaemonSets: return "list daemon sets";
    case Operation::kListControllerRevisions: return "list controller revisions";
    case Operation::kListPodDisruptionBudgets: return "list pod disruption budgets";
    case Operation::kGetNodeMaintenance: return "get node maintenance";
    case Operation::kListNodeMaintenances: return "list node maintenances";
    case Operation::kWatchNodes: return "watch nodes";
    case Operation::kWatchPods: return "watch pods";
    case Operation::kWatchDaemonSets: return "watch daemon sets";
    case Operation::kWatchControllerRevisions: return "watch controller revisions";
    case Operation::kWatchNodeMaintenances: return "watch node maintenances";
    case Operation::kGetLease: return "get lease";
    case Operation::kGetConfigMap: return "get config map";
    case Operation::kPatchNode: return "patch node";
    case Operation::kEvictPod: return "evict pod";
    case Operation::kDeletePod: return "delete pod";
    case Operation::kCreateNodeMaintenance: return "create node maintenance";
    case Operation::kPatchNodeMaintenance: return "patch node maintenance";
    case Operation::kDeleteNodeMaintenance: return "delete node maintenance";
    case Operation::kCreateLease: return "create lease";
    case Operation::kUpdateLease: return "update lease";
    case Operation::kCreateConfigMap: return "create config map";
    case Operation::kPatchConfigMap: return "patch config map";
    case Operation::kRecordEvent: return "record event";
  }
  return "unknown operation";
}

std::string_view ToString(EvictionAnswer::Kind kind) {
  switch (kind) {
    case EvictionAnswer::Kind::kAccepted: return "accepted";
    case EvictionAnswer::Kind::kGone: return "gone";
    case EvictionAnswer::Kind::kRefusedByBudget: return "refused by a disruption budget";
    case EvictionAnswer::Kind::kThrottled: return "throttled";
    case EvictionAnswer::Kind::kSeveralBudgets: return "several disruption budgets match";
    case EvictionAnswer::Kind::kNamespaceTerminating: return "namespace is terminating";
  }
  return "unknown answer";
}

bool WasNotApplied(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnimplemented: return true;
    default: return false;
  }
}

ClusterReader::~ClusterReader() = default;

absl::StatusOr<Node> ClusterReader::GetNode(const CallContext&, const GetNodeParams&) {
  return NotImplemented(Operation::kGetNode);
}

absl::StatusOr<std::vector<Node>> ClusterReader::ListNodes(const CallContext&, const ListNodesParams&) {
  return NotImplemented(Operation::kListNodes);
}

absl::StatusOr<Pod> ClusterReader::GetPod(const CallContext&, const GetPodParams&) {
  return NotImplemented(Operation::kGetPod);
}

absl::StatusOr<std::vector<Pod>> ClusterReader::ListPods(const CallContext&, const ListPodsParams&) {
  return NotImplemented(Operation::kListPods);
}

absl::StatusOr<std::vector<DaemonSet>> ClusterReader::ListDaemonSets(const CallContext&, const ListDaemonSetsParams&) {
  return NotImplemented(Operation::kListDaemonSets);
}

absl::StatusOr<std::vector<ControllerRevision>> ClusterReader::ListControllerRevisions(
    const CallContext&, const ListControllerRevisionsParams&) {
  return NotImplemented(Operation::kListControllerRevisions);
}

absl::StatusOr<std::vector<PodDisruptionBudget>> ClusterReader::ListPodDisruptionBudgets(
    const CallContext&, const ListPodDisruptionBudgetsParams&) {
  return NotImplemented(Operation::kListPodDisruptionBudgets);
}

absl::StatusOr<NodeMaintenance> ClusterReader::GetNodeMaintenance(const CallContext&, const GetNodeMaintenanceParams&) {
  return NotImplemented(Operation::kGetNodeMaintenance);
}

absl::StatusOr<std::vector<NodeMaintenance>> ClusterReader::ListNodeMaintenances(const CallContext&,
                                                                                 const ListNodeMaintenancesParams&) {
  return NotImplemented(Operation::kListNodeMaintenances);
}

absl::Status ClusterReader::WatchNodes(const CallContext&, const WatchParams&, WatchSink<Node>&) {
  return NotImplemented(Operation::kWatchNodes);
}

absl::Status ClusterReader::WatchPods(const CallContext&, const WatchParams&, WatchSink<Pod>&) {
  return NotImplemented(Operation::kWatchPods);
}

absl::Status ClusterReader::WatchDaemonSets(const CallContext&, const WatchParams&, WatchSink<DaemonSet>&) {
  return NotImplemented(Operation::kWatchDaemonSets);
}

absl::Status ClusterReader::WatchControllerRevisions(const CallContext&, const WatchParams&,
                                                     WatchSink<ControllerRevision>&) {
  return NotImplemented(Operation::kWatchControllerRevisions);
}

absl::Status ClusterReader::WatchNodeMaintenances(const CallContext&, const WatchParams&, WatchSink<NodeMaintenance>&) {
  return NotImplemented(Operation::kWatchNodeMaintenances);
}

absl::StatusOr<Lease> ClusterReader::GetLease(const CallContext&, const GetLeaseParams&) {
  return NotImplemented(Operation::kGetLease);
}

absl::StatusOr<ConfigMap> ClusterReader::GetConfigMap(const CallContext&, const GetConfigMapParams&) {
  return NotImplemented(Operation::kGetConfigMap);
}

ClusterWriter::~ClusterWriter() = default;

absl::StatusOr<Node> ClusterWriter::PatchNode(const CallContext&, const PatchNodeParams&) {
  return NotImplemented(Operation::kPatchNode);
}

absl::StatusOr<EvictionAnswer> ClusterWriter::EvictPod(const CallContext&, const EvictPodParams&) {
  return NotImplemented(Operation::kEvictPod);
}

absl::Status ClusterWriter::DeletePod(const CallContext&, const DeletePodParams&) {
  return NotImplemented(Operation::kDeletePod);
}

absl::StatusOr<NodeMaintenance> ClusterWriter::CreateNodeMaintenance(const CallContext&,
                                                                     const CreateNodeMaintenanceParams&) {
  return NotImplemented(Operation::kCreateNodeMaintenance);
}

absl::StatusOr<NodeMaintenance> ClusterWriter::PatchNodeMaintenance(const CallContext&,
                                                                    const PatchNodeMaintenanceParams&) {
  return NotImplemented(Operation::kPatchNodeMaintenance);
}

absl::Status ClusterWriter::DeleteNodeMaintenance(const CallContext&, const DeleteNodeMaintenanceParams&) {
  return NotImplemented(Operation::kDeleteNodeMaintenance);
}

absl::StatusOr<Lease> ClusterWriter::CreateLease(const CallContext&, const Lease&) {
  return NotImplemented(Operation::kCreateLease);
}

absl::StatusOr<Lease> ClusterWriter::UpdateLease(const CallContext&, const Lease&) {
  return NotImplemented(Operation::kUpdateLease);
}

absl::StatusOr<ConfigMap> ClusterWriter::CreateConfigMap(const CallContext&, const ConfigMap&) {
  return NotImplemented(Operation::kCreateConfigMap);
}

absl::StatusOr<ConfigMap> ClusterWriter::PatchConfigMap(const CallContext&, const PatchConfigMapParams&) {
  return NotImplemented(Operation::kPatchConfigMap);
}

absl::Status ClusterWriter::RecordEvent(const CallContext&, const RecordEventParams&) {
  return NotImplemented(Operation::kRecordEvent);
}

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
