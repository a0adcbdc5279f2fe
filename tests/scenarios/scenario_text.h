/// Formats plans, nodes and pods for a scenario.
#ifndef DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_TEXT_H_
#define DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_TEXT_H_

#include <string>

#include "driverupgrade/upgrade_engine.h"

namespace driverupgrade::tests {

/// Returns one line for each action or finding of a pass, and several indented lines for a node's plan. Events are
/// omitted.
std::string PassText(const ReconcileResult& result);
/// Returns `t=1000 n1: drain-required -> pod-restart-required (drained)` for each node that enters a state, and the
/// error of each write that was not acknowledged.
std::string TransitionsText(const ReconcileResult& result, absl::Time now);
/// Returns one line for each waiting node.
std::string GatesText(const Plan& plan);
/// Returns the progress of the rollout.
std::string RolloutText(const Plan& plan);
/// Returns the counts at the start of the pass, and the capacity that the limits leave.
std::string TotalsText(const Plan& plan);
/// Returns the state, the cordon, and the labels and annotations that have one of our keys.
std::string NodeText(const Node& node, const DriverIdentity& identity);
std::string PodText(const Pod& pod);
/// Returns the name, the requestors, the reason of the condition Ready, and RequestorFailed if it is True.
std::string MaintenanceText(const NodeMaintenance& maintenance);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_TEXT_H_
