#include "property/naive_budget.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "decide/attempt_log.h"
#include "decide/verdict.h"

namespace driverupgrade::tests {
namespace {

using Names = std::set<std::string>;

// Returns the raw label value, or an empty string if the label is missing.
std::string LabelOf(const Node& node, const std::string& key) {
  const auto found = node.labels.find(key);
  return found == node.labels.end() ? "" : found->second;
}

bool IsOneOf(const std::string& value, std::initializer_list<const char*> values) {
  return std::any_of(values.begin(), values.end(), [&](const char* other) { return value == other; });
}

bool IsState(const std::string& value) {
  return IsOneOf(value,
                 {"", "upgrade-required", "cordon-required", "wait-for-jobs-required", "pod-deletion-required",
                  "drain-required", "node-maintenance-required", "post-maintenance-required", "pod-restart-required",
                  "validation-required", "uncordon-required", "upgrade-done", "upgrade-failed"});
}

// Returns whether a node in this state is in progress, and is past the states in which the upgrade's own cordon can
// still be missing (dep-F8).
bool IsPastItsCordon(const std::string& state) {
  return IsOneOf(state,
                 {"wait-for-jobs-required", "pod-deletion-required", "drain-required", "post-maintenance-required",
                  "pod-restart-required", "validation-required", "uncordon-required", "upgrade-failed"});
}

// Returns the cordon set that is stored on the node (dep-F7).
Names CordonSet(const Node& node) {
  Names names;
  const auto found = node.annotations.find("driverupgrade/cordoned-by");
  if (found == node.annotations.end()) return names;
  std::string name;
  for (const char c : found->second + ",") {
    if (c != ',') {
      name += c;
      continue;
    }
    const auto first = name.find_first_not_of(' ');
    if (first != std::string::npos) names.insert(name.substr(first, name.find_last_not_of(' ') + 1 - first));
    name.clear();
  }
  return names;
}

constexpr std::string_view kStateSuffix = "-driver-upgrade-state";

// Returns the state labels of drivers that are neither ours nor in the cordon set: `<domain>/<driver>` and the value.
std::map<std::string, std::string> DriversOutsideSet(const Node& node, const DriverIdentity& identity) {
  const Names set = CordonSet(node);
  std::map<std::string, std::string> drivers;
  for (const auto& [key, value] : node.labels) {
    if (!std::string_view(key).ends_with(kStateSuffix) || key == identity.StateLabel()) continue;
    const std::string name = key.substr(0, key.size() - kStateSuffix.size());
    if (!set.contains(name)) drivers[name] = value;
  }
  return drivers;
}

// dep-F8: returns whether another driver has set the cordon without adding its name to the cordon set.
bool HasRival(const Node& node, const DriverIdentity& identity) {
  if (!node.unschedulable) return false;
  for (const auto& [name, state] : DriversOutsideSet(node, identity)) {
    const bool annotated = node.annotations.contains(name + "-driver-upgrade.node-initial-state.unschedulable");
    // ADR 0004: the maintenance operator keeps the node cordoned in this state.
    const bool maintained =
        state == "node-maintenance-required" && node.annotations.contains(name + "-driver-upgrade-requestor-mode");
    if ((IsPastItsCordon(state) || maintained) && !annotated) return true;
  }
  return false;
}

bool AwaitsLoad(const Node& node, const DriverIdentity& identity) {
  const auto load = node.annotations.find(identity.SafeLoadAnnotation());
  return load != node.annotations.end() && !load->second.empty();
}

// dep-F8: returns whether the node waits for another driver that has set the cordon without adding its name to the cordon
// set. A driver that has evacuated the node may wait until ours is loaded.
bool IsHeldByRival(const Node& node, const DriverIdentity& identity) {
  bool is_held = HasRival(node, identity);
  if (!is_held || !AwaitsLoad(node, identity)) return is_held;
  is_held = false;
  for (const auto& [name, state] : DriversOutsideSet(node, identity)) {
    const bool annotated = node.annotations.contains(name + "-driver-upgrade.node-initial-state.unschedulable");
    const bool maintained = node.annotations.contains(name + "-driver-upgrade-requestor-mode");
    const bool counts = IsPastItsCordon(state) || (maintained && state == "node-maintenance-required");
    if (!counts || annotated) continue;
    is_held |= !IsOneOf(state, {"pod-restart-required", "validation-required", "upgrade-failed"});
  }
  return is_held;
}

// dep-F7: a cordon belongs to an administrator if each driver in the cordon set is done. A listed driver without a
// state label is not done.
bool IsAdministrators(const Node& node, const DriverIdentity& identity) {
  if (!node.unschedulable || HasRival(node, identity)) return false;
  for (const std::string& name : CordonSet(node)) {
    const auto slash = name.find('/');
    if (slash == std::string::npos || slash == 0 || slash + 1 == name.size()) continue;  // not a driver's name
    if (LabelOf(node, name + std::string(kStateSuffix)) != "upgrade-done") return false;
  }
  return true;
}

// Returns whether a node in this state must be cordoned. If the node is schedulable, the next patch cordons it (T11,
// dep-F8).
bool IsHeldCordoned(const std::string& state) {
  return IsOneOf(state, {"cordon-required", "wait-for-jobs-required", "pod-deletion-required", "drain-required",
                         "pod-restart-required", "validation-required"});
}

bool Leaves(const Node& node) {
  return node.deletion_timestamp || std::any_of(node.taints.begin(), node.taints.end(), [](const Taint& taint) {
           return taint.key == "ToBeDeletedByClusterAutoscaler" || taint.key == "karpenter.sh/disrupted";
         });
}

// W1: the state of a node without a label follows from its other marks. This function calls Judge for such a node,
// because this implementation does not duplicate the rules for reading marks and for evacuations without a timer.
std::string StateOf(const Node& node, const NodeView& view, const RandomCluster& cluster) {
  const DriverIdentity& identity = cluster.machine.identity();
  if (const std::string label = LabelOf(node, identity.StateLabel()); !label.empty()) return label;
  NodeView unlabelled = view;
  unlabelled.node = node;
  const Verdict verdict = cluster.machine.Judge(unlabelled, *cluster.snapshot.driver, cluster.policy, cluster.now,
                                                cluster.snapshot.active_since, /*admitted=*/false);
  return verdict.plan.from == UpgradeState::kUnknown ? "" : std::string(ToString(verdict.plan.from));
}

// Returns the state of OpenShift's Machine Config Operator. The random nodes have no config that differs from the desired
// config.
std::string StateOfMachineConfig(const Node& node) {
  const auto state = node.annotations.find("machineconfiguration.openshift.io/state");
  return state == node.annotations.end() ? "Done" : state->second;
}

bool IsGettingNetworkDevices(const Node& node) {
  const auto state = node.annotations.find("sriovnetwork.openshift.io/state");
  return state != node.annotations.end() && state->second != "Idle";
}

struct Counter {
  const DriverIdentity& identity;
  const UpgradePolicy& policy;
  const RandomCluster& cluster;

