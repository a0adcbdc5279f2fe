#include "read/held_objects.h"

#include <algorithm>
#include <utility>

#include "driverupgrade/cluster_types.h"
#include "model/driver_pod.h"
#include "model/unreadable.h"

namespace driverupgrade::internal {
namespace {

// Returns the objects stored under the key, or an empty list if the key is missing.
template <typename T>
std::vector<T> Under(const std::map<std::string, std::vector<T>>& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::vector<T>() : found->second;
}

}  // namespace

void HeldObjects::HoldNodes(std::vector<Node> nodes) {
  is_new_ = true;
  nodes_.clear();
  for (Node& node : nodes) {
    std::string name = node.name;
    nodes_.insert_or_assign(std::move(name), std::move(node));
  }
}

void HeldObjects::HoldDriverPod(Pod pod) { driver_pods_[NodeOf(pod)].push_back(std::move(pod)); }

void HeldObjects::HoldMaintenances(std::optional<std::vector<NodeMaintenance>> objects) {
  maintenances_.reset();
  if (!objects) return;
  std::sort(objects->begin(), objects->end(),
            [](const NodeMaintenance& a, const NodeMaintenance& b) { return a.name < b.name; });
  maintenances_.emplace();
  for (NodeMaintenance& object : *objects) (*maintenances_)[object.node_name].push_back(std::move(object));
}

DeviceObjects& HeldObjects::BeginDevices(const std::vector<std::string>& dra_drivers) {
  dra_drivers_ = dra_drivers;
  devices_ = {};
  devices_.Keep(dra_drivers);
  return devices_;
}

CacheChanges HeldObjects::Take() {
  if (!std::exchange(is_new_, false)) return {};
  CacheChanges all{.everything = true, .driver = true};
  for (const auto& [name, node] : nodes_) all.nodes.insert(name);
  for (const auto& [name, pods] : driver_pods_) {
    if (!name.empty()) all.nodes.insert(name);
  }
  return all;
}

std::optional<Node> HeldObjects::FindNode(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Pod> HeldObjects::DriverPods(const std::string& node) const { return Under(driver_pods_, node); }

std::optional<std::vector<NodeMaintenance>> HeldObjects::Maintenances(const std::string& node) const {
  if (!maintenances_) return std::nullopt;
  std::vector<NodeMaintenance> unbound = Under(*maintenances_, "");
  if (node.empty()) return unbound;
  // An unreadable object without a node may belong to any node.
  if (AnyUnreadable(unbound)) return std::nullopt;
  return Under(*maintenances_, node);
}

std::optional<std::vector<Pod>> HeldObjects::PodsOn(const std::string& node) const {
  return KnowsPodsOn(node) ? std::optional(Under(pods_, node)) : std::nullopt;
}

}  // namespace driverupgrade::internal
