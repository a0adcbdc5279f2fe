/// The actions that Step has decided to take, and the reasons why nodes wait.
///
/// Defines NodePlan, PlannedEvent, NodeGate, NodeReading, Plan, NodeOutcome, Describe, FleetStatus with its NodeStatus,
/// and the counts Tally and UpgradeBudget.
///
///     Plan plan = machine.Step(snapshot, policy, now);
///     for (const NodePlan& node : plan.nodes) { /* confirm, patch, devices, evict, remove, maintenance, events */ }
///
/// A Plan is plain data: none of its actions has been carried out. Equal inputs yield equal plans, and Describe results
/// that are equal byte for byte.
#ifndef DRIVERUPGRADE_PLAN_H_
#define DRIVERUPGRADE_PLAN_H_

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/rollout_policy.h"
#include "driverupgrade/upgrade_state.h"

namespace driverupgrade {

/// Node counts, never negative. Each counts the nodes that meet a condition, so one node's contribution can be
/// subtracted and added again exactly.
struct Tally {
  int total = 0;        ///< Nodes in the snapshot; percentages are relative to this number.
  int pending = 0;      ///< In upgrade-required.
  int in_progress = 0;  ///< Started, but not completed successfully; includes failed nodes.
  int failed = 0;
  int failed_reloads = 0;  ///< Among `failed`: nodes that could not load the driver that they have.
  int done = 0;            ///< In upgrade-done, with a Ready driver pod.
  int not_ready = 0;  ///< In upgrade-done, but the driver pod is not Ready; not among `done`.
  int slots = 0;      ///< Nodes that hold a maxParallel slot.
  /// Unschedulable, not ready, about to be cordoned, about to leave the cluster, or with an unschedulable driver pod.
  int unavailable = 0;
  /// In progress, with only their devices isolated (IsolationScope).
  int devices_isolated = 0;
  /// Failed nodes by FailureClass. Nodes without a class do not count.
  std::array<int, kAllFailureClasses.size()> failed_by_class = {};
  /// Nodes by UpgradeState. A node with an unknown state label is counted only in `total` and `in_progress`.
  std::array<int, kAllUpgradeStates.size()> by_state = {};
  int InState(UpgradeState state) const { return by_state[static_cast<std::size_t>(state)]; }
  /// Returns the number of nodes in progress, without those that are stuck: failed, or with an unknown state label.
  int Moving() const;
  Tally& operator+=(const Tally& other);
  Tally& operator-=(const Tally& other);
  friend Tally operator+(Tally a, const Tally& b) { return a += b; }
  friend bool operator==(const Tally&, const Tally&) = default;
};

/// The counts that are compared with the policy's limits.
struct UpgradeBudget {
  int total = 0;
  /// nullopt: no limit.
  std::optional<int> parallel_max = std::nullopt;
  int parallel_used = 0;
  /// A limit on slots that this engine shares with other engines; nullopt: no shared limit.
  std::optional<SharedSlots> shared = std::nullopt;
  std::optional<int> unavailable_max = std::nullopt;
  int unavailable = 0;
  /// The first five unavailable nodes by name, with causes: `gpu-7 (NotReady)`. Empty without `unavailable_max`.
  std::vector<std::string> unavailable_nodes = {};
  /// Number of failed nodes at which no more nodes start; nullopt: no limit.
  std::optional<int> failures_max = std::nullopt;
  /// Failed nodes that count against `failures_max`, so without Tally::failed_reloads.
  int failed = 0;
  /// The entry of FailurePolicy::by_class that is used up, as text for messages; empty: none.
  std::string failed_class = {};
  /// Returns true if too many nodes have failed for another node to be admitted.
  bool Halted() const { return (failures_max && failed >= *failures_max) || !failed_class.empty(); }
  /// Returns the number of slots that `parallel_max` and `shared` leave free; INT_MAX without a limit.
  int ParallelFree() const;
  /// Returns how many more nodes may become unavailable; INT_MAX without a limit.
  int Headroom() const;
  friend bool operator==(const UpgradeBudget&, const UpgradeBudget&) = default;
};

/// An Event on the node.
struct PlannedEvent {
  bool warning = false;
  std::string message = {};
  friend bool operator==(const PlannedEvent&, const PlannedEvent&) = default;
};

/// The actions for one node, to be executed in the order of the fields from `confirm` on. The first action that is not
/// acknowledged cancels the rest.
struct NodePlan {
  std::string node = {};
  std::string uid = {};
  /// The version on which the decision is based: the precondition of the patch.
  std::string resource_version = {};
  UpgradeState from = UpgradeState::kUnknown;
  /// The states entered, in order; empty if the node stays in `from`.
  std::vector<UpgradeState> path = {};
  /// The reason for the last transition, or for the requests, as text for logs and Events.
  std::string reason = {};
  /// True if the plan consumes budget: with an AdmissionLedger, no request may be sent before the node has a grant for
  /// `resource_version`.
  bool needs_grant = false;

