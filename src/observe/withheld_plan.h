// Creates plans that contain only changes, and removes withheld nodes from plans.
#ifndef DRIVERUPGRADE_SRC_OBSERVE_WITHHELD_PLAN_H_
#define DRIVERUPGRADE_SRC_OBSERVE_WITHHELD_PLAN_H_

#include <map>
#include <string>

#include "decide/incremental_planner.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"

namespace driverupgrade::internal {

// Returns the plan in `update`. The plan contains only the gates that have changed.
Plan IncompletePlan(PlanUpdate update, const IncrementalPlanner& planner);

// Replaces `plan`, the last plan of the planner, with the plan that remains if the nodes in `gates` do not start. See
// IncrementalPlanner::Withhold.
void WithholdNodes(IncrementalPlanner& planner, const std::map<std::string, Gate>& gates, Plan& plan);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_OBSERVE_WITHHELD_PLAN_H_
