/// Invariants that must hold after every pass of any scenario.
#ifndef DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_INVARIANTS_H_
#define DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_INVARIANTS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade::tests {

/// A change that the engine made to a node, as the cluster committed it.
struct NodeCommit {
  Node before = {};
  Node after = {};
};

/// One pass: the world before the pass, and the pass's plan and writes.
struct PassRecord {
  const DriverIdentity& identity;
  const UpgradePolicy& policy;
  std::string driver_ns = {};
  absl::Time now = absl::UnixEpoch();
  std::map<std::string, Node> nodes = {};
  std::vector<Pod> pods = {};
  Plan plan = {};
  std::vector<NodeCommit> commits = {};
};

/// Returns the state in the node's label, or nullopt if the label is not a state.
std::optional<UpgradeState> StateOf(const Node& node, const DriverIdentity& identity);
/// Returns the names of the nodes that the upgrade affects: nodes with a driver pod or with marks of an upgrade.
std::vector<std::string> ManagedNodes(const PassRecord& pass);

/// Throws ScenarioError with the first invariant that does not hold:
/// - each node has at most one plan and at most one gate, and a node that neither moves nor is done has exactly one
///   gate;
/// - plans and commits contain only edges of the transition table;
/// - a patch changes nothing but our own keys, the cordon set and spec.unschedulable (I6);
/// - an administrator's cordon is not lifted, and none of our marks are left on a node that is done (dep-F6, dep-F7);
/// - pods are touched only on cordoned nodes that are being upgraded, and only the driver's own pods are deleted unless
///   the policy has onTimeout: Delete;
/// - no start exceeds the budgets (I1);
/// - totals match the nodes' labels, with every node counted once (dep-F18).
void CheckInvariants(const PassRecord& pass);

/// Checks a release (dep-F9) in the same way. A release patches only our own keys, and leaves none of our marks on a
/// node that it wrote. It lifts neither an administrator's cordon nor a cordon that another driver's upgrade needs.
void CheckReleased(const PassRecord& pass);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_INVARIANTS_H_
