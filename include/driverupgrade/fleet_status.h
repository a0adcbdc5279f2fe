/// The status of a rollout for pages and reports: counts, stages, and each node.
///
/// Defines FleetStatus and its NodeStatus.
///
///     const FleetStatus status = engine->Status();
///     for (const NodeStatus& node : status.nodes) {
///       if (node.gate) fmt::print("{} waits in {}: {}\n", node.name, ToString(node.state), node.gate->detail);
///     }
///
/// Values, as of the engine's last finished pass (UpgradeEngine::Status).
#ifndef DRIVERUPGRADE_FLEET_STATUS_H_
#define DRIVERUPGRADE_FLEET_STATUS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/finding.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/upgrade_budget.h"
#include "driverupgrade/upgrade_state.h"

namespace driverupgrade {

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

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_FLEET_STATUS_H_
