#include "property/plan_invariants.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "fmt/format.h"
#include "testing/transition_table.h"

namespace driverupgrade::tests {
namespace {

// Returns the first non-empty string.
std::string First(std::initializer_list<std::string> texts) {
  for (const std::string& text : texts) {
    if (!text.empty()) return text;
  }
  return "";
}

std::string If(bool broken, std::string text) { return broken ? std::move(text) : std::string(); }

std::string LabelOf(const Node& node, const std::string& key) {
  const auto found = node.labels.find(key);
  return found == node.labels.end() ? "" : found->second;
}

// I7: every step must be in the transition table, and the label must match the end of the path.
std::string BrokenPath(const NodeView& view, const NodePlan& plan, const DriverIdentity& identity) {
  UpgradeState from = plan.from;
  for (const UpgradeState to : plan.path) {
    if (!IsLegalEdge(from, to)) return fmt::format("{} -> {} is no transition", ToString(from), ToString(to));
    from = to;
  }
  const std::string label = LabelOf(After(view, plan), identity.StateLabel());
  const std::string before = LabelOf(view.node, identity.StateLabel());
  // A label that another client removed may be written again.
  const bool is_restored = before.empty() && IsInProgress(plan.from) && label == ToLabelValue(plan.from);
  if (plan.path.empty()) return If(label != before && !is_restored, "a label without a transition");
  return If(label != ToLabelValue(plan.path.back()), "the label is not the end of the path");
}

// I6: a patch may change only our own keys, and may remove the safe-load annotation and the upgrade request.
std::string BrokenKeys(const PatchNodeParams& patch, const DriverIdentity& identity) {
  const std::set<std::string> ours = {identity.StageAnnotation(),           identity.PodCompletionStartAnnotation(),
                                      identity.ValidationStartAnnotation(), identity.InitiallyUnschedulableAnnotation(),
                                      identity.RestartPodAnnotation(),      identity.FailedRevisionAnnotation(),
                                      identity.FailuresAnnotation(),        identity.FailureCauseAnnotation(),
                                      identity.RequestorModeAnnotation(),   identity.WaitingForAnnotation(),
                                      identity.RestartOnlyAnnotation(),     std::string(kCordonedByAnnotation)};
  const std::set<std::string> removable = {identity.SafeLoadAnnotation(), identity.UpgradeRequestedAnnotation()};
  for (const auto& [key, value] : patch.labels) {
    if (key != identity.StateLabel() || !value) return fmt::format("I6: label {}", key);
  }
  for (const auto& [key, value] : patch.annotations) {
    if (!ours.contains(key) && (value || !removable.contains(key))) return fmt::format("I6: annotation {}", key);
  }
  return "";
}

// I12: a patch must not write values that already exist. A patch without a change is allowed only before the deletion
// of a driver pod, because a deletion cannot have a precondition on the node (I2).
std::string BrokenPatch(const NodeView& view, const NodePlan& plan, const DriverIdentity& identity) {
  if (!plan.patch) return "";
  const PatchNodeParams& patch = *plan.patch;
  bool changes_all = !patch.unschedulable || *patch.unschedulable != view.node.unschedulable;
  const auto check = [&](const auto& changes, const StringMap& present) {
    for (const auto& [key, value] : changes) {
      const auto found = present.find(key);
      const bool same = found == present.end() ? !value : value == found->second;
      changes_all = changes_all && !same;
    }
  };
  check(patch.labels, view.node.labels);
  check(patch.annotations, view.node.annotations);
  return First({If(patch.empty() && plan.remove.empty(), "an empty patch"),
                If(!changes_all, "writes what is there already"), BrokenKeys(patch, identity)});
}

// dep-F6, I3: if the patch sets upgrade-done, none of our marks or cordons may remain.
std::string BrokenEnd(const NodeView& view, const NodePlan& plan, const DriverIdentity& identity) {
  if (plan.path.empty() || plan.to() != UpgradeState::kDone) return "";
  const Node after = After(view, plan);
  for (const std::string& key :
       {identity.StageAnnotation(), identity.PodCompletionStartAnnotation(), identity.ValidationStartAnnotation(),
        identity.InitiallyUnschedulableAnnotation(), identity.RestartPodAnnotation(),
        identity.FailedRevisionAnnotation(), identity.FailuresAnnotation(), identity.FailureCauseAnnotation(),
        identity.WaitingForAnnotation()}) {
    if (after.annotations.contains(key)) return fmt::format("dep-F6: {} is left behind", key);
  }
  const auto set = after.annotations.find(std::string(kCordonedByAnnotation));
  const bool named = set != after.annotations.end() &&
                     ("," + set->second + ",").find("," + identity.Name() + ",") != std::string::npos;
  return First({If(after.unschedulable && !view.node.unschedulable, "I3: done, and cordoned by us"),
                If(named, "I3: done, and our name is on the cordon")});
}

const Pod* FindPod(const std::vector<Pod>& pods, const PodRef& ref) {
  const auto found = std::find_if(pods.begin(), pods.end(), [&](const Pod& pod) { return pod.ref == ref; });
  return found == pods.end() ? nullptr : &*found;
}

// drain-D10 to drain-D16, dep-F19: returns whether the pod is never evicted, nor deleted in place of an eviction.
bool Stays(const Pod& pod, const StateMachineOptions& options) {
  const bool own = options.own_pod && pod.ref.ns == options.own_pod->ns && pod.ref.name == options.own_pod->name;
  const auto daemon = std::find_if(pod.owners.begin(), pod.owners.end(), [](const OwnerReference& owner) {
    return owner.controller && owner.kind == "DaemonSet" && owner.api_version == "apps/v1";
  });
  const bool finished = pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed;
  return own || pod.mirror || (daemon != pod.owners.end() && !finished);
}

// dep-F11: returns whether no kubelet will ever report the end of the pod, or whether only a finalizer keeps a finished
// pod.
bool IsLost(const Pod& pod, const NodeView& view, absl::Time now) {
  if (!pod.deletion_timestamp) return false;
  const bool finished = pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed;
  return finished || (!view.node.ready && *pod.deletion_timestamp < now);
}

std::string BrokenEviction(const RandomCluster& cluster, const NodeView& view, const PodRef& ref) {
  const Pod* pod = view.pods ? FindPod(*view.pods, ref) : nullptr;
  if (pod == nullptr) return fmt::format("{} is not on the node", ref.ToString());
  return First({If(!view.node.unschedulable, "an eviction from a node that was not read as cordoned"),
                If(Stays(*pod, cluster.machine.options()), fmt::format("{} is not to be evicted", ref.ToString())),
                If(pod->deletion_timestamp.has_value(), fmt::format("{} is terminating already", ref.ToString()))});
}

bool DeletesPods(const RandomCluster& cluster) {
  const auto& deletion = cluster.policy.pod_deletion;
  return cluster.machine.pod_deletion() || (deletion && !deletion->pod_selector.empty());
}

bool NeedsEvacuation(const RandomCluster& cluster) { return cluster.policy.drain || DeletesPods(cluster); }

bool DeletesOverdue(const RandomCluster& cluster) {
  const UpgradePolicy& policy = cluster.policy;
  return (policy.drain && policy.drain->on_timeout != OnTimeout::kFail) ||
         (policy.pod_deletion && policy.pod_deletion->on_timeout != OnTimeout::kFail);
}

// A pod may be deleted only if it is a driver pod on an evacuated node (I2), or if it may be evicted and the policy
// deletes pods at a timeout (I4).
std::string BrokenDeletion(const RandomCluster& cluster, const NodeView& view, const NodePlan& plan,
                           const PodRef& ref) {
  if (FindPod(view.driver_pods, ref) == nullptr) {
    return First({If(!DeletesOverdue(cluster), fmt::format("I4: {} is deleted", ref.ToString())),
                  BrokenEviction(cluster, view, ref)});
  }
  return First(
      {If(plan.to() != UpgradeState::kPodRestartRequired, "a driver pod deleted outside pod-restart-required"),
       If(!IsEvacuated(cluster, view), "I2: a driver pod deleted on a node that is not evacuated"),
       If(NeedsEvacuation(cluster) && !plan.patch, "I2: a driver pod deleted without a prior patch of the node")});
}

std::string BrokenPods(const RandomCluster& cluster, const NodeView& view, const NodePlan& plan) {
  if (plan.evict.empty() && plan.remove.empty()) return "";
  if (!After(view, plan).unschedulable) return "pods are touched on a node that is not cordoned";
  for (const PodRef& ref : plan.evict) {
    if (std::string broken = BrokenEviction(cluster, view, ref); !broken.empty()) return broken;
  }
  for (const PodRef& ref : plan.remove) {
    if (std::string broken = BrokenDeletion(cluster, view, plan, ref); !broken.empty()) return broken;
  }
  // arch-A9: while a request for an object is unanswered, no other request is sent for this object.
  for (const auto* refs : {&plan.evict, &plan.remove}) {
    for (const PodRef& ref : *refs) {
      const auto attempt = view.attempts.pods.find(ref.uid);
      if (attempt != view.attempts.pods.end() && !attempt->second.outcome) return "arch-A9: " + ref.ToString();
    }
  }
  return "";
}

// T39, T43, dep-F3: the driver is allowed to load only on an evacuated node.
std::string BrokenSafeLoad(const RandomCluster& cluster, const NodeView& view, const NodePlan& plan) {
  const std::string key = cluster.machine.identity().SafeLoadAnnotation();
  if (!plan.patch || !plan.patch->annotations.contains(key)) return "";
  return If(!IsEvacuated(cluster, view), "dep-F3: safe load on a node that is not evacuated");
}

std::string BrokenNodePlan(const RandomCluster& cluster, const NodeView& view, const NodePlan& plan) {
  const DriverIdentity& identity = cluster.machine.identity();
  return First({If(plan.uid != view.node.uid || plan.resource_version != view.node.resource_version, "another version"),
                If(!plan.patch && plan.evict.empty() && plan.remove.empty(), "a plan without anything to do"),
                If(!cluster.policy.auto_upgrade, "dep-F9: a plan although frozen"),
                If(view.attempts.patch && !view.attempts.patch->outcome, "arch-A9: the last patch is unanswered"),
                BrokenPath(view, plan, identity), BrokenPatch(view, plan, identity), BrokenEnd(view, plan, identity),
                BrokenPods(cluster, view, plan), BrokenSafeLoad(cluster, view, plan)});
}

// arch-A7: a waiting node has one gate, and a node that is done has no gate. A node that is done can still wait if it
// is unknown whether the node is up to date (dep-F15), or whether its last patch was applied (arch-A9).
std::string BrokenGates(const NodeView& view, const NodePlan* plan, const std::vector<const NodeGate*>& gates,
                        const RandomCluster& cluster) {
  if (gates.size() > 1) return "two gates";
  const std::string label = LabelOf(view.node, cluster.machine.identity().StateLabel());
  const bool moves = plan != nullptr && !plan->path.empty();
  const bool done = moves ? plan->to() == UpgradeState::kDone : label == "upgrade-done";
  if (done && gates.size() == 1) {
    const GateReason reason = gates[0]->gate.reason;
    const bool waits = !moves && (reason == GateReason::kRevisionUnknown || reason == GateReason::kUnsettled);
    return If(!waits, fmt::format("done, with gate {}", ToString(reason)));
  }
  // A node that fails, or that changes its state with EveryState, may have no gate yet. The next pass reports the gate.
  const bool ends = moves && (cluster.policy.pacing == Pacing::kEveryState || plan->to() == UpgradeState::kFailed);
  return If(!done && !ends && gates.empty(), "waits without a gate");
}

// dep-F4: the time in a stage's gate is at most the policy's longest timeout ahead, regardless of the timers on the
// node. If the timeouts are shorter, request pacing can set a time up to three minutes ahead. The wait before a retry
// has no such limit.
bool IsTooFar(const NodeGate& gate, const RandomCluster& cluster) {
  if (!gate.gate.not_before || gate.gate.reason == GateReason::kFailed) return false;
  const UpgradePolicy& policy = cluster.policy;
  absl::Duration longest = absl::Minutes(3);
  const auto consider = [&](absl::Duration timeout) {
    if (timeout != absl::InfiniteDuration()) longest = std::max(longest, timeout);
  };
  consider(*NodeRules(policy).deadlines.pod_restart);
  consider(policy.deadlines.validation);
  consider(policy.pod_deletion.value_or(PodDeletionPolicy{}).timeout);
  if (policy.wait_for_completion) consider(policy.wait_for_completion->timeout);
  if (policy.drain) consider(policy.drain->timeout);
  return *gate.gate.not_before > cluster.now + longest + absl::Seconds(60);
}

std::string BrokenGate(const NodeGate& gate, const NodePlan* plan, const RandomCluster& cluster) {
  const bool over = gate.gate.not_before && *gate.gate.not_before <= cluster.now;
  return First({If(plan != nullptr && gate.state != plan->to(), "a gate of another state"),
                If(over, "a gate whose time has passed"), If(IsTooFar(gate, cluster), "dep-F4: a gate too far ahead"),
                If(gate.gate.detail.empty(), "a gate without detail")});
}

template <typename Range>
bool IsSortedByNode(const Range& range) {
  return std::is_sorted(range.begin(), range.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
}

}  // namespace

Node After(const NodeView& view, const NodePlan& plan) {
  return plan.patch ? Patched(view.node, *plan.patch) : view.node;
}

bool IsEvacuated(const RandomCluster& cluster, const NodeView& view) {
  const UpgradePolicy& policy = cluster.policy;
  const StateMachineOptions& options = cluster.machine.options();
  const PodDeletionPolicy deletion = policy.pod_deletion.value_or(PodDeletionPolicy{});
  const bool deletes = DeletesPods(cluster);
  if (!NeedsEvacuation(cluster)) return true;
  if (!view.node.unschedulable || !view.pods) return false;
  if (deletes && !view.hook_errors.empty()) return false;
  bool left = false;     // true if a pod that must leave still exists
  bool blocked = false;  // true if a pod that must leave may not be evicted
  const auto consider = [&](const Pod& pod, bool force, bool delete_empty_dir) {
    if (Stays(pod, options)) return;
    const bool finished = pod.phase == PodPhase::kSucceeded || pod.phase == PodPhase::kFailed;
    const bool bare = std::none_of(pod.owners.begin(), pod.owners.end(), [](const auto& o) { return o.controller; });
    const bool leaves_anyway = finished || pod.deletion_timestamp.has_value();
    blocked = blocked || (!leaves_anyway && ((bare && !force) || (pod.has_empty_dir && !delete_empty_dir)));
    left = left || !IsLost(pod, view, cluster.now);
  };
  for (const Pod& pod : *view.pods) {
    const bool selected = !deletion.pod_selector.empty() && deletion.pod_selector.Matches(pod.labels);
    const bool uses = selected || view.pods_using_driver.contains(pod.ref.uid);
    if (deletes && uses) consider(pod, deletion.force, deletion.delete_empty_dir);
  }
  // T25: the result depends on the drain alone if pod deletion is off or is blocked by a pod.
  if (policy.drain && (!deletes || blocked)) {
    left = blocked = false;
    for (const Pod& pod : *view.pods) {
      if (policy.drain->pod_selector.Matches(pod.labels))
        consider(pod, policy.drain->force, policy.drain->delete_empty_dir);
    }
  }
  return !left && !blocked;
}

std::string BrokenInvariant(const RandomCluster& cluster, const Plan& plan) {
  std::map<std::string, const NodePlan*> plans;
  for (const NodePlan& node : plan.nodes) {
    if (!plans.emplace(node.node, &node).second) return node.node + ": two plans";
  }
  std::map<std::string, std::vector<const NodeGate*>> gates;
  for (const NodeGate& gate : plan.gates) gates[gate.node].push_back(&gate);
  std::size_t known = 0;
  for (const auto& view : cluster.snapshot.nodes) {
    const std::string& name = view->node.name;
    const auto found = plans.find(name);
    const NodePlan* node_plan = found == plans.end() ? nullptr : found->second;
    std::string broken = BrokenGates(*view, node_plan, gates[name], cluster);
    if (broken.empty() && !gates[name].empty()) broken = BrokenGate(*gates[name][0], node_plan, cluster);
    if (broken.empty() && node_plan != nullptr) broken = BrokenNodePlan(cluster, *view, *node_plan);
    if (!broken.empty()) return fmt::format("{}: {}", name, broken);
    known += node_plan != nullptr;
  }
  return First({If(known != plan.nodes.size(), "a plan for a node that is not there"),
                If(gates.size() != cluster.snapshot.nodes.size(), "a gate for a node that is not there"),
                If(!IsSortedByNode(plan.nodes) || !IsSortedByNode(plan.gates), "not by name"),
                If(plan.wake_at && *plan.wake_at <= cluster.now, "wakes at a time that has passed")});
}

}  // namespace driverupgrade::tests
