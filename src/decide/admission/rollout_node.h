// A node as its rollout counts it.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ADMISSION_ROLLOUT_NODE_H_
#define DRIVERUPGRADE_SRC_DECIDE_ADMISSION_ROLLOUT_NODE_H_

#include "decide/admission/rollout_round.h"

namespace driverupgrade::internal {

// Goes by the marks on the node, not by its plan, of which nothing has happened yet. Refers to `view`.
RolloutNode MakeRolloutNode(const NodeView& view, const KeptVerdict& verdict, const GrantShare& share,
                            const RolloutInput& input);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ADMISSION_ROLLOUT_NODE_H_
