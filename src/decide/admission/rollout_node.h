// Creates RolloutNodes, the form in which rollouts see nodes.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ADMISSION_ROLLOUT_NODE_H_
#define DRIVERUPGRADE_SRC_DECIDE_ADMISSION_ROLLOUT_NODE_H_

#include "decide/admission/rollout_round.h"

namespace driverupgrade::internal {

// Returns the node of `view` in the form that rollouts use. The progress of the node is taken from its marks, not from
// its plan, because the plan has not been carried out yet. The result refers to `view`.
RolloutNode MakeRolloutNode(const NodeView& view, const KeptVerdict& verdict, const GrantShare& share,
                            const RolloutInput& input);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ADMISSION_ROLLOUT_NODE_H_
