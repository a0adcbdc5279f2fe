/// What Step says is to be done now, and what waits for what.
///
/// Defines NodePlan, PlannedEvent, NodeGate, NodeReading, Plan, NodeOutcome, Describe, FleetStatus with its NodeStatus, and the
/// counts Tally and UpgradeBudget.
///
///     Plan plan = machine.Step(snapshot, policy, now);
///     for (const NodePlan& node : plan.nodes) { /* confirm, patch, devices, evict, remove, maintenance, events */ }
///
/// A Plan is data; nothing has happened yet. Equal inputs give equal plans and equal Describe texts, byte for byte.
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

/// Counts over nodes. They are sums by predicate, so that adding and subtracting one node's share keeps them exact, and they
/// are never negative.
struct Tally {
  int total = 0;        ///< Nodes in the snapshot: the base of percentages.
  int pending = 0;      ///< In upgrade-required.
  int in_progress = 0;  ///< Begun and not ended well; failed nodes are among them.
  int failed = 0;
  int done = 0;       ///< In upgrade-done, with a Ready driver pod.
  int not_ready = 0;  ///< In upgrade-done, but the driver pod is not Ready; not among `done`.
  int slots = 0;      ///< Nodes that hold a maxParallel slot.
  /// Unschedulable, not ready, about to be cordoned or to leave the cluster, or with a driver pod that cannot be
  /// scheduled.
  int unavailable = 0;
  /// Failed nodes by FailureClass, of those that carry one.
  std::array<int, kAllFailureClasses.size()> failed_by_class = {};
  /// By UpgradeState. A node whose label is no state is in none of them; it is in `total` and `in_progress`.
  std::array<int, kAllUpgradeStates.size()> by_state = {};
  int InState(UpgradeState state) const { return by_state[static_cast<std::size_t>(state)]; }
  /// In progress and not stuck, as nodes are that failed or whose label is no state.
  int Moving() const;
  Tally& operator+=(const Tally& other);
  Tally& operator-=(const Tally& other);
  friend Tally operator+(Tally a, const Tally& b) { return a += b; }
  friend bool operator==(const Tally&, const Tally&) = default;
};

/// The counts compared with the limits of the policy.
struct UpgradeBudget {
  int total = 0;
  /// nullopt: no limit.
  std::optional<int> parallel_max = std::nullopt;
  int parallel_used = 0;
  /// A limit on the same slots that other engines share; nullopt: none.
  std::optional<SharedSlots> shared = std::nullopt;
  std::optional<int> unavailable_max = std::nullopt;
  int unavailable = 0;
  /// The first five unavailable nodes by name, each with the cause: `gpu-7 (NotReady)`. Empty without `unavailable_max`.
  std::vector<std::string> unavailable_nodes = {};
  /// Failed nodes at which no further node starts; nullopt: no limit.
  std::optional<int> failures_max = std::nullopt;
  int failed = 0;
  /// Which of FailurePolicy::by_class is used up, for a person; empty: none.
  std::string failed_class = {};
  /// Whether so many nodes have failed that nobody is admitted.
  bool Halted() const { return (failures_max && failed >= *failures_max) || !failed_class.empty(); }
  /// Slots left by both limits; INT_MAX without a limit.
  int ParallelFree() const;
  /// How many more nodes may become unavailable; INT_MAX without a limit.
  int Headroom() const;
  friend bool operator==(const UpgradeBudget&, const UpgradeBudget&) = default;
};

/// An Event on the node.
struct PlannedEvent {
  bool warning = false;
  std::string message = {};
  friend bool operator==(const PlannedEvent&, const PlannedEvent&) = default;
};

/// What to do for one node. Do it in the order of the fields from `confirm` on; what is not acknowledged drops
/// the rest.
struct NodePlan {
  std::string node = {};
  std::string uid = {};
  /// The version that was judged: precondition of the patch.
  std::string resource_version = {};
  UpgradeState from = UpgradeState::kUnknown;
  /// The states entered, in order; empty if the node stays in `from`.
  std::vector<UpgradeState> path = {};
  /// Why, for a person: the reason of the last transition, or of the requests.
  std::string reason = {};
  /// It takes of the budgets: with an AdmissionLedger nothing of it may be sent before the node has a grant for
  /// `resource_version`.
  bool needs_grant = false;

