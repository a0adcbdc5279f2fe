#include "whatif/dump_reader.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <tuple>
#include <utility>

namespace driverupgrade::whatif {

namespace {

// A dump is not selected by a server, which knows what it has stored: what cannot be read may match.
template <typename T>
bool Matches(const LabelSelector& selector, const T& object) {
  return (!object.unreadable.empty() && object.labels.empty()) || selector.Matches(object.labels);
}

bool InNamespace(const std::string& ns, const std::string& wanted) { return wanted.empty() || ns == wanted; }

template <typename T, typename F>
std::vector<T> Select(const std::vector<T>& objects, F&& wanted) {
  std::vector<T> selected;
  std::copy_if(objects.begin(), objects.end(), std::back_inserter(selected), std::forward<F>(wanted));
  return selected;
}

template <typename T>
void SortByName(std::vector<T>& objects) {
  std::sort(objects.begin(), objects.end(),
            [](const T& a, const T& b) { return std::tie(a.ns, a.name) < std::tie(b.ns, b.name); });
}

}  // namespace

DumpReader::DumpReader(ClusterObjects objects) : objects_(std::move(objects)) {
  std::sort(objects_.nodes.begin(), objects_.nodes.end(), [](const Node& a, const Node& b) { return a.name < b.name; });
  std::sort(objects_.pods.begin(), objects_.pods.end(), [](const Pod& a, const Pod& b) { return a.ref < b.ref; });
  SortByName(objects_.daemon_sets);
  SortByName(objects_.controller_revisions);
  SortByName(objects_.pod_disruption_budgets);
  SortByName(objects_.node_maintenances);
  for (Pod& pod : objects_.pods) {
    if (pod.ref.uid.empty()) pod.ref.uid = pod.ref.ToString();
    pods_by_node_[pod.node_name].push_back(&pod);
  }
}

bool DumpReader::Supports(Operation operation) const {
  switch (operation) {
    case Operation::kListNodes:
    case Operation::kListPods:
    case Operation::kListDaemonSets:
    case Operation::kListControllerRevisions:
    case Operation::kListPodDisruptionBudgets:
    case Operation::kListNodeMaintenances: return true;
    default: return false;
  }
}

absl::StatusOr<std::vector<Node>> DumpReader::ListNodes(const CallContext&, const ListNodesParams& params) {
  return Select(objects_.nodes, [&](const Node& node) { return Matches(params.label_selector, node); });
}

absl::StatusOr<std::vector<Pod>> DumpReader::ListPods(const CallContext&, const ListPodsParams& params) {
  const auto wanted = [&](const Pod& pod) {
    return InNamespace(pod.ref.ns, params.ns) && Matches(params.label_selector, pod);
  };
  if (params.node_name.empty()) return Select(objects_.pods, wanted);
  std::vector<Pod> selected;
  if (const auto pods = pods_by_node_.find(params.node_name); pods != pods_by_node_.end()) {
    for (const Pod* pod : pods->second) {
      if (wanted(*pod)) selected.push_back(*pod);
    }
  }
  // One that does not say on which node it is may be on this one.
  if (const auto pods = pods_by_node_.find(""); pods != pods_by_node_.end()) {
    for (const Pod* pod : pods->second) {
      if (!pod->unreadable.empty() && wanted(*pod)) selected.push_back(*pod);
    }
  }
  return selected;
}

absl::StatusOr<std::vector<DaemonSet>> DumpReader::ListDaemonSets(const CallContext&,
                                                                  const ListDaemonSetsParams& params) {
  return Select(objects_.daemon_sets, [&](const DaemonSet& daemon_set) {
    return InNamespace(daemon_set.ns, params.ns) && Matches(params.label_selector, daemon_set);
  });
}

absl::StatusOr<std::vector<ControllerRevision>> DumpReader::ListControllerRevisions(
    const CallContext&, const ListControllerRevisionsParams& params) {
  return Select(objects_.controller_revisions, [&](const ControllerRevision& revision) {
    return InNamespace(revision.ns, params.ns) && Matches(params.label_selector, revision);
  });
}

absl::StatusOr<std::vector<PodDisruptionBudget>> DumpReader::ListPodDisruptionBudgets(
    const CallContext&, const ListPodDisruptionBudgetsParams& params) {
  return Select(objects_.pod_disruption_budgets,
                [&](const PodDisruptionBudget& budget) { return InNamespace(budget.ns, params.ns); });
}

absl::StatusOr<std::vector<NodeMaintenance>> DumpReader::ListNodeMaintenances(
    const CallContext&, const ListNodeMaintenancesParams& params) {
  return Select(objects_.node_maintenances,
                [&](const NodeMaintenance& object) { return InNamespace(object.ns, params.ns); });
}

}  // namespace driverupgrade::whatif
