#include "read/listed_objects.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "model/unreadable.h"
#include "read/pods_by_node.h"

namespace driverupgrade::internal {
namespace {

// Returns what the map has under that key; a value without content if it has nothing.
template <typename T>
std::vector<T> Under(const std::map<std::string, std::vector<T>>& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::vector<T>() : found->second;
}

absl::Status CheckReadable(const std::vector<Pod>& pods) {
  const auto found = std::find_if(pods.begin(), pods.end(), IsUnreadable<Pod>);
  return found == pods.end() ? absl::OkStatus() : absl::DataLossError(CannotBeRead("Pod", *found));
}

}  // namespace

absl::Status ListedObjects::List(const CallContext& context, ClusterReader& cluster, const ViewScope& scope) {
  // Nodes come first: whatever is read later is at least as new as the cordons seen here.
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
  ListMaintenances(context, cluster, scope);
  is_new_ = true;
  driver_pods_.clear();
  for (Pod& pod : driver_pods) driver_pods_[NodeOf(pod)].push_back(std::move(pod));
  nodes_.clear();
  for (Node& node : nodes) {
    std::string name = node.name;
    nodes_.insert_or_assign(std::move(name), std::move(node));
  }
  pods_.clear();
  return absl::OkStatus();
}

CacheChanges ListedObjects::Take() {
  if (!std::exchange(is_new_, false)) return {};
  CacheChanges all{.everything = true, .driver = true};
  for (const auto& [name, node] : nodes_) all.nodes.insert(name);
  for (const auto& [name, pods] : driver_pods_) {
    if (!name.empty()) all.nodes.insert(name);
  }
  return all;
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
  }
  nodes_.clear();
  for (const auto& [name, pods] : driver_pods_) {
    if (!name.empty()) missing.push_back(NodeMissing(name, pods.front()));
  }
  return all;
}

// In requestor mode, nodes of the requestor wait if the list failed, and the others go on.
void ListedObjects::ListMaintenances(const CallContext& context, ClusterReader& cluster, const ViewScope& scope) {
  maintenances_.reset();
  findings_.clear();
  if (!scope.requestor) return;
  absl::StatusOr<std::vector<NodeMaintenance>> objects =
      cluster.ListNodeMaintenances(context, {.ns = scope.requestor->ns, .on_unreadable = OnUnreadable::kMark});
  // Where the cluster has no such kind there are no such objects; asking for one will say why it cannot be had.
  if (absl::IsNotFound(objects.status())) objects = std::vector<NodeMaintenance>();
  if (!objects.ok()) {
    findings_ = {{.code = FindingCode::kReadFailed, .message = std::string(Message(objects.status()))}};
    return;
  }
  std::sort(objects->begin(), objects->end(),
            [](const NodeMaintenance& a, const NodeMaintenance& b) { return a.name < b.name; });
  maintenances_.emplace();
  for (NodeMaintenance& object : *objects) (*maintenances_)[object.node_name].push_back(std::move(object));
}

std::optional<Node> ListedObjects::FindNode(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Pod> ListedObjects::DriverPods(const std::string& node) const { return Under(driver_pods_, node); }

std::optional<std::vector<NodeMaintenance>> ListedObjects::Maintenances(const std::string& node) const {
  if (!maintenances_) return std::nullopt;
  std::vector<NodeMaintenance> unbound = Under(*maintenances_, "");
  if (node.empty()) return unbound;
  // It may be of any node.
  if (AnyUnreadable(unbound)) return std::nullopt;
  return Under(*maintenances_, node);
}

std::optional<std::vector<Pod>> ListedObjects::PodsOn(const std::string& node) const {
  const auto found = pods_.find(node);
  return found == pods_.end() ? std::nullopt : std::optional(found->second);
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