  /// The NodeMaintenance on which the other actions rely. To confirm it, the engine sends a patch without changes,
  /// which fails if the object has changed since the node was evaluated. In that case, `patch` also counts as refused
  /// (AttemptLog::PatchAnswered).
  std::optional<NodeMaintenance> confirm = std::nullopt;
  /// All changes to the node, in one write. The patch's own name, UID and version are empty; the fields above apply.
  std::optional<PatchNodeParams> patch = std::nullopt;
  /// Sent in this order.
  std::vector<DeviceCall> devices = {};
  /// Pods to evict through the Eviction API.
  std::vector<PodRef> evict = {};
  /// Pods to delete: driver pods that their DaemonSet must replace, or pods whose eviction has timed out (OnTimeout).
  std::vector<PodRef> remove = {};
  /// True if the pods in `remove` are deleted with a grace period of zero (OnTimeout::kForceDelete).
  bool force_remove = false;
  /// UIDs of the pods in `evict` that were given a device after it had been tainted.
  std::vector<std::string> late_holders = {};
  /// Number of pods, except DaemonSet pods, that keep running while the driver pods in `remove` are replaced, because
  /// only devices are isolated.
  int pods_kept = 0;
  /// Sent in this order.
  std::vector<MaintenanceCall> maintenance = {};
  /// Recorded last, best effort.
  std::vector<PlannedEvent> events = {};

