// Decides which of two waiting nodes starts first.
//
//     std::sort(nodes.begin(), nodes.end(), [&](a, b) { return SortKey(a, order) < SortKey(b, order); });
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ORDER_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ORDER_H_

#include <string>
#include <vector>

#include "decide/rollout/view.h"
#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::internal {

// Returns the sort key of the node, to be compared byte by byte. Each key ends with the node name, so no two nodes have
// the same key.
std::string SortKey(const RolloutNode& node, const std::vector<RolloutOrder>& order);

// Returns true if the order depends on the pods of waiting nodes.
bool OrdersByPods(const RolloutPolicy& rollout);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ORDER_H_
