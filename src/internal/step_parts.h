// What StateMachine::Step and IncrementalPlanner do alike.
#ifndef DRIVERUPGRADE_SRC_INTERNAL_STEP_PARTS_H_
#define DRIVERUPGRADE_SRC_INTERNAL_STEP_PARTS_H_

#include "driverupgrade/state_machine.h"

namespace driverupgrade::inline v1::internal {

// The sum over all nodes, with what the policy counts besides them.
Tally Totals(Tally nodes, const DriverFacts& driver, const UpgradePolicy& policy);

// Adds a node's verdict to all but the totals and the budget of `plan`.
void AddVerdict(Verdict verdict, Plan& plan);

}  // namespace driverupgrade::inline v1::internal

#endif  // DRIVERUPGRADE_SRC_INTERNAL_STEP_PARTS_H_
