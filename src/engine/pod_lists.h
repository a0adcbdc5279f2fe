// Decides whether pods are read with one list per node, or with a single list of all pods.
#ifndef DRIVERUPGRADE_SRC_ENGINE_POD_LISTS_H_
#define DRIVERUPGRADE_SRC_ENGINE_POD_LISTS_H_

#include <cstddef>

#include "decide/rollout/order.h"
#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade::internal {

// Maximum number of nodes whose pods are listed node by node if a rollout's order needs all waiting nodes' pods.
// Without such an order, there is no maximum.
inline constexpr std::size_t kPodListsMax = 10;
inline bool ReadsAllPods(const UpgradePolicy& policy, std::size_t nodes) {
  return nodes > kPodListsMax && policy.rollout && OrdersByPods(*policy.rollout);
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_ENGINE_POD_LISTS_H_
