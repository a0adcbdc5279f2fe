#include "read/listed_objects.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "model/unreadable.h"
#include "read/pods_by_node.h"

namespace driverupgrade::internal {
namespace {

absl::Status CheckReadable(const std::vector<Pod>& pods) {
  const auto found = std::find_if(pods.begin(), pods.end(), IsUnreadable<Pod>);
  return found == pods.end() ? absl::OkStatus() : absl::DataLossError(CannotBeRead("Pod", *found));
}

Finding ListFailed(const absl::Status& status) {
  return {.code = FindingCode::kReadFailed, .message = std::string(Message(status))};
}

}  // namespace

absl::Status ListedObjects::List(const CallContext& context, ClusterReader& cluster, const ViewScope& scope) {
  // Nodes are read first, so that everything read later is at least as new as the cordons.
  DRIVERUPGRADE_ASSIGN_OR_RETURN(std::vector<Node> nodes,
                                 cluster.ListNodes(context, {.on_unreadable = OnUnreadable::kMark}));
  const ListPodsParams of_driver{
      .ns = scope.ns, .label_selector = scope.driver_labels, .on_unreadable = OnUnreadable::kMark};
  DRIVERUPGRADE_ASSIGN_OR_RETURN(std::vector<Pod> driver_pods, cluster.ListPods(context, of_driver));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(
      driver_.daemon_sets,
      cluster.ListDaemonSets(
          context, {.ns = scope.ns, .label_selector = scope.driver_labels, .on_unreadable = OnUnreadable::kMark}));
  DRIVERUPGRADE_ASSIGN_OR_RETURN(
      driver_.revisions,
      cluster.ListControllerRevisions(context, {.ns = scope.ns, .on_unreadable = OnUnreadable::kMark}));
  findings_.clear();
  ListMaintenances(context, cluster, scope);
  ListDevices(context, cluster, scope);
  driver_pods_.clear();
  for (Pod& pod : driver_pods) HoldDriverPod(std::move(pod));
  HoldNodes(std::move(nodes));
  pods_.clear();
  return absl::OkStatus();
}

std::vector<std::string> ListedObjects::Uids() const {
  std::vector<std::string> uids;
  for (const auto& [name, node] : nodes_) uids.push_back(node.uid);
  return uids;
}

std::vector<NodeParts> ListedObjects::TakeAll(std::vector<Finding>& missing) {
  std::vector<NodeParts> all;
  all.reserve(nodes_.size());
  for (auto& [name, node] : nodes_) {
    NodeParts& parts = all.emplace_back();
    parts.node = std::move(node);
    if (auto pods = driver_pods_.extract(name)) parts.driver_pods = std::move(pods.mapped());
    parts.maintenances = Maintenances(name);
    if (has_devices_) parts.devices = Devices(name);
  }
  nodes_.clear();
  for (const auto& [name, pods] : driver_pods_) {
    if (!name.empty()) missing.push_back(NodeMissing(name, pods.front()));
  }
  return all;
}

// After a failed list, nodes in requestor mode wait, and all other nodes continue.
void ListedObjects::ListMaintenances(const CallContext& context, ClusterReader& cluster, const ViewScope& scope) {
  if (!scope.requestor) return HoldMaintenances(std::nullopt);
  absl::StatusOr<std::vector<NodeMaintenance>> objects =
      cluster.ListNodeMaintenances(context, {.ns = scope.requestor->ns, .on_unreadable = OnUnreadable::kMark});
  // If the cluster does not serve this kind, no NodeMaintenance exists. The request that creates a NodeMaintenance will
  // report the reason.
  if (absl::IsNotFound(objects.status())) objects = std::vector<NodeMaintenance>();
  if (objects.ok()) return HoldMaintenances(*std::move(objects));
  findings_.push_back(ListFailed(objects.status()));
  HoldMaintenances(std::nullopt);
}

void ListedObjects::ListDevices(const CallContext& context, ClusterReader& cluster, const ViewScope& scope) {
  DeviceObjects& devices = BeginDevices(scope.devices);
  has_devices_ = !scope.devices.empty();
  if (!has_devices_) return;
  const auto take = [&]<typename T>(const absl::StatusOr<std::vector<T>>& objects) {
    if (objects.ok()) {
      devices.Listed(*objects);
    } else {
      devices.Failed<T>(objects.status());
      if (!absl::IsNotFound(objects.status())) findings_.push_back(ListFailed(objects.status()));
    }
  };
  const auto rules = cluster.ListDeviceTaintRules(context, {.on_unreadable = OnUnreadable::kMark});
  take(rules);
  // Claims are read even if there are no rules, because claims show which pods use the driver.
  take(cluster.ListResourceClaims(context, {.on_unreadable = OnUnreadable::kMark}));
  if (rules.ok()) take(cluster.ListResourceSlices(context, {.on_unreadable = OnUnreadable::kMark}));
  const std::vector<Finding> unbound = devices.Findings();
  findings_.insert(findings_.end(), unbound.begin(), unbound.end());
}

std::map<std::string, absl::Status> ListedObjects::ListPodsOf(const CallContext& context, ClusterReader& cluster,
                                                              const std::set<std::string>& nodes) {
  std::map<std::string, absl::Status> read;
  for (const std::string& node : nodes) {
    read[node] = TakePods(node, cluster.ListPods(context, {.node_name = node, .on_unreadable = OnUnreadable::kMark}));
  }
  return read;
}

std::map<std::string, absl::Status> ListedObjects::ListAllPods(const CallContext& context, ClusterReader& cluster,
                                                               const std::set<std::string>& nodes) {
  absl::StatusOr<PodsByNode> pods = ListPodsByNode(context, cluster);
  std::map<std::string, absl::Status> read;
  for (const std::string& node : nodes) {
    read[node] = pods.ok() ? TakePods(node, std::move((*pods)[node])) : pods.status();
  }
  return read;
}

absl::Status ListedObjects::TakePods(const std::string& node, absl::StatusOr<std::vector<Pod>> pods) {
  DRIVERUPGRADE_RETURN_IF_ERROR(pods.status());
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckReadable(*pods));
  pods_[node] = *std::move(pods);
  return absl::OkStatus();
}

}  // namespace driverupgrade::internal
