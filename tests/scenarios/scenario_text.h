/// How plans, nodes and pods look in a scenario.
#ifndef DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_TEXT_H_
#define DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_TEXT_H_

#include <string>

#include "driverupgrade/upgrade_engine.h"

namespace driverupgrade::tests {

/// One line for each thing that a pass does or finds; several, indented, for a node's plan. Events are left out.
std::string PassText(const ReconcileResult& result);
/// `t=1000 n1: drain-required -> pod-restart-required (drained)` for each node that enters a state, and
/// the error of one that was not acknowledged.
std::string TransitionsText(const ReconcileResult& result, absl::Time now);
/// One line for each node that waits.
std::string GatesText(const Plan& plan);
/// The counts before the plan, and what the limits leave.
/// Where the rollout stands.
std::string RolloutText(const Plan& plan);
std::string TotalsText(const Plan& plan);
/// State, cordon, and labels and annotations with one of our keys.
std::string NodeText(const Node& node, const DriverIdentity& identity);
std::string PodText(const Pod& pod);
/// Name, requestors, the reason of the condition Ready, and RequestorFailed if it is True.
std::string MaintenanceText(const NodeMaintenance& maintenance);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SCENARIOS_SCENARIO_TEXT_H_