  /// The NodeMaintenance that the rest relies on: it is patched without a change, which is refused if it is another
  /// than was judged. Then the patch counts as answered, too: refused (AttemptLog::PatchAnswered).
  std::optional<NodeMaintenance> confirm = std::nullopt;
  /// One write with everything that changes on the node. Its name, UID and version are those above: here they are empty.
  std::optional<PatchNodeParams> patch = std::nullopt;
  /// In this order.
  std::vector<DeviceCall> devices = {};
  /// Pods to evict through the Eviction API.
  std::vector<PodRef> evict = {};
  /// Pods to delete: driver pods, so that their DaemonSet replaces them; or pods whose time for an eviction has ended
  /// (OnTimeout).
  std::vector<PodRef> remove = {};
  /// True: these pods are deleted with grace period zero (OnTimeout::kForceDelete).
  bool force_remove = false;
  /// In this order.
  std::vector<MaintenanceCall> maintenance = {};
  /// Best effort, after all else.
  std::vector<PlannedEvent> events = {};

  /// Nothing is to be done; events alone do not count.
  bool empty() const { return !patch && devices.empty() && evict.empty() && remove.empty() && maintenance.empty(); }
  /// The state after the patch.
  UpgradeState to() const { return path.empty() ? from : path.back(); }
  friend bool operator==(const NodePlan&, const NodePlan&) = default;
};

struct NodeGate {
  std::string node = {};
  /// The state it waits in: the one after this plan's patch, if there is one.
  UpgradeState state = UpgradeState::kUnknown;
  Gate gate = {};
  friend bool operator==(const NodeGate&, const NodeGate&) = default;
};

/// What a pass has read of one node.
struct NodeReading {
  std::string uid = {};
  std::string resource_version = {};
  /// Its state, or one that an unsettled patch may have brought it to, holds a slot.
  bool holds_slot = false;
  friend bool operator==(const NodeReading&, const NodeReading&) = default;
};

/// One stage of a rollout. Nodes that are left out by an administrator's wish are in no count.
struct RolloutStageStatus {
  std::string name = {};
  /// Number of nodes that the stage waits for.
  int nodes = 0;
  int under_way = 0;
  int done = 0;
  int failed = 0;
  /// Number of nodes that the stage continues without because they are not Ready or leave the cluster. `nodes` does not
  /// include them.
  int left_out = 0;
  /// `1 of 8 left out: n3, NotReady since 2026-11-26T12:00:00Z`; empty if `left_out` is zero.
  std::string why_left_out = {};
  friend bool operator==(const RolloutStageStatus&, const RolloutStageStatus&) = default;
};

/// How often the rest of a rollout interrupts gangs (RolloutPolicy::gangs), as far as the pods of the waiting nodes are known.
struct RolloutGangs {
  /// Number of gangs with pods on waiting nodes. No order of the nodes interrupts less than each of them once.
  int gangs = 0;
  /// Number of units: the waiting nodes of one gang that start together.
  int units = 0;
  /// Number of interruptions that this policy causes, if gangs return to the same nodes.
  int interruptions = 0;
  /// Number of interruptions if the nodes started in the order of their names, as many as the limits allow at a time.
  int by_name = 0;
  /// Number of gangs that this process has interrupted at this revision; each counts once.
  int interrupted = 0;
  /// Number of interruptions that this process has caused at this revision. It equals `interrupted` if each gang was interrupted once.
  int caused = 0;
  friend bool operator==(const RolloutGangs&, const RolloutGangs&) = default;
};

/// Shows how far a rollout is, and what its record has to store (ADR 0013).
struct RolloutStatus {
  /// Of the driver, as approvals name it; empty: it cannot be told.
  std::string revision = {};
  /// When the rollout of this revision began; nullopt: the record does not have it.
  std::optional<absl::Time> began = std::nullopt;
  /// In their order, with the nodes that no stage names last.
  std::vector<RolloutStageStatus> stages = {};
  /// Nodes of the stages up to this one may start.
  int open = 0;
  /// Why the next stage has not begun; nullopt after the last.
  std::optional<Gate> next = std::nullopt;
  /// Why nobody starts; nullopt: the rollout is not halted.
  std::optional<Gate> halted = std::nullopt;
  /// Why nobody starts at this time of the week; nullopt: nodes may.
  std::optional<Gate> closed = std::nullopt;
  /// How the nodes go back to this revision, which the fleet has completed before; nullopt: it is another one, or no node
  /// has to go.
  std::optional<Rollback> rollback = std::nullopt;
  /// nullopt: the policy takes no account of gangs.
  std::optional<RolloutGangs> gangs = std::nullopt;
  /// The record as it is to be stored by compare-and-set before what starts a node is sent; nullopt: as it was read.
  std::optional<std::string> record = std::nullopt;
  friend bool operator==(const RolloutStatus&, const RolloutStatus&) = default;
};

