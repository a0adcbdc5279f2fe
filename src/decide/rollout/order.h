// Decides which of two waiting nodes goes first.
//
//     std::sort(nodes.begin(), nodes.end(), [&](a, b) { return SortKey(a, order) < SortKey(b, order); });
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ORDER_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ORDER_H_

#include <string>
#include <vector>

#include "decide/rollout/view.h"
#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::internal {

// Returns a text whose bytes define the order of the nodes. No two nodes have the same text: it ends with the name.
std::string SortKey(const RolloutNode& node, const std::vector<RolloutOrder>& order);

// Returns true if the pods of waiting nodes must be known.
bool OrdersByPods(const RolloutPolicy& rollout);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ORDER_H_