  // W10: returns whether the node failed because its drain was blocked, and no longer has our cordon.
  bool WasReturnedToService(const Node& node) const {
    const auto failure = node.annotations.find(identity.FailureClassAnnotation());
    return failure != node.annotations.end() && failure->second == "DrainBlocked" &&
           !CordonSet(node).contains(identity.Name()) &&
           !node.annotations.contains(identity.InitiallyUnschedulableAnnotation());
  }

  // Returns whether the node holds a slot, according to dep-F14, dep-F2 and dep-F8.
  bool HoldsSlot(const Node& node, const NodeView& view) const {
    const std::string state = StateOf(node, view, cluster);
    if (IsOneOf(state, {"", "upgrade-required", "upgrade-done"})) return false;
    if (state == "upgrade-failed" && (policy.failure_policy || WasReturnedToService(node))) return false;
    // A node that the administrator uncordoned in the middle of its upgrade is cordoned again under our name.
    const bool administrators = node.annotations.contains(identity.InitiallyUnschedulableAnnotation()) &&
                                (node.unschedulable || !IsHeldCordoned(state));
    if (administrators && policy.cordoned_nodes == CordonedNodes::kProceed) return false;
    if (state != "uncordon-required" || !node.unschedulable) return true;
    for (const auto& [name, other] : DriversOutsideSet(node, identity)) {
      if (IsPastItsCordon(other) && other != "uncordon-required") return false;
    }
    return true;
  }

  // Returns whether the node is cordoned, not ready, leaving, or will be cordoned by the next patch, regardless of
  // other effects of the state (§5.3, dep-F8, dep-F18).
  bool IsUnavailable(const Node& node, const NodeView& view) const {
    return node.unschedulable || !node.ready || Leaves(node) || IsHeldCordoned(StateOf(node, view, cluster));
  }