struct Plan {
  /// Nodes for which there is something to do, by name.
  std::vector<NodePlan> nodes = {};
  /// Nodes that wait, by name; each once. Unless `gates_complete`: only those whose gate is new, or has changed since
  /// the plan before.
  std::vector<NodeGate> gates = {};
  /// Whether `gates` has every node that waits. Step says all; who judges only what has changed need not.
  bool gates_complete = true;
  /// Unless `gates_complete`: nodes that had a gate and have none any more, or are gone, by name.
  std::vector<std::string> ungated = {};
  /// Whether all nodes that had changed were looked at. Otherwise no node starts by this plan, the next plan goes on, and
  /// `totals`, `budget` and `rollout` are those of the last finished plan, or empty before the first. Step always
  /// finishes; an engine that reads a cache need not (EngineOptions::nodes_per_pass).
  bool finished = true;
  /// Counts before this plan.
  Tally totals = {};
  UpgradeBudget budget = {};
  std::vector<Finding> findings = {};
  /// When to judge again even if nothing changes.
  std::optional<absl::Time> wake_at = std::nullopt;
  /// Nodes whose pods the decisions depend on, by name: read them before the next Step.
  std::vector<std::string> pod_interest = {};
  /// The nodes that have a grant or need one, as they were judged: for the ledger (EngineOptions::ledger).
  std::vector<NodeReading> readings = {};
  /// nullopt: the policy has no rollout, or autoUpgrade is off.
  std::optional<RolloutStatus> rollout = std::nullopt;
  friend bool operator==(const Plan&, const Plan&) = default;
};

/// What became of one NodePlan.
struct NodeOutcome {
  std::string node = {};
  /// The first failure, after which the rest of the plan was dropped. A refused eviction is no failure.
  absl::Status status = absl::OkStatus();
  /// The patch was acknowledged.
  bool patched = false;
  int evictions_accepted = 0;
  int evictions_refused = 0;
  int pods_deleted = 0;
  /// Number of gangs (RolloutPolicy::gangs) that these evictions and deletions were the first of their unit to interrupt.
  int gangs_interrupted = 0;
  /// The node as the patch left it; nullptr without one.
  std::shared_ptr<const Node> node_after = nullptr;
};

/// The status of one node, as of the engine's last finished pass.
struct NodeStatus {
  std::string name = {};
  /// Follows from the node's label or, if another client removed it, from its other marks.
  UpgradeState state = UpgradeState::kUnknown;
  /// When the node entered the state, if one of its annotations says so.
  std::optional<absl::Time> since = std::nullopt;
  /// Revision of the driver pod; empty unless there is exactly one driver pod.
  std::string revision = {};
  /// The driver pod has the revision that its DaemonSet wants.
  bool up_to_date = false;
  /// The node has a driver pod, and all its driver pods are Ready.
  bool driver_ready = false;
  /// It counts against `maxUnavailable`.
  bool unavailable = false;
  /// Name of its stage; empty without a rollout.
  std::string stage = {};
  /// Value of the label by which the policy forms groups; empty without groups.
  std::string group = {};
  /// The reason why the node does not move; nullopt if it does not wait.
  std::optional<Gate> gate = std::nullopt;
  friend bool operator==(const NodeStatus&, const NodeStatus&) = default;
};

/// The status of a rollout for pages and reports, as of the engine's last finished pass (UpgradeEngine::Status).
struct FleetStatus {
  /// Whether the policy upgrades, and whether it is paused.
  bool auto_upgrade = false;
  bool paused = false;
  /// Before the pass.
  Tally totals = {};
  UpgradeBudget budget = {};
  /// nullopt: the policy has no rollout, or autoUpgrade is off.
  std::optional<RolloutStatus> rollout = std::nullopt;
  std::vector<Finding> findings = {};
  /// Sorted by name.
  std::vector<NodeStatus> nodes = {};
};

/// Nothing is to be done, and each node that waits waits for a person: of a plan with all gates, as
/// UpgradeEngine::Everything.
bool IsOver(const Plan& everything);

/// One line for people and for tests: `n1: drain-required -> pod-restart-required (drained); delete drivers/driver-7`.
std::string Describe(const NodePlan& plan);
/// All nodes, gates, findings and the time to wake up, one line each.
std::string Describe(const Plan& plan);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_PLAN_H_
