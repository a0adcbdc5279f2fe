// What StateMachine::Step and IncrementalPlanner do alike.
#ifndef DRIVERUPGRADE_SRC_DECIDE_STEP_PARTS_H_
#define DRIVERUPGRADE_SRC_DECIDE_STEP_PARTS_H_

#include <string>

#include "driverupgrade/state_machine.h"

namespace driverupgrade::internal {

// Adds the verdict on `node` to all but the totals, the budget and the readings of `plan`.
void AddVerdict(const std::string& node, Verdict&& verdict, Plan& plan);

// What was planned for a node is not to be done now, and it waits for `gate`: it stays where it is.
void Withhold(const Gate& gate, Verdict& verdict);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_STEP_PARTS_H_