  // Returns the node as it is, and as it would be after each patch that may have been applied (arch-A6, arch-A9).
  static std::vector<Node> Versions(const NodeView& view) {
    std::vector<Node> nodes = {view.node};
    const auto& attempt = view.attempts.patch;
    const bool read_since =
        attempt && attempt->outcome && internal::IsNewerVersion(view.node.resource_version, attempt->based_on);
    if (!attempt || read_since) return nodes;
    for (const PatchNodeParams& patch : attempt->possible) nodes.push_back(Patched(view.node, patch));
    return nodes;
  }
};

// A node to count, with the versions that it can have now or after its admission.
struct Entry {
  const NodeView* view = nullptr;
  std::vector<Node> versions = {};
};

struct Census {
  int slots = 0;
  int unavailable = 0;
};

Census CountAll(const std::vector<Entry>& entries, const Counter& counter) {
  Census census;
  const bool counts_unscheduled = counter.policy.on_unscheduled_pods == OnUnscheduledPods::kCountUnavailable;
  for (const Entry& entry : entries) {
    bool slot = false;
    bool unavailable =
        counts_unscheduled && entry.view->driver_pods.empty() && !entry.view->unscheduled_driver_pods.empty();
    for (const Node& node : entry.versions) {
      slot = slot || counter.HoldsSlot(node, *entry.view);
      unavailable = unavailable || counter.IsUnavailable(node, *entry.view);
    }
    census.slots += slot;
    census.unavailable += unavailable;
  }
  return census;
}

Tally Totals(const std::vector<Entry>& entries, const Counter& counter, const Census& census) {
  Tally tally{.slots = census.slots, .unavailable = census.unavailable};
  for (const Entry& entry : entries) {
    const std::string state = StateOf(entry.view->node, *entry.view, counter.cluster);
    ++tally.total;
    if (IsState(state)) ++tally.by_state[static_cast<std::size_t>(*ParseUpgradeState(state))];
    tally.pending += state == "upgrade-required";
    const bool in_progress = !IsOneOf(state, {"", "upgrade-required", "upgrade-done"});
    tally.in_progress += in_progress;
    tally.devices_isolated +=
        in_progress && entry.view->node.annotations.contains(counter.identity.IsolatedDevicesAnnotation());
    tally.failed += state == "upgrade-failed";
    tally.failed_reloads +=
        state == "upgrade-failed" && entry.view->node.annotations.contains(counter.identity.ReloadOnlyAnnotation());
    const std::vector<Pod>& pods = entry.view->driver_pods;
    const bool runs = std::all_of(pods.begin(), pods.end(), [](const Pod& pod) { return IsReady(pod); }) &&
                      (!pods.empty() || entry.view->unscheduled_driver_pods.empty());
    tally.done += state == "upgrade-done" && runs;
    tally.not_ready += state == "upgrade-done" && !runs;
  }
  return tally;
}

// Returns the node after the patch that admits it (T9, dep-F7).
Node Admitted(Node node, const NodeView& view, const DriverIdentity& identity) {
  node.labels[identity.StateLabel()] = "cordon-required";
  node.annotations.erase(identity.InitiallyUnschedulableAnnotation());
  if (IsAdministrators(view.node, identity)) node.annotations[identity.InitiallyUnschedulableAnnotation()] = "true";
  return node;
}

bool RevisionsAreKnown(const NodeView& view, const DriverFacts& driver) {
  for (const Pod& pod : view.driver_pods) {
    if (pod.owners.empty()) continue;
    const auto controller =
        std::find_if(pod.owners.begin(), pod.owners.end(), [](const auto& o) { return o.controller; });
    if (controller == pod.owners.end() || !driver.daemon_sets.contains(controller->uid)) return false;
    if (!driver.daemon_sets.at(controller->uid).wanted_revision || RevisionHash(pod).empty()) return false;
  }
  return true;
}

// gpu-operator#1368: returns whether no DaemonSet would replace the driver pod. The random DaemonSets target all nodes, and
// have no tolerations or unknown ones.
bool IsTainted(const Node& node, const RandomCluster& cluster) {
  const auto& sets = cluster.snapshot.driver->daemon_sets;
  return !node.taints.empty() && !sets.empty() && std::all_of(sets.begin(), sets.end(), [](const auto& set) {
    return set.second.daemon_set.tolerations.has_value();
  });
}

// dep-F20: returns whether the node cannot start. A node can continue if a patch that started its upgrade may have been
// applied.
bool IsUnfit(const NodeView& view, const Counter& counter) {
  const std::vector<Node> versions = Counter::Versions(view);
  const bool waits = StateOf(view.node, view, counter.cluster) == "upgrade-required";
  if (waits &&
      std::any_of(versions.begin(), versions.end(), [&](const Node& node) { return counter.HoldsSlot(node, view); })) {
    return false;
  }
  const auto requested = view.node.annotations.find(counter.identity.UpgradeRequestedAnnotation());
  const bool is_requested = requested != view.node.annotations.end() && requested->second == "true";
  const bool has_started = CordonSet(view.node).contains(counter.identity.Name()) ||
                           view.node.annotations.contains(counter.identity.FailedRevisionAnnotation());
  const bool is_repair = is_requested || has_started;
  const std::string config = StateOfMachineConfig(view.node);
  const bool is_lost = (!view.node.ready || config == "Degraded") && !is_repair;
  const bool must_wait = !is_repair && !AwaitsLoad(view.node, counter.identity);
  const bool gets_devices = IsGettingNetworkDevices(view.node) && must_wait;
  const bool is_tainted = must_wait && IsTainted(view.node, counter.cluster);
  return is_tainted || Leaves(view.node) || config == "Working" || is_lost || gets_devices;
}

// Returns whether the node is in upgrade-required and waits only for a slot. The budgets do not influence where the
// node's path ends, so this function can call Judge.
bool AsksForSlot(const RandomCluster& cluster, const NodeView& view) {
  const UpgradePolicy& policy = cluster.policy;
  const DriverIdentity& identity = cluster.machine.identity();
  if (!policy.auto_upgrade || !IsState(LabelOf(view.node, identity.StateLabel()))) return false;
  if (view.attempts.patch && internal::NextPatchDue(*view.attempts.patch, view.node) > cluster.now) return false;
  const Verdict verdict = cluster.machine.Judge(view, *cluster.snapshot.driver, policy, cluster.now,
                                                cluster.snapshot.active_since, /*admitted=*/false);
  if (verdict.plan.to() != UpgradeState::kUpgradeRequired) return false;
  // W1: the slot of the previous upgrade must not admit the next upgrade, which must wait for another pass.
  if (verdict.plan.from == UpgradeState::kUncordonRequired) return false;
  // W1: a node without a label passes through several states in one pass.
  const bool is_resumed = LabelOf(view.node, identity.StateLabel()).empty() &&
                          (verdict.plan.from != UpgradeState::kUnknown || view.attempts.label_loss);
  const bool goes_on = policy.pacing == Pacing::kChained || is_resumed ||
                       (verdict.plan.from == UpgradeState::kFailed && policy.failure_policy);
  if (!verdict.plan.path.empty() && !goes_on) return false;
  if (LabelOf(view.node, identity.SkipUpgradeLabel()) == "true") return false;  // T5
  if (view.driver_pods.empty() || !RevisionsAreKnown(view, *cluster.snapshot.driver)) return false;
  if (IsHeldByRival(view.node, identity) || IsUnfit(view, {identity, policy, cluster})) return false;
  return policy.cordoned_nodes != CordonedNodes::kIgnore || !IsAdministrators(view.node, identity);
}

// If the node leaves upgrade-failed or uncordon-required in this pass without an admission, adds the version that the
// node then has, because this change may cordon the node again (I1).
void AddRecovery(const RandomCluster& cluster, Entry& entry) {
  const NodeView& view = *entry.view;
  const std::string state = StateOf(view.node, view, cluster);
  if (state != "upgrade-failed" && state != "uncordon-required") return;
  if (AsksForSlot(cluster, view)) return;
  const Verdict verdict = cluster.machine.Judge(view, *cluster.snapshot.driver, cluster.policy, cluster.now,
                                                cluster.snapshot.active_since, /*admitted=*/false);
  if (verdict.plan.patch) entry.versions.push_back(Patched(view.node, *verdict.plan.patch));
}

// dep-F2: a percentage is rounded down to a number of failures, but to at least one.
bool IsHalted(const UpgradePolicy& policy, const Tally& totals) {
  if (!policy.failure_policy) return false;
  const CountOrPercent& limit = policy.failure_policy->max_failures;
  if (const Count* count = std::get_if<Count>(&limit)) return totals.failed - totals.failed_reloads >= count->value;
  int allowed = 1;
  while ((allowed + 1) * 100 <= std::get<Percent>(limit).value * totals.total) ++allowed;
  return totals.failed - totals.failed_reloads >= allowed;
}

// Returns why the entry cannot start, given the counts before and after its start. If both budgets are exhausted,
// either reason would be correct. This function checks the slots first, in the order of §5.3.
std::optional<GateReason> Refusal(const Entry& entry, const Census& before, const Census& after,
                                  const RandomCluster& cluster) {
  const UpgradePolicy& policy = cluster.policy;
  if (policy.max_parallel && after.slots > before.slots && after.slots > *policy.max_parallel) {
    return GateReason::kMaxParallel;
  }
  if (!policy.max_unavailable || entry.view->node.unschedulable) return std::nullopt;  // dep-F14: needs no headroom
  const Percent* percent = std::get_if<Percent>(&*policy.max_unavailable);
  if (percent != nullptr && percent->value >= 100) return std::nullopt;
  // A node that is not ready, or whose driver pod cannot be scheduled, is unavailable already, but needs headroom like
  // any other node, because its upgrade causes a disruption. If the node's own admission may have been applied, this
  // admission has already taken the headroom (arch-A6).
  const bool lacks_pod = policy.on_unscheduled_pods == OnUnscheduledPods::kCountUnavailable &&
                         entry.view->driver_pods.empty() && !entry.view->unscheduled_driver_pods.empty();
  // An upgrade request that repairs the node does not wait for the node itself.
  const auto requested = entry.view->node.annotations.find(cluster.machine.identity().UpgradeRequestedAnnotation());
  const bool repairs =
      !entry.view->node.ready && requested != entry.view->node.annotations.end() && requested->second == "true";
  const bool takes = !repairs && (after.unavailable > before.unavailable || !entry.view->node.ready || lacks_pod);
  const int total = static_cast<int>(cluster.snapshot.nodes.size());
  if (takes && before.unavailable >= NaiveLimit(*policy.max_unavailable, total)) return GateReason::kMaxUnavailable;
  return std::nullopt;
}

}  // namespace

bool IsAdministratorsCordon(const NodeView& view, const DriverIdentity& identity) {
  return IsAdministrators(view.node, identity);
}

int NaiveLimit(const CountOrPercent& limit, int total) {
  if (const Count* count = std::get_if<Count>(&limit)) return count->value;
  int nodes = 0;
  while (nodes * 100 < std::get<Percent>(limit).value * total) ++nodes;
  return nodes;
}

NaiveAdmissions AdmitNaively(const RandomCluster& cluster) {
  const DriverIdentity& identity = cluster.machine.identity();
  const Counter counter{identity, cluster.policy, cluster};
  std::vector<Entry> entries;
  for (const auto& view : cluster.snapshot.nodes) {
    entries.push_back({view.get(), Counter::Versions(*view)});
    AddRecovery(cluster, entries.back());
  }
  NaiveAdmissions result;
  result.totals = Totals(entries, counter, CountAll(entries, counter));
  const bool halted = IsHalted(cluster.policy, result.totals);
  for (const bool own : {false, true}) {  // dep-F19: the operator's own node comes last
    for (Entry& entry : entries) {
      const std::string& name = entry.view->node.name;
      if ((name == cluster.machine.options().own_node) != own || !AsksForSlot(cluster, *entry.view)) continue;
      const Census before = CountAll(entries, counter);
      const std::vector<Node> versions = entry.versions;
      entry.versions.push_back(Admitted(entry.view->node, *entry.view, identity));
      std::optional<GateReason>& reason = result.decisions[name];
      if (cluster.policy.paused) {
        reason = GateReason::kPaused;
      } else if (halted) {
        reason = GateReason::kMaxFailures;
      } else {
        reason = Refusal(entry, before, CountAll(entries, counter), cluster);
      }
      if (reason) entry.versions = versions;
    }
  }
  const Census after = CountAll(entries, counter);
  result.slots_after = after.slots;
  result.unavailable_after = after.unavailable;
  return result;
}

}  // namespace driverupgrade::tests
