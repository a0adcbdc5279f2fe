// Creates the representation of a node that rollouts use.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ADMISSION_ROLLOUT_NODE_H_
#define DRIVERUPGRADE_SRC_DECIDE_ADMISSION_ROLLOUT_NODE_H_

#include "decide/admission/rollout_round.h"

namespace driverupgrade::internal {

// Uses the marks on the node and not its plan, because no part of the plan has been carried out yet. The result refers
// to `view`.
RolloutNode MakeRolloutNode(const NodeView& view, const KeptVerdict& verdict, const GrantShare& share,
                            const RolloutInput& input);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ADMISSION_ROLLOUT_NODE_H_
