#include "scenarios/scenario_invariants.h"

#include <algorithm>
#include <set>

#include "driverupgrade/driver_identity.h"
#include "fmt/format.h"
#include "model/node_marks.h"
#include "scenarios/scenario_file.h"
#include "testing/transition_table.h"

namespace driverupgrade::tests {
namespace {

[[noreturn]] void Broken(std::string_view what, const std::string& object) {
  throw ScenarioError(fmt::format("invariant broken: {}: {}", what, object));
}

const NodePlan* PlanOf(const PassRecord& pass, const std::string& node) {
  const auto found = std::find_if(pass.plan.nodes.begin(), pass.plan.nodes.end(),
                                  [&](const NodePlan& plan) { return plan.node == node; });
  return found == pass.plan.nodes.end() ? nullptr : &*found;
}

void CheckPath(const NodePlan& plan) {
  UpgradeState from = plan.from;
  for (const UpgradeState to : plan.path) {
    if (to == UpgradeState::kUnknown) return;  // a release, which is possible in any state
    if (!IsLegalEdge(from, to))
      Broken(fmt::format("{} -> {} is no transition", ToString(from), ToString(to)), plan.node);
    from = to;
  }
}

bool IsDriverPod(const Pod& pod, const PassRecord& pass) {
  const auto app = pod.labels.find("app");
  return pod.ref.ns == pass.driver_ns && !NodeOf(pod).empty() && app != pod.labels.end() && app->second == "driver";
}

bool DriverRuns(const PassRecord& pass, const std::string& node) {
  int pods = 0;
  for (const Pod& pod : pass.pods) {
    if (!IsDriverPod(pod, pass) || NodeOf(pod) != node) continue;
    ++pods;
    if (!IsReady(pod) || pod.deletion_timestamp) return false;
  }
  return pods > 0;
}

// Returns the state in the node's label. Without a label, uses the other marks in the same way as the decoder does.
std::optional<UpgradeState> StateByMarks(const Node& node, const PassRecord& pass) {
  const std::optional<UpgradeState> state =
      internal::DecodeMarks(node, pass.identity, DriverRuns(pass, node.name)).State();
  const bool is_maintained =
      state == UpgradeState::kUnknown && node.annotations.contains(pass.identity.RequestorModeAnnotation());
  return is_maintained ? UpgradeState::kNodeMaintenanceRequired : state;
}

// Returns true if the engine will write the node's label later, because another client keeps removing it.
bool WaitsForLabel(const PassRecord& pass, const std::string& node) {
  return std::any_of(pass.plan.findings.begin(), pass.plan.findings.end(), [&](const Finding& finding) {
    return finding.code == FindingCode::kLabelTakenAway && finding.node == node;
  });
}

void CheckPlansAndGates(const PassRecord& pass) {
  std::map<std::string, int> gates;
  for (const NodeGate& gate : pass.plan.gates) {
    if (++gates[gate.node] > 1) Broken("two gates", gate.node);
  }
  std::set<std::string> planned;
  for (const NodePlan& plan : pass.plan.nodes) {
    if (!planned.insert(plan.node).second) Broken("two plans", plan.node);
    CheckPath(plan);
  }
  for (const std::string& name : ManagedNodes(pass)) {
    const auto node = pass.nodes.find(name);
    if (node == pass.nodes.end()) continue;
    const NodePlan* plan = PlanOf(pass, name);
    const bool moves = plan != nullptr && !plan->path.empty();
    const bool done = StateByMarks(node->second, pass) == UpgradeState::kDone || WaitsForLabel(pass, name);
    if (!moves && !done && gates[name] != 1) Broken("waits without a gate", name);
    if (moves && plan->to() == UpgradeState::kDone && gates[name] != 0) Broken("done with a gate", name);
  }
}

// Returns true if our patches are allowed to change the key.
bool IsOurs(const std::string& key, const DriverIdentity& identity) {
  return key == kCordonedByAnnotation || key.starts_with(identity.Name() + "-driver-upgrade");
}

void CheckKeys(const StringMap& before, const StringMap& after, const DriverIdentity& identity,
               const std::string& node) {
  std::set<std::pair<std::string, std::string>> changed;
  std::set_symmetric_difference(before.begin(), before.end(), after.begin(), after.end(),
                                std::inserter(changed, changed.end()));
  for (const auto& [key, value] : changed) {
    if (!IsOurs(key, identity)) Broken("I6: we changed a key that is not ours", node + ", " + key);
  }
}

// Returns the annotations that our upgrade must remove from a node when the upgrade finishes.
std::vector<std::string> PassingAnnotations(const DriverIdentity& identity) {
  return {identity.StageAnnotation(),
          identity.FailedRevisionAnnotation(),
          identity.FailuresAnnotation(),
          identity.FailureCauseAnnotation(),
          identity.WaitingForAnnotation(),
          identity.RestartPodAnnotation(),
          identity.InitiallyUnschedulableAnnotation(),
          identity.PodCompletionStartAnnotation(),
          identity.ValidationStartAnnotation(),
          identity.IsolatedDevicesAnnotation()};
}

void CheckEnd(const PassRecord& pass, const NodeCommit& commit) {
  const DriverIdentity& identity = pass.identity;
  const std::string& name = commit.after.name;
  const auto from = StateByMarks(commit.before, pass);
  // Until the upgrade starts, a name in the cordon set takes precedence over the annotation, because the Go library
  // also writes the annotation for our own cordons.
  const bool decided =
      !from || IsInProgress(*from) || !commit.before.annotations.contains(std::string(kCordonedByAnnotation));
  if (decided && commit.before.annotations.contains(identity.InitiallyUnschedulableAnnotation()) &&
      commit.before.unschedulable && !commit.after.unschedulable) {
    Broken("dep-F7: an administrator's cordon was lifted", name);
  }
  if (StateByMarks(commit.after, pass) != UpgradeState::kDone) return;
  if (!commit.before.unschedulable && commit.after.unschedulable) Broken("dep-F7: done, and cordoned by us", name);
  if (from == UpgradeState::kUnknown) return;
  for (const std::string& key : PassingAnnotations(identity)) {
    if (commit.after.annotations.contains(key)) Broken("dep-F6: left behind on a node that is done", name + ", " + key);
  }
}

void CheckCommit(const PassRecord& pass, const NodeCommit& commit) {
  const std::string& name = commit.after.name;
  const NodePlan* plan = PlanOf(pass, name);
  if (plan == nullptr || !plan->patch) Broken("a node was patched without a plan", name);
  CheckKeys(commit.before.labels, commit.after.labels, pass.identity, name);
  CheckKeys(commit.before.annotations, commit.after.annotations, pass.identity, name);
  if (commit.before.ready != commit.after.ready || commit.before.uid != commit.after.uid) {
    Broken("I6: a patch changed more than labels, annotations and the cordon", name);
  }
  const auto from = StateByMarks(commit.before, pass);
  const auto to = StateByMarks(commit.after, pass);
  // Without a label, the driver pods also influence the state in which the node continues.
  const bool has_label = internal::HasState(commit.before, pass.identity);
  if (plan->path.empty() && (from == to || !has_label)) return;
  if ((has_label && from != plan->from) || to != plan->to()) Broken("the commit is not the plan's transition", name);
  CheckEnd(pass, commit);
}

// Returns true if the policy allows the deletion of pods that could not be evicted in time.
bool MayDeletePods(const UpgradePolicy& policy) {
  return (policy.drain && policy.drain->on_timeout != OnTimeout::kFail) ||
         (policy.pod_deletion && policy.pod_deletion->on_timeout != OnTimeout::kFail);
}

// Returns true if only the node's devices are isolated.
bool IsIsolated(const Node& node, const DriverIdentity& identity) {
  return node.annotations.contains(identity.IsolatedDevicesAnnotation());
}

void CheckPodEffects(const PassRecord& pass) {
  for (const NodePlan& plan : pass.plan.nodes) {
    if (plan.evict.empty() && plan.remove.empty()) continue;
    const auto node = pass.nodes.find(plan.node);
    if (node == pass.nodes.end()) Broken("pods of a node that does not exist", plan.node);
    if (!IsInProgress(plan.to())) Broken("pods are touched on a node that is not being upgraded", plan.node);
    // arch-A12: a pod may be evicted only if the node was read with its cordon. A driver pod may be deleted once the
    // patch that cordons the node has been acknowledged.
    const bool cordons = plan.evict.empty() && plan.patch && plan.patch->unschedulable == true;
    const bool is_isolated = IsIsolated(node->second, pass.identity);
    if (!node->second.unschedulable && !is_isolated && !cordons) {
      Broken("pods are touched on a node that is not cordoned", plan.node);
    }
    const auto find = [&](const PodRef& ref) -> const Pod& {
      for (const Pod& pod : pass.pods) {
        if (pod.ref == ref && pod.node_name == plan.node) return pod;
      }
      Broken("a pod that is not on the node", fmt::format("{}, {}", plan.node, ref.ToString()));
    };
    for (const PodRef& ref : plan.evict) {
      const Pod& pod = find(ref);
      if (pod.mirror || (IsDaemonSetPod(pod) && !IsFinished(pod))) Broken("not to be evicted", ref.ToString());
      if (is_isolated && pod.resource_claims.empty())
        Broken("A-9: it claims no device, but is evicted", ref.ToString());
    }
    for (const PodRef& ref : plan.remove) {
      if (find(ref).ref.ns != pass.driver_ns && !MayDeletePods(pass.policy)) {
        Broken("not a driver pod, but deleted", ref.ToString());
      }
    }
  }
}

// Returns true for states in which an in-place upgrade keeps the node cordoned.
bool IsHeldCordoned(UpgradeState state) {
  static const std::set<UpgradeState> kStates = {UpgradeState::kCordonRequired,      UpgradeState::kWaitForJobsRequired,
                                                 UpgradeState::kPodDeletionRequired, UpgradeState::kDrainRequired,
                                                 UpgradeState::kPodRestartRequired,  UpgradeState::kValidationRequired};
  return kStates.contains(state);
}

// Returns true if the node could not be evacuated and has returned to service with its old driver.
bool IsGivenBack(const Node& node, const DriverIdentity& identity) {
  const auto failure = node.annotations.find(identity.FailureClassAnnotation());
  const auto names = node.annotations.find(std::string(kCordonedByAnnotation));
  const bool named = names != node.annotations.end() && names->second.find(identity.Name()) != std::string::npos;
  return failure != node.annotations.end() && failure->second == "DrainBlocked" && !named;
}

// dep-F14: returns true if the node's labels and annotations show that it holds a slot.
bool HoldsSlot(const Node& node, const PassRecord& pass) {
  const auto state = StateByMarks(node, pass);
  if (state && !IsInProgress(*state)) return false;
  // A node that an administrator uncordoned in the middle of its upgrade is cordoned again under our name.
  const bool kept = node.unschedulable || !state || !IsHeldCordoned(*state);
  const bool administrators = kept && node.annotations.contains(pass.identity.InitiallyUnschedulableAnnotation());
  if (pass.policy.cordoned_nodes == CordonedNodes::kProceed && administrators) return false;
  const bool no_slot = pass.policy.failure_policy || IsGivenBack(node, pass.identity);
  if (state == UpgradeState::kFailed && no_slot) return false;
  if (state != UpgradeState::kUncordonRequired || !node.unschedulable) return true;
  return std::none_of(node.labels.begin(), node.labels.end(), [&](const auto& label) {
    return label.first.ends_with("-driver-upgrade-state") && label.first != pass.identity.StateLabel();
  });
}

// Returns the number of slots in use. A group that starts together holds one slot.
int CountSlots(const std::map<std::string, Node>& nodes, const PassRecord& pass) {
  const std::optional<RolloutPolicy>& rollout = pass.policy.rollout;
  const bool together = rollout && rollout->groups && rollout->groups->mode == GroupMode::kTogether;
  std::set<std::string> units;
  for (const auto& [name, node] : nodes) {
    if (!HoldsSlot(node, pass)) continue;
    const auto label = together ? node.labels.find(rollout->groups->by) : node.labels.end();
    units.insert(label == node.labels.end() ? name : "=" + label->second);
  }
  return static_cast<int>(units.size());
}

// I1: no start exceeds the budgets. The check counts after every commit, so it also finds a violation that lasts
// only for part of the pass.
void CheckBudgets(const PassRecord& pass) {
  std::map<std::string, Node> nodes;
  for (const std::string& name : ManagedNodes(pass)) {
    if (const auto node = pass.nodes.find(name); node != pass.nodes.end()) nodes.insert(*node);
  }
  const int total = static_cast<int>(nodes.size());
  for (const NodeCommit& commit : pass.commits) {
    nodes[commit.after.name] = commit.after;
    const auto count = [&](auto predicate) {
      return static_cast<int>(
          std::count_if(nodes.begin(), nodes.end(), [&](const auto& n) { return predicate(n.second); }));
    };
    // In requestor mode the maintenance operator enforces the budgets (T10).
    const bool starts = !HoldsSlot(commit.before, pass) && HoldsSlot(commit.after, pass) &&
                        StateByMarks(commit.after, pass) != UpgradeState::kNodeMaintenanceRequired;
    const int slots = CountSlots(nodes, pass);
    if (starts && pass.policy.max_parallel && slots > *pass.policy.max_parallel) {
      Broken(fmt::format("I1: {} nodes are in progress", slots), commit.after.name);
    }
    const bool leaves = !commit.before.unschedulable && commit.after.unschedulable && commit.before.ready;
    const auto from = StateByMarks(commit.before, pass);
    const int unavailable = count([](const Node& node) { return node.unschedulable || !node.ready; });
    if (leaves && starts && from && !IsInProgress(*from) && pass.policy.max_unavailable &&
        unavailable > ScaledLimit(*pass.policy.max_unavailable, total)) {
      Broken(fmt::format("I1: {} of {} nodes are unavailable", unavailable, total), commit.after.name);
    }
  }
}

// dep-F18: checks that the totals match the nodes' labels.
void CheckTotals(const PassRecord& pass) {
  const Tally& totals = pass.plan.totals;
  Tally labels;
  for (const std::string& name : ManagedNodes(pass)) {
    const auto node = pass.nodes.find(name);
    if (node == pass.nodes.end()) continue;
    const auto state = StateByMarks(node->second, pass);
    ++labels.total;
    labels.pending += state == UpgradeState::kUpgradeRequired;
    labels.in_progress += !state || IsInProgress(*state);
    labels.failed += state == UpgradeState::kFailed;
    labels.done += state == UpgradeState::kDone;
  }
  if (totals.total != labels.total || totals.pending != labels.pending || totals.failed != labels.failed ||
      totals.in_progress != labels.in_progress || totals.done + totals.not_ready != labels.done) {
    Broken("dep-F18: the totals are not what the labels say", fmt::format("{} nodes", labels.total));
  }
  if (totals.slots < 0 || totals.slots > totals.total || totals.unavailable < 0) {
    Broken("dep-F18: a total that cannot be", fmt::format("{} slots of {} nodes", totals.slots, totals.total));
  }
}

}  // namespace

std::optional<UpgradeState> StateOf(const Node& node, const DriverIdentity& identity) {
  const auto label = node.labels.find(identity.StateLabel());
  return label == node.labels.end() ? UpgradeState::kUnknown : ParseUpgradeState(label->second);
}

std::vector<std::string> ManagedNodes(const PassRecord& pass) {
  std::set<std::string> names;
  for (const auto& [name, node] : pass.nodes) {
    if (internal::IsMarked(node, pass.identity)) names.insert(name);
  }
  for (const Pod& pod : pass.pods) {
    if (IsDriverPod(pod, pass)) names.insert(NodeOf(pod));
  }
  return {names.begin(), names.end()};
}

void CheckInvariants(const PassRecord& pass) {
  CheckPlansAndGates(pass);
  for (const NodeCommit& commit : pass.commits) CheckCommit(pass, commit);
  CheckPodEffects(pass);
  CheckBudgets(pass);
  CheckTotals(pass);
}

void CheckReleased(const PassRecord& pass) {
  for (const NodePlan& plan : pass.plan.nodes) {
    if (!plan.evict.empty() || !plan.remove.empty()) Broken("dep-F9: pods are touched by a release", plan.node);
  }
  for (const NodeCommit& commit : pass.commits) {
    const std::string& name = commit.after.name;
    CheckKeys(commit.before.labels, commit.after.labels, pass.identity, name);
    CheckKeys(commit.before.annotations, commit.after.annotations, pass.identity, name);
    if (commit.after.labels.contains(pass.identity.StateLabel())) Broken("dep-F9: the label is left behind", name);
    for (const std::string& key : PassingAnnotations(pass.identity)) {
      if (commit.after.annotations.contains(key)) Broken("dep-F9: left behind", name + ", " + key);
    }
    if (commit.before.unschedulable == commit.after.unschedulable) continue;
    if (commit.after.unschedulable) Broken("dep-F9: a release cordons", name);
    if (commit.before.annotations.contains(pass.identity.InitiallyUnschedulableAnnotation()) ||
        commit.after.annotations.contains(std::string(kCordonedByAnnotation))) {
      Broken("dep-F9: somebody else's cordon was lifted", name);
    }
  }
}

}  // namespace driverupgrade::tests
