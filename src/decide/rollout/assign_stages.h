// Assigns the nodes of a rollout to its stages.
//
//     const std::vector<int> stages = AssignStages(view.nodes, rules.policy);
//
// Pure.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ASSIGN_STAGES_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ASSIGN_STAGES_H_

#include <vector>

#include "decide/rollout/view.h"
#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::internal {

// Returns the index of each node's stage; `policy.stages.size()` for nodes that belong to no stage. The result depends
// only on the names and labels of the nodes, and on which nodes are left out, so a stage that is defined by a number or
// a percentage always has the same nodes. Nodes that are left out do not count towards that number or percentage. With
// GroupMode::kTogether, all nodes of a group are in the first stage that would contain one of them.
std::vector<int> AssignStages(const std::vector<RolloutNode>& nodes, const RolloutPolicy& policy);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ASSIGN_STAGES_H_
