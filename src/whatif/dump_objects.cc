#include "whatif/dump_objects.h"

#include <algorithm>
#include <tuple>

#include "model/unreadable.h"

namespace driverupgrade::whatif {
namespace {

template <typename T>
bool Matches(const LabelSelector& selector, const T& object) {
  return (internal::IsUnreadable(object) && object.labels.empty()) || selector.Matches(object.labels);
}

template <typename T>
std::vector<T> Under(const std::map<std::string, std::vector<T>>& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::vector<T>() : found->second;
}

template <typename T>
void SortByName(std::vector<T>& objects) {
  std::sort(objects.begin(), objects.end(),
            [](const T& a, const T& b) { return std::tie(a.ns, a.name) < std::tie(b.ns, b.name); });
}

}  // namespace

DumpObjects::DumpObjects(ClusterObjects objects, const internal::ViewScope& scope) {
  TakePods(std::move(objects.pods), scope);
  for (Node& node : objects.nodes) {
    std::string name = node.name;
    changes_.nodes.insert(name);
    nodes_.insert_or_assign(std::move(name), std::move(node));
  }
  SortByName(objects.daemon_sets);
  for (DaemonSet& daemon_set : objects.daemon_sets) {
    const bool is_ours = daemon_set.ns == scope.ns && Matches(scope.driver_labels, daemon_set);
    if (is_ours) driver_.daemon_sets.push_back(std::move(daemon_set));
  }
  SortByName(objects.controller_revisions);
  for (ControllerRevision& revision : objects.controller_revisions) {
    if (revision.ns == scope.ns) driver_.revisions.push_back(std::move(revision));
  }
  has_maintenances_ = scope.requestor.has_value();
  SortByName(objects.node_maintenances);
  for (NodeMaintenance& object : objects.node_maintenances) {
    const bool is_ours = has_maintenances_ && object.ns == scope.requestor->ns;
    if (is_ours) maintenances_[object.node_name].push_back(std::move(object));
  }
}

void DumpObjects::TakePods(std::vector<Pod> pods, const internal::ViewScope& scope) {
  std::sort(pods.begin(), pods.end(), [](const Pod& a, const Pod& b) { return a.ref < b.ref; });
  for (Pod& pod : pods) {
    if (pod.ref.uid.empty()) pod.ref.uid = pod.ref.ToString();
    const std::string node = NodeOf(pod);
    const bool is_of_driver = pod.ref.ns == scope.ns && Matches(scope.driver_labels, pod);
    if (is_of_driver) {
      driver_pods_[node].push_back(pod);
      if (!node.empty()) changes_.nodes.insert(node);
    }
    if (internal::IsUnreadable(pod)) unreadable_.emplace(pod.node_name, internal::CannotBeRead("Pod", pod));
    if (!pod.node_name.empty()) pods_[pod.node_name].push_back(std::move(pod));
  }
}

std::optional<Node> DumpObjects::FindNode(const std::string& name) const {
  const auto found = nodes_.find(name);
  return found == nodes_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Pod> DumpObjects::DriverPods(const std::string& node) const { return Under(driver_pods_, node); }

std::optional<std::vector<NodeMaintenance>> DumpObjects::Maintenances(const std::string& node) const {
  if (!has_maintenances_) return std::nullopt;
  std::vector<NodeMaintenance> unbound = Under(maintenances_, "");
  if (node.empty()) return unbound;
  if (internal::AnyUnreadable(unbound)) return std::nullopt;
  return Under(maintenances_, node);
}

std::optional<std::vector<Pod>> DumpObjects::PodsOn(const std::string& node) const {
  return KnowsPodsOn(node) ? std::optional(Under(pods_, node)) : std::nullopt;
}

std::string DumpObjects::WhyNoPods(const std::string& node) const {
  for (const std::string& at : {node, std::string()}) {
    if (const auto found = unreadable_.find(at); found != unreadable_.end()) return found->second;
  }
  return {};
}

}  // namespace driverupgrade::whatif
