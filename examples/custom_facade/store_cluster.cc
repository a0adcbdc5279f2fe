#include "custom_facade/store_cluster.h"

#include <algorithm>
#include <optional>
#include <set>

namespace custom_facade {

using driverupgrade::CallContext;
using driverupgrade::ControllerRevision;
using driverupgrade::DaemonSet;
using driverupgrade::EvictionAnswer;
using driverupgrade::LabelSelector;
using driverupgrade::Node;
using driverupgrade::Operation;
using driverupgrade::Pod;
using driverupgrade::PodDisruptionBudget;
using driverupgrade::PodPhase;
using driverupgrade::PodRef;
using driverupgrade::Refusal;
using driverupgrade::StringMap;

namespace {

constexpr char kRevision[] = "controller-revision-hash";

void Apply(const std::map<std::string, std::optional<std::string>>& changes, StringMap& values) {
  for (const auto& [key, value] : changes) {
    if (value) {
      values[key] = *value;
    } else {
      values.erase(key);
    }
  }
}

bool Selects(const std::string& wanted, const std::string& actual) { return wanted.empty() || wanted == actual; }

// Returns the values of `objects` in the namespace `ns` (empty: all namespaces) whose labels match `selector`.
template <class T>
std::vector<T> Selected(const std::map<std::pair<std::string, std::string>, T>& objects, const std::string& ns,
                        const LabelSelector& selector) {
  std::vector<T> found;
  for (const auto& [key, object] : objects) {
    if (Selects(ns, key.first) && selector.Matches(object.labels)) found.push_back(object);
  }
  return found;
}

Pod Started(Pod pod) {
  pod.phase = PodPhase::kRunning;
  pod.container_statuses = {{.name = "main", .ready = true}};
  return pod;
}

}  // namespace

StoreCluster::StoreCluster(std::shared_ptr<driverupgrade::Clock> clock) : clock_(std::move(clock)) {}

std::string StoreCluster::NextVersion() { return std::to_string(++version_); }

Node StoreCluster::PutNode(Node node) {
  const std::lock_guard lock(mutex_);
  node.resource_version = NextVersion();
  if (node.uid.empty()) node.uid = "node-uid-" + node.resource_version;
  return nodes_[node.name] = node;
}

Pod StoreCluster::Store(Pod pod) {
  pod.resource_version = NextVersion();
  if (pod.ref.uid.empty()) pod.ref.uid = "pod-uid-" + pod.resource_version;
  return pods_[{pod.ref.ns, pod.ref.name}] = pod;
}

Pod StoreCluster::PutPod(Pod pod) {
  const std::lock_guard lock(mutex_);
  return Store(std::move(pod));
}

void StoreCluster::PutBudget(PodDisruptionBudget budget) {
  const std::lock_guard lock(mutex_);
  budgets_[{budget.ns, budget.name}] = std::move(budget);
}

void StoreCluster::PutDriver(const std::string& ns, const std::string& name, const std::string& hash) {
  const std::lock_guard lock(mutex_);
  DaemonSet& driver = daemon_sets_[{ns, name}];
  driver = {.ns = ns,
            .name = name,
            .uid = "daemon-set-uid-" + ns + "-" + name,
            .generation = driver.generation + 1,
            .observed_generation = driver.generation + 1,
            .labels = {{"app", name}},
            .selector = LabelSelector::FromMatchLabels({{"app", name}})};
  revisions_.push_back({.ns = ns,
                        .name = name + "-" + hash,
                        .owner_uid = driver.uid,
                        .revision = driver.generation,
                        .labels = {{"app", name}, {kRevision, hash}}});
}

bool StoreCluster::RemoveNode(const std::string& name) {
  const std::lock_guard lock(mutex_);
  return nodes_.erase(name) == 1;
}

void StoreCluster::Tick() {
  const std::lock_guard lock(mutex_);
  MoveDeletedPods();
  StartDrivers();
}

std::string StoreCluster::LeastBusyNode() const {
  std::map<std::string, int> pods;
  for (const auto& [key, pod] : pods_) ++pods[pod.node_name];
  std::string best;
  for (const auto& [name, node] : nodes_) {
    if (!node.unschedulable && (best.empty() || pods[name] < pods[best])) best = name;
  }
  return best;
}

void StoreCluster::MoveDeletedPods() {
  std::vector<Pod> gone;
  for (const auto& [key, pod] : pods_) {
    if (pod.deletion_timestamp) gone.push_back(pod);
  }
  for (Pod& pod : gone) {
    pods_.erase({pod.ref.ns, pod.ref.name});
    const auto* owner = driverupgrade::ControllerOf(pod);
    if (owner == nullptr || driverupgrade::IsDaemonSetPod(pod)) continue;
    pod.deletion_timestamp.reset();
    pod.ref = {.ns = pod.ref.ns, .name = owner->name + "-" + std::to_string(version_ + 1)};
    pod.node_name = LeastBusyNode();
    Store(pod.node_name.empty() ? Pod(pod) : Started(pod));
  }
}

void StoreCluster::StartDrivers() {
  for (const auto& [key, driver] : daemon_sets_) {
    const auto newest = std::find_if(revisions_.rbegin(), revisions_.rend(), [&driver = driver](const auto& revision) {
      return revision.owner_uid == driver.uid;
    });
    for (const auto& [node_name, node] : nodes_) {
      const PodRef ref{.ns = driver.ns, .name = driver.name + "-" + node_name};
      if (pods_.contains({ref.ns, ref.name})) continue;
      Store(Started({.ref = ref,
                     .node_name = node_name,
                     .labels = newest->labels,
                     .owners = {{"apps/v1", "DaemonSet", driver.name, driver.uid, true}}}));
    }
  }
}

std::vector<driverupgrade::RecordEventParams> StoreCluster::events() const {
  const std::lock_guard lock(mutex_);
  return events_;
}

bool StoreCluster::Supports(Operation operation) const {
  switch (operation) {
    case Operation::kGetNode:
    case Operation::kListNodes:
    case Operation::kGetPod:
    case Operation::kListPods:
    case Operation::kListDaemonSets:
    case Operation::kListControllerRevisions:
    case Operation::kListPodDisruptionBudgets:
    case Operation::kPatchNode:
    case Operation::kEvictPod:
    case Operation::kDeletePod:
    case Operation::kRecordEvent: return true;
    default: return false;
  }
}

absl::Status StoreCluster::Check(const CallContext& context) const {
  if (context.stop.stop_requested()) return absl::CancelledError("store: the call was stopped");
  if (context.deadline <= clock_->Now()) return absl::DeadlineExceededError("store: the deadline has passed");
  return absl::OkStatus();
}

absl::StatusOr<Node> StoreCluster::GetNode(const CallContext& context, const driverupgrade::GetNodeParams& params) {
  if (absl::Status status = Check(context); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  const auto node = nodes_.find(params.name);
  if (node == nodes_.end()) return absl::NotFoundError("get node " + params.name + ": does not exist");
  return node->second;
}

absl::StatusOr<std::vector<Node>> StoreCluster::ListNodes(const CallContext& context,
                                                          const driverupgrade::ListNodesParams& params) {
  if (absl::Status status = Check(context); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  std::vector<Node> found;
  for (const auto& [name, node] : nodes_) {
    if (params.label_selector.Matches(node.labels)) found.push_back(node);
  }
  return found;
}

absl::StatusOr<Pod> StoreCluster::GetPod(const CallContext& context, const driverupgrade::GetPodParams& params) {
  if (absl::Status status = Check(context); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  const auto pod = pods_.find({params.ns, params.name});
  if (pod == pods_.end()) return absl::NotFoundError("get pod " + params.ns + "/" + params.name + ": does not exist");
  return pod->second;
}

absl::StatusOr<std::vector<Pod>> StoreCluster::ListPods(const CallContext& context,
                                                        const driverupgrade::ListPodsParams& params) {
  if (absl::Status status = Check(context); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  std::vector<Pod> found = Selected(pods_, params.ns, params.label_selector);
  found.erase(std::remove_if(found.begin(), found.end(),
                             [&](const Pod& pod) { return !Selects(params.node_name, pod.node_name); }),
              found.end());
  return found;
}

absl::StatusOr<std::vector<DaemonSet>> StoreCluster::ListDaemonSets(const CallContext& context,
                                                                    const driverupgrade::ListDaemonSetsParams& params) {
  if (absl::Status status = Check(context); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  return Selected(daemon_sets_, params.ns, params.label_selector);
}

absl::StatusOr<std::vector<ControllerRevision>> StoreCluster::ListControllerRevisions(
    const CallContext& context, const driverupgrade::ListControllerRevisionsParams& params) {
  if (absl::Status status = Check(context); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  std::vector<ControllerRevision> found;
  for (const ControllerRevision& revision : revisions_) {
    if (Selects(params.ns, revision.ns) && params.label_selector.Matches(revision.labels)) found.push_back(revision);
  }
  return found;
}

// Returns a copy of the budget that contains the number of evictions that it currently allows.
PodDisruptionBudget StoreCluster::Counted(PodDisruptionBudget budget) const {
  const auto is_healthy = [&](const auto& entry) {
    const Pod& pod = entry.second;
    return pod.ref.ns == budget.ns && budget.selector.Matches(pod.labels) && IsReady(pod) && !pod.deletion_timestamp;
  };
  budget.current_healthy = static_cast<int>(std::count_if(pods_.begin(), pods_.end(), is_healthy));
  budget.disruptions_allowed = std::max(0, budget.current_healthy - budget.desired_healthy);
  return budget;
}

absl::StatusOr<std::vector<PodDisruptionBudget>> StoreCluster::ListPodDisruptionBudgets(
    const CallContext& context, const driverupgrade::ListPodDisruptionBudgetsParams& params) {
  if (absl::Status status = Check(context); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  std::vector<PodDisruptionBudget> found;
  for (const auto& [key, budget] : budgets_) {
    if (Selects(params.ns, budget.ns)) found.push_back(Counted(budget));
  }
  return found;
}

absl::StatusOr<Node> StoreCluster::PatchNode(const CallContext& context, const driverupgrade::PatchNodeParams& params) {
  if (absl::Status status = Check(context); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  const auto found = nodes_.find(params.name);
  if (found == nodes_.end()) return absl::NotFoundError("patch node " + params.name + ": does not exist");
  Node& node = found->second;
  if (node.uid != params.uid || node.resource_version != params.resource_version) {
    return absl::AbortedError("patch node " + params.name + ": it is at version " + node.resource_version);
  }
  std::set<std::pair<std::string, std::string>> taints;
  for (const driverupgrade::Taint& taint : params.taints.value_or(node.taints)) {
    if (!taint.effect.empty() && taints.emplace(taint.key, taint.effect).second) continue;
    return absl::InvalidArgumentError("patch node " + params.name + ": taint " + taint.key +
                                      " has no effect, or occurs twice");
  }
  Apply(params.labels, node.labels);
  Apply(params.annotations, node.annotations);
  node.unschedulable = params.unschedulable.value_or(node.unschedulable);
  if (params.taints) node.taints = *params.taints;
  node.resource_version = NextVersion();
  return node;
}

// Returns the pod if it exists with this UID, or nullptr.
Pod* StoreCluster::Find(const PodRef& ref) {
  const auto pod = pods_.find({ref.ns, ref.name});
  return pod == pods_.end() || pod->second.ref.uid != ref.uid ? nullptr : &pod->second;
}

void StoreCluster::Mark(Pod& pod) {
  if (pod.deletion_timestamp) return;
  pod.deletion_timestamp = clock_->Now();
  pod.resource_version = NextVersion();
}

absl::StatusOr<EvictionAnswer> StoreCluster::EvictPod(const CallContext& context,
                                                      const driverupgrade::EvictPodParams& params) {
  if (absl::Status status = Check(context); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  Pod* pod = Find(params.pod);
  if (pod == nullptr) return EvictionAnswer{.gone = true};
  std::vector<PodDisruptionBudget> matching;
  for (const auto& [key, budget] : budgets_) {
    if (budget.ns == params.pod.ns && budget.selector.Matches(pod->labels)) matching.push_back(Counted(budget));
  }
  if (matching.size() > 1) return EvictionAnswer{.refusal = Refusal::kSeveralBudgets};
  if (!matching.empty() && matching.front().disruptions_allowed == 0) {
    return EvictionAnswer{.refusal = Refusal::kDisruptionBudget, .budget = matching.front().name};
  }
  Mark(*pod);
  return EvictionAnswer();
}

absl::Status StoreCluster::DeletePod(const CallContext& context, const driverupgrade::DeletePodParams& params) {
  if (absl::Status status = Check(context); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (Pod* pod = Find(params.pod)) Mark(*pod);
  return absl::OkStatus();
}

absl::Status StoreCluster::RecordEvent(const CallContext& context, const driverupgrade::RecordEventParams& params) {
  if (absl::Status status = Check(context); !status.ok()) return status;
  const std::lock_guard lock(mutex_);
  events_.push_back(params);
  return absl::OkStatus();
}

}  // namespace custom_facade
