// Tests that rollouts end as required: I12 (idempotence), L1, L2, L5, arch-A7.
#include <algorithm>

#include "property/closed_model.h"
#include "property/naive_budget.h"
#include "property/plan_invariants.h"
#include "property/seeds.h"

namespace driverupgrade::tests {
namespace {

bool ChangesNode(const NodePlan& plan) { return plan.patch && !plan.patch->empty(); }

// Returns the cluster after the patches of `plan`, without any other changes.
RandomCluster WithPatches(RandomCluster cluster, const Plan& plan) {
  for (auto& view : cluster.snapshot.nodes) {
    for (const NodePlan& node : plan.nodes) {
      if (node.node != view->node.name || !ChangesNode(node)) continue;
      NodeView patched = *view;
      patched.node = After(*view, node);
      // The prefix makes a decimal version newer. A version that is not decimal counts as newer because it differs.
      patched.node.resource_version = "1" + patched.node.resource_version;
      view = std::make_shared<const NodeView>(std::move(patched));
    }
  }
  return cluster;
}

bool HasPatch(const Plan& plan) { return std::any_of(plan.nodes.begin(), plan.nodes.end(), ChangesNode); }

TEST_CASE("I12: patches alone soon lead to a cluster that needs no patch") {
  // The longest path leads from upgrade-failed to upgrade-done with EveryState: eleven states, and the wait for a slot.
  constexpr int kRoundsMax = 40;
  ForEachSeed([](const RandomCluster& cluster) -> std::string {
    RandomCluster patched = cluster;
    for (int round = 0; round < kRoundsMax; ++round) {
      const Plan plan = patched.Step();
      if (std::string broken = BrokenInvariant(patched, plan); !broken.empty()) return broken;
      if (!HasPatch(plan)) return patched.Step() == plan ? "" : "the second step says something else";
      patched = WithPatches(std::move(patched), plan);
    }
    return "patches for ever: " + Describe(patched.Step());
  });
}

// Returns the evacuation timeout of the state in which the node waits (T26, T32, dep-F8).
absl::Duration EvacuationTimeout(const RandomCluster& cluster, UpgradeState state) {
  const UpgradePolicy& policy = cluster.policy;
  const PodDeletionPolicy deletion = policy.pod_deletion.value_or(PodDeletionPolicy{});
  const DrainPolicy drain = policy.drain.value_or(DrainPolicy{});
  const bool deletes = cluster.machine.pod_deletion() || !deletion.pod_selector.empty();
  return deletes && state != UpgradeState::kDrainRequired ? deletion.timeout : drain.timeout;
}

bool EvacuatesForEver(const RandomCluster& cluster, const NodeGate& gate) {
  return EvacuationTimeout(cluster, gate.state) == absl::InfiniteDuration();
}

bool RetriesAreUsedUp(const RandomCluster& cluster, const NodeView& view) {
  const auto failures = view.node.annotations.find(cluster.machine.identity().FailuresAnnotation());
  if (failures == view.node.annotations.end()) return false;
  return std::stoi(failures->second) > cluster.policy.retry.max_attempts;
}

// Returns whether another driver's label shows an upgrade in progress. If another client has emptied this label, the
// driver's timer decides (W1).
bool AnotherDriverIsAtWork(const NodeView& view, const DriverIdentity& identity) {
  constexpr std::string_view kState = "-state";
  return std::any_of(view.node.labels.begin(), view.node.labels.end(), [&](const auto& label) {
    const auto& [key, state] = label;
    if (!key.ends_with("-driver-upgrade-state") || key == identity.StateLabel()) return false;
    if (!state.empty()) return state != "upgrade-done";
    return view.node.annotations.contains(key.substr(0, key.size() - kState.size()) + ".stage");
  });
}

// Returns whether an annotation shows that OpenShift's Machine Config Operator or the SR-IOV network operator is working
// on the node. The model does not contain these operators, so their work never ends.
bool AnotherProgramIsAtWork(const Node& node) {
  const auto state = node.annotations.find("machineconfiguration.openshift.io/state");
  return node.annotations.contains("sriovnetwork.openshift.io/state") ||
         (state != node.annotations.end() && state->second != "Done");
}

// Returns whether a node can stay at this gate indefinitely although everything else makes progress, because only an
// administrator or another controller can open the gate.
bool MayWaitForEver(const ClosedModel& model, const NodeView& view, const NodeGate& gate) {
  const RandomCluster& cluster = model.last();
  const UpgradePolicy& policy = cluster.policy;
  const UpgradeBudget& budget = model.plan().budget;
  const bool restart_for_ever =
      gate.state != UpgradeState::kPodRestartRequired || policy.deadlines.pod_restart == absl::InfiniteDuration();
  switch (gate.gate.reason) {
    case GateReason::kMaxParallel: return budget.ParallelFree() == 0;
    case GateReason::kMaxUnavailable: return budget.Headroom() == 0;
    case GateReason::kMaxFailures: return budget.Halted();
    case GateReason::kPaused: return policy.paused;
    case GateReason::kHalted:
    case GateReason::kWindow:
    case GateReason::kNoWindow:
    case GateReason::kStage:
    case GateReason::kSoak:
    case GateReason::kApproval:
    case GateReason::kGroup:
    case GateReason::kGangRuns:
    case GateReason::kDevicesTainted:
    case GateReason::kDevicesUnfit:
    case GateReason::kDevicesInUse:
    case GateReason::kDevicesMissing:
    case GateReason::kLedger: return false;  // the model does not have these gates
    case GateReason::kFrozen: return !policy.auto_upgrade;
    case GateReason::kCordoned: return view.node.unschedulable && policy.cordoned_nodes == CordonedNodes::kIgnore;
    case GateReason::kOtherDriver:
      return AnotherDriverIsAtWork(view, cluster.machine.identity()) || AnotherProgramIsAtWork(view.node);
    case GateReason::kSkipLabel:
    case GateReason::kUnknownState:
    case GateReason::kUnhandledState:
    case GateReason::kMaintenance: return true;
    case GateReason::kNodeNotReady: return !view.node.ready || AnotherProgramIsAtWork(view.node);
    case GateReason::kNodeTainted: return !view.node.taints.empty();
    case GateReason::kNodeLeaves:
      return view.node.deletion_timestamp ||
             std::any_of(view.node.taints.begin(), view.node.taints.end(),
                         [](const Taint& taint) { return taint.effect == "NoSchedule"; });
    case GateReason::kMachineConfig:  // another controller must open this gate
      return view.node.annotations.contains("machineconfiguration.openshift.io/state");
    case GateReason::kUnsettled:
    case GateReason::kUnreadable:
    case GateReason::kPodsUnknown: return false;  // the model always responds, and reads the pods
    case GateReason::kRevisionUnknown:
    case GateReason::kDriverPodMissing:
    case GateReason::kDriverPodTerminating:
    case GateReason::kDriverPodNotReady: return restart_for_ever;
    case GateReason::kJobs: return policy.wait_for_completion->timeout == absl::InfiniteDuration();
    case GateReason::kPodsTerminating:
    case GateReason::kDisruptionBudget:
    case GateReason::kSeveralBudgets:
    case GateReason::kEvictionRefused:
    case GateReason::kUndeletablePods:
    case GateReason::kHook: return EvacuatesForEver(cluster, gate);
    case GateReason::kValidation:
      // Without a label there is no timer: the node is not done before it is validated (W1).
      return policy.deadlines.validation == absl::InfiniteDuration() || gate.state == UpgradeState::kUnknown;
    case GateReason::kSafeLoad: return gate.state == UpgradeState::kFailed;
    case GateReason::kFailed: return RetriesAreUsedUp(cluster, view);
  }
  return false;
}

const NodeView* Find(const ClusterSnapshot& snapshot, const std::string& name) {
  for (const auto& view : snapshot.nodes) {
    if (view->node.name == name) return view.get();
  }
  return nullptr;
}

TEST_CASE("L1, L5: a rollout ends with every node done, or waiting for an administrator or another controller") {
  ForEachSeed([](const RandomCluster& cluster) -> std::string {
    ClosedModel model(cluster);
    if (std::string broken = model.Settle(); !broken.empty()) return broken;
    for (const NodeGate& gate : model.plan().gates) {
      const NodeView* view = Find(model.last().snapshot, gate.node);
      if (view == nullptr || MayWaitForEver(model, *view, gate)) continue;
      return fmt::format("{} waits for ever at {}\n{}", gate.node, ToString(gate.gate.reason), Describe(model.plan()));
    }
    return "";
  });
}

// Returns the state in which the node starts. An invalid state label counts as in progress.
UpgradeState BeginsIn(const NodeView& view, const DriverIdentity& identity) {
  const auto label = view.node.labels.find(identity.StateLabel());
  const std::string value = label == view.node.labels.end() ? "" : label->second;
  return ParseUpgradeState(value).value_or(UpgradeState::kCordonRequired);
}

// Returns whether nothing on the node can make its upgrade fail permanently.
bool IsHealthy(const ClosedModel& model, const RandomCluster& start, const NodeView& view) {
  const Workloads& workloads = start.workloads.at(view.node.name);
  const auto harmless = [&](const Pod& pod) {
    return model.FateOf(pod.ref) == PodFate::kLeaves && !pod.owners.empty() && !pod.has_empty_dir;
  };
  const auto fate = model.DriverFateOf(view.node.name);
  const auto known = [&](const Pod& pod) {
    if (model.FateOf(pod.ref) != PodFate::kLeaves) return false;
    if (pod.owners.empty()) return true;
    const auto found = start.snapshot.driver->daemon_sets.find(pod.owners[0].uid);
    return found != start.snapshot.driver->daemon_sets.end() && found->second.wanted_revision &&
           !RevisionHash(pod).empty();
  };
  const auto owner = start.snapshot.driver->daemon_sets.find(kDaemonSetUid);
  return view.node.ready && fate == DriverFate::kReady && workloads.hook_errors.empty() &&
         owner != start.snapshot.driver->daemon_sets.end() && owner->second.wanted_revision &&
         std::all_of(view.driver_pods.begin(), view.driver_pods.end(), known) &&
         std::all_of(workloads.pods.begin(), workloads.pods.end(), harmless);
}

// Returns whether the timeouts are long enough for grace periods, failed writes, and retried patches, and nodes are not
// validated.
bool IsPatient(const RandomCluster& cluster) {
  const UpgradePolicy& policy = cluster.policy;
  const absl::Duration enough = absl::Seconds(300);
  return (!policy.drain || policy.drain->timeout >= enough) &&
         (!policy.pod_deletion || policy.pod_deletion->timeout >= enough) && policy.deadlines.pod_restart >= enough &&
         !cluster.machine.options().validation_selector;
}

TEST_CASE("L1: a healthy node does not end in upgrade-failed, whatever happens to the other nodes") {
  ForEachSeed([](const RandomCluster& cluster) -> std::string {
    if (!IsPatient(cluster)) return "";
    ClosedModel model(cluster);
    if (std::string broken = model.Settle(); !broken.empty()) return broken;
    const std::string key = cluster.machine.identity().StateLabel();
    for (const auto& view : cluster.snapshot.nodes) {
      const NodeView* end = Find(model.last().snapshot, view->node.name);
      if (end == nullptr || !end->node.labels.contains(key) || end->node.labels.at(key) != "upgrade-failed") continue;
      // A node that starts in the middle of an upgrade may have an expired timer (T26, T32, dep-F4).
      const bool begins = !IsInProgress(BeginsIn(*view, cluster.machine.identity()));
      if (!cluster.policy.auto_upgrade || !begins || !IsHealthy(model, cluster, *view)) continue;
      return view->node.name + " failed\n" + Describe(model.plan());
    }
    return "";
  });
}

bool IsDone(const Node& node, const DriverIdentity& identity) {
  const auto label = node.labels.find(identity.StateLabel());
  return label != node.labels.end() && label->second == "upgrade-done";
}

// Returns whether the node's initial cordon must stay. In the middle of an upgrade, the initial-state annotation
// decides. If this annotation contradicts the cordon set, the cordon set takes precedence (dep-F7).
bool IsAdministratorsNode(const NodeView& view, const DriverIdentity& identity) {
  if (!view.node.unschedulable || !IsAdministratorsCordon(view, identity)) return false;
  if (!IsInProgress(BeginsIn(view, identity))) return true;
  return view.node.annotations.contains(identity.InitiallyUnschedulableAnnotation()) &&
         !view.node.annotations.contains(std::string(kCordonedByAnnotation));
}

TEST_CASE("I3, L2: no cordon of ours outlives an upgrade, and no administrator's cordon is lifted") {
  ForEachSeed([](const RandomCluster& cluster) -> std::string {
    const DriverIdentity& identity = cluster.machine.identity();
    ClosedModel model(cluster);
    if (std::string broken = model.Settle(); !broken.empty()) return broken;
    for (const auto& view : cluster.snapshot.nodes) {
      const NodeView* end = Find(model.last().snapshot, view->node.name);
      if (end == nullptr || !IsDone(end->node, identity)) continue;
      // If the cordon set names other drivers, the driver that finishes last lifts the cordon (dep-F7).
      const bool shared = end->node.annotations.contains(std::string(kCordonedByAnnotation));
      if (!view->node.unschedulable && end->node.unschedulable && !shared)
        return view->node.name + ": our cordon is left";
      if (IsAdministratorsNode(*view, identity) && !end->node.unschedulable) {
        return view->node.name + ": an administrator's cordon was lifted";
      }
    }
    return "";
  });
}

}  // namespace
}  // namespace driverupgrade::tests