  /// Returns true if there is nothing to do; events alone do not count.
  bool empty() const { return !patch && devices.empty() && evict.empty() && remove.empty() && maintenance.empty(); }
  /// Returns the state after the patch.
  UpgradeState to() const { return path.empty() ? from : path.back(); }
  friend bool operator==(const NodePlan&, const NodePlan&) = default;
};

struct NodeGate {
  std::string node = {};
  /// The state in which the node waits; if the plan patches the node, the state after the patch.
  UpgradeState state = UpgradeState::kUnknown;
  Gate gate = {};
  friend bool operator==(const NodeGate&, const NodeGate&) = default;
};

/// Data that a pass has read about one node.
struct NodeReading {
  std::string uid = {};
  std::string resource_version = {};
  /// True if the node holds a slot in its state, or in a state that an unsettled patch may have set.
  bool holds_slot = false;
  friend bool operator==(const NodeReading&, const NodeReading&) = default;
};

/// One stage of a rollout. Nodes that an administrator has excluded do not count.
struct RolloutStageStatus {
  std::string name = {};
  /// Number of nodes that the stage waits for.
  int nodes = 0;
  int under_way = 0;
  int done = 0;
  int failed = 0;
  /// Number of further nodes, which the stage does not wait for because they are not Ready or are leaving the cluster.
  int left_out = 0;
  /// `1 of 8 left out: n3, NotReady since 2026-11-26T12:00:00Z`; empty if `left_out` is zero.
  std::string why_left_out = {};
  friend bool operator==(const RolloutStageStatus&, const RolloutStageStatus&) = default;
};

/// Gang interruptions (RolloutPolicy::gangs) in the rest of a rollout, based on the known pods of the waiting nodes.
struct RolloutGangs {
  /// Number of gangs with pods on waiting nodes. Each is interrupted at least once, whatever the order of the nodes.
  int gangs = 0;
  /// Number of units. A unit consists of the waiting nodes of one gang, which start together.
  int units = 0;
  /// Number of interruptions under this policy, if gangs return to the same nodes.
  int interruptions = 0;
  /// Number of interruptions if nodes started in order of their names, as many at a time as the limits allow.
  int by_name = 0;
  /// Number of different gangs that this process has interrupted at this revision.
  int interrupted = 0;
  /// Number of interruptions by this process at this revision; equals `interrupted` if no gang was interrupted twice.
  int caused = 0;
  /// Number of interrupted gangs, keyed by how often each was interrupted (GangsInterrupted::by_interruptions).
  std::map<int, int> by_interruptions = {};
  friend bool operator==(const RolloutGangs&, const RolloutGangs&) = default;
};

/// Progress of a rollout, and the record that must be stored (ADR 0013).
struct RolloutStatus {
  /// Revision of the driver, as used in approvals; empty if it is not known.
  std::string revision = {};
  /// Time at which the rollout of this revision started; nullopt if it is not in the record.
  std::optional<absl::Time> began = std::nullopt;
  /// Stages in the order in which they open. The last element describes the nodes that no stage selects.
  std::vector<RolloutStageStatus> stages = {};
  /// Index of the last open stage: nodes in this stage and earlier stages may start.
  int open = 0;
  /// The reason why the next stage has not started; nullopt after the last stage.
  std::optional<Gate> next = std::nullopt;
  /// The reason why the rollout is halted and no node starts; nullopt if it is not halted.
  std::optional<Gate> halted = std::nullopt;
  /// The reason why no node may start now (no open window, a closed day, or too little time left); nullopt: nodes may
  /// start.
  std::optional<Gate> closed = std::nullopt;
  /// Mode of the rollback, if this rollout returns the fleet to the revision it completed last; nullopt if it does not,
  /// or if no node needs the rollback.
  std::optional<Rollback> rollback = std::nullopt;
  /// nullopt: the policy ignores gangs.
  std::optional<RolloutGangs> gangs = std::nullopt;
  /// The record, which must be stored by compare-and-set before a request that starts a node is sent; nullopt:
  /// unchanged.
  std::optional<std::string> record = std::nullopt;
  friend bool operator==(const RolloutStatus&, const RolloutStatus&) = default;
};

struct Plan {
  /// Nodes for which there is work to do, sorted by name.
  std::vector<NodePlan> nodes = {};
  /// Waiting nodes, once each, sorted by name. Unless `gates_complete`: only nodes whose gate is new or has changed
  /// since the previous plan.
  std::vector<NodeGate> gates = {};
  /// True if `gates` lists every waiting node, which is always the case after Step. A planner that evaluates only
  /// changed nodes may set it to false.
  bool gates_complete = true;
  /// Unless `gates_complete`: nodes that no longer have a gate or no longer exist, sorted by name.
  std::vector<std::string> ungated = {};
  /// True if all changed nodes were evaluated; Step always evaluates all nodes. False if an engine with a cache reached
  /// EngineOptions::nodes_per_pass: this plan starts no node, and the next plan continues with the remaining nodes. If
  /// false, `totals`, `budget` and `rollout` come from the last finished plan, or are empty if no plan has finished yet.
  bool finished = true;
  /// Counts from before this plan is carried out.
  Tally totals = {};
  UpgradeBudget budget = {};
  std::vector<Finding> findings = {};
  /// Time at which the nodes must be evaluated again even if nothing changes.
  std::optional<absl::Time> wake_at = std::nullopt;
  /// Nodes whose pods must be read before the next Step, because decisions depend on them. Sorted by name.
  std::vector<std::string> pod_interest = {};
  /// The nodes that have or need a grant, as evaluated; for the ledger (EngineOptions::ledger).
  std::vector<NodeReading> readings = {};
  /// nullopt: the policy has no rollout, or autoUpgrade is off.
  std::optional<RolloutStatus> rollout = std::nullopt;
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// The outcome of one NodePlan.
struct NodeOutcome {
  std::string node = {};
  /// The first failure, which canceled the rest of the plan. A refused eviction is not a failure.
  absl::Status status = absl::OkStatus();
  /// True if the patch was acknowledged.
  bool patched = false;
  /// Time at which the patch was acknowledged.
  absl::Time patched_at = absl::InfinitePast();
  int evictions_accepted = 0;
  int evictions_refused = 0;
  int pods_deleted = 0;
  /// Number of gangs (RolloutPolicy::gangs) that these evictions and deletions interrupted, except those that another
  /// node of the unit had already interrupted.
  int gangs_interrupted = 0;
  /// Number of evicted pods that were given a device after it had been tainted (NodePlan::late_holders).
  int late_holders_evicted = 0;
  /// NodePlan::pods_kept if a driver pod was deleted; otherwise 0.
  int pods_kept = 0;
  /// The patched node; nullptr without a patch.
  std::shared_ptr<const Node> node_after = nullptr;
};

/// The status of one node, as of the engine's last finished pass.
struct NodeStatus {
  std::string name = {};
  /// The state according to the node's state label or, if another client removed the label, its other marks.
  UpgradeState state = UpgradeState::kUnknown;
  /// Time at which the node entered the state; nullopt if no annotation contains this time.
  std::optional<absl::Time> since = std::nullopt;
  /// Revision of the driver pod; empty unless there is exactly one driver pod.
  std::string revision = {};
  /// True if the driver pod has the target revision of its DaemonSet.
  bool up_to_date = false;
  /// True if the node has a driver pod, and all its driver pods are Ready.
  bool driver_ready = false;
  /// True if the node counts against `maxUnavailable`.
  bool unavailable = false;
  /// Name of the node's stage; empty without a rollout.
  std::string stage = {};
  /// Value of the label that defines the policy's groups; empty without groups.
  std::string group = {};
  /// The reason why the node does not move; nullopt if it does not wait.
  std::optional<Gate> gate = std::nullopt;
  friend bool operator==(const NodeStatus&, const NodeStatus&) = default;
};

/// The status of a rollout for pages and reports, as of the engine's last finished pass (UpgradeEngine::Status).
struct FleetStatus {
  /// Settings of the policy.
  bool auto_upgrade = false;
  bool paused = false;
  /// Counts from before the pass.
  Tally totals = {};
  UpgradeBudget budget = {};
  /// nullopt: the policy has no rollout, or autoUpgrade is off.
  std::optional<RolloutStatus> rollout = std::nullopt;
  std::vector<Finding> findings = {};
  /// Sorted by name.
  std::vector<NodeStatus> nodes = {};
};

/// Returns true if the rollout has ended: there is nothing to do, all driver pods of nodes in upgrade-done are Ready,
/// and every gate has GateTraits::ends_rollout. Needs a plan with all gates, such as the result of
/// UpgradeEngine::Everything.
bool IsOver(const Plan& everything);

/// Returns one line of text, for logs and tests:
/// `n1: drain-required -> pod-restart-required (drained); delete drivers/driver-7`.
std::string Describe(const NodePlan& plan);
/// Returns one line of text for each node, gate and finding, and one for the wake-up time.
std::string Describe(const Plan& plan);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_PLAN_H_
