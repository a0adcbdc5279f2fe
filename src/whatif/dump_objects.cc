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
void SortByName(std::vector<T>& objects) {
  std::sort(objects.begin(), objects.end(),
            [](const T& a, const T& b) { return std::tie(a.ns, a.name) < std::tie(b.ns, b.name); });
}

}  // namespace

DumpObjects::DumpObjects(ClusterObjects objects, const internal::ViewScope& scope) {
  TakePods(std::move(objects.pods), scope);
  HoldNodes(std::move(objects.nodes));
  SortByName(objects.daemon_sets);
  for (DaemonSet& daemon_set : objects.daemon_sets) {
    const bool is_ours = daemon_set.ns == scope.ns && Matches(scope.driver_labels, daemon_set);
    if (is_ours) driver_.daemon_sets.push_back(std::move(daemon_set));
  }
  SortByName(objects.controller_revisions);
  for (ControllerRevision& revision : objects.controller_revisions) {
    if (revision.ns == scope.ns) driver_.revisions.push_back(std::move(revision));
  }
  // A dump does not show whether the cluster serves the DRA kinds, so it is assumed to serve them, even if the dump
  // contains no such objects.
  internal::DeviceObjects& devices = BeginDevices(scope.devices);
  devices.Listed(objects.device_taint_rules);
  devices.Listed(objects.resource_claims);
  devices.Listed(objects.resource_slices);
  if (!scope.requestor) return;
  std::erase_if(objects.node_maintenances,
                [&](const NodeMaintenance& object) { return object.ns != scope.requestor->ns; });
  HoldMaintenances(std::move(objects.node_maintenances));
}

void DumpObjects::TakePods(std::vector<Pod> pods, const internal::ViewScope& scope) {
  std::sort(pods.begin(), pods.end(), [](const Pod& a, const Pod& b) { return a.ref < b.ref; });
  for (Pod& pod : pods) {
    if (pod.ref.uid.empty()) pod.ref.uid = pod.ref.ToString();
    if (pod.ref.ns == scope.ns && Matches(scope.driver_labels, pod)) HoldDriverPod(pod);
    if (internal::IsUnreadable(pod)) {
      unreadable_.emplace(pod.node_name, absl::DataLossError(internal::CannotBeRead("Pod", pod)));
    }
    if (!pod.node_name.empty()) pods_[pod.node_name].push_back(std::move(pod));
  }
}

absl::Status DumpObjects::PodsStatus(const std::string& node) const {
  for (const std::string& at : {node, std::string()}) {
    if (const auto found = unreadable_.find(at); found != unreadable_.end()) return found->second;
  }
  return absl::OkStatus();
}

}  // namespace driverupgrade::whatif
