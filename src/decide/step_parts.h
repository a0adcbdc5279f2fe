// What StateMachine::Step and IncrementalPlanner do alike.
#ifndef DRIVERUPGRADE_SRC_DECIDE_STEP_PARTS_H_
#define DRIVERUPGRADE_SRC_DECIDE_STEP_PARTS_H_

#include <algorithm>
#include <iterator>
#include <string>

#include "driverupgrade/state_machine.h"

namespace driverupgrade::internal {

// Adds to `plan` what is said of `node` besides what it is to do and why it waits.
template <typename Said>
void AddRest(const std::string& node, Said& said, Plan& plan) {
  if (said.pod_interest) plan.pod_interest.push_back(node);
  if (said.wake_at) plan.wake_at = std::min(*said.wake_at, plan.wake_at.value_or(absl::InfiniteFuture()));
  plan.findings.insert(plan.findings.end(), std::make_move_iterator(said.findings.begin()),
                       std::make_move_iterator(said.findings.end()));
}

// Adds the verdict on `node` to all but the totals, the budget and the readings of `plan`.
void AddVerdict(const std::string& node, Verdict&& verdict, Plan& plan);

// What was planned for a node is not to be done now, and it waits for `gate`: it stays where it is.
void Withhold(const Gate& gate, Verdict& verdict);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_STEP_PARTS_H_
