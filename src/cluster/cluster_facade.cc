#include "driverupgrade/cluster_facade.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fmt/format.h"

namespace driverupgrade {
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
    case Operation::kListDeviceTaintRules: return "list device taint rules";
    case Operation::kWatchDeviceTaintRules: return "watch device taint rules";
    case Operation::kListResourceClaims: return "list resource claims";
    case Operation::kWatchResourceClaims: return "watch resource claims";
    case Operation::kListResourceSlices: return "list resource slices";
    case Operation::kWatchResourceSlices: return "watch resource slices";
    case Operation::kGetLease: return "get lease";
    case Operation::kGetConfigMap: return "get config map";
    case Operation::kPatchNode: return "patch node";
    case Operation::kEvictPod: return "evict pod";
    case Operation::kDeletePod: return "delete pod";
    case Operation::kCreateNodeMaintenance: return "create node maintenance";
    case Operation::kPatchNodeMaintenance: return "patch node maintenance";
    case Operation::kDeleteNodeMaintenance: return "delete node maintenance";
    case Operation::kCreateDeviceTaintRule: return "create device taint rule";
    case Operation::kPatchDeviceTaintRule: return "patch device taint rule";
    case Operation::kDeleteDeviceTaintRule: return "delete device taint rule";
    case Operation::kCreateLease: return "create lease";
    case Operation::kUpdateLease: return "update lease";
    case Operation::kCreateConfigMap: return "create config map";
    case Operation::kPatchConfigMap: return "patch config map";
    case Operation::kRecordEvent: return "record event";
  }
  return "unknown operation";
}

bool IsWrite(Operation operation) {
  switch (operation) {
    case Operation::kGetNode:
    case Operation::kListNodes:
    case Operation::kGetPod:
    case Operation::kListPods:
    case Operation::kListDaemonSets:
    case Operation::kListControllerRevisions:
    case Operation::kListPodDisruptionBudgets:
    case Operation::kGetNodeMaintenance:
    case Operation::kListNodeMaintenances:
    case Operation::kWatchNodes:
    case Operation::kWatchPods:
    case Operation::kWatchDaemonSets:
    case Operation::kWatchControllerRevisions:
    case Operation::kWatchNodeMaintenances:
    case Operation::kListDeviceTaintRules:
    case Operation::kWatchDeviceTaintRules:
    case Operation::kListResourceClaims:
    case Operation::kWatchResourceClaims:
    case Operation::kListResourceSlices:
    case Operation::kWatchResourceSlices:
    case Operation::kGetLease:
    case Operation::kGetConfigMap: return false;
    case Operation::kPatchNode:
    case Operation::kEvictPod:
    case Operation::kDeletePod:
    case Operation::kCreateNodeMaintenance:
    case Operation::kPatchNodeMaintenance:
    case Operation::kDeleteNodeMaintenance:
    case Operation::kCreateDeviceTaintRule:
    case Operation::kPatchDeviceTaintRule:
    case Operation::kDeleteDeviceTaintRule:
    case Operation::kCreateLease:
    case Operation::kUpdateLease:
    case Operation::kCreateConfigMap:
    case Operation::kPatchConfigMap:
    case Operation::kRecordEvent: return true;
  }
  return true;
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

absl::StatusOr<std::vector<DeviceTaintRule>> ClusterReader::ListDeviceTaintRules(const CallContext&,
                                                                                 const ListDeviceTaintRulesParams&) {
  return NotImplemented(Operation::kListDeviceTaintRules);
}

absl::StatusOr<std::vector<ResourceClaim>> ClusterReader::ListResourceClaims(const CallContext&,
                                                                             const ListResourceClaimsParams&) {
  return NotImplemented(Operation::kListResourceClaims);
}

absl::StatusOr<std::vector<ResourceSlice>> ClusterReader::ListResourceSlices(const CallContext&,
                                                                             const ListResourceSlicesParams&) {
  return NotImplemented(Operation::kListResourceSlices);
}

absl::Status ClusterReader::WatchDeviceTaintRules(const CallContext&, const WatchParams&, WatchSink<DeviceTaintRule>&) {
  return NotImplemented(Operation::kWatchDeviceTaintRules);
}

absl::Status ClusterReader::WatchResourceClaims(const CallContext&, const WatchParams&, WatchSink<ResourceClaim>&) {
  return NotImplemented(Operation::kWatchResourceClaims);
}

absl::Status ClusterReader::WatchResourceSlices(const CallContext&, const WatchParams&, WatchSink<ResourceSlice>&) {
  return NotImplemented(Operation::kWatchResourceSlices);
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

absl::StatusOr<DeviceTaintRule> ClusterWriter::CreateDeviceTaintRule(const CallContext&,
                                                                     const CreateDeviceTaintRuleParams&) {
  return NotImplemented(Operation::kCreateDeviceTaintRule);
}

absl::StatusOr<DeviceTaintRule> ClusterWriter::PatchDeviceTaintRule(const CallContext&,
                                                                    const PatchDeviceTaintRuleParams&) {
  return NotImplemented(Operation::kPatchDeviceTaintRule);
}

absl::Status ClusterWriter::DeleteDeviceTaintRule(const CallContext&, const DeleteDeviceTaintRuleParams&) {
  return NotImplemented(Operation::kDeleteDeviceTaintRule);
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

}  // namespace driverupgrade
