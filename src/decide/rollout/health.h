// Checks whether a node with its new driver is healthy.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_HEALTH_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_HEALTH_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::internal {

// The causes, as text for users. Empty if the node is not sick or not unwell, respectively.
struct NodeHealth {
  std::string sick = {};
  std::string unwell = {};
  friend bool operator==(const NodeHealth&, const NodeHealth&) = default;
};
// Returns the health of a node, based on its `conditions` (by type), the `pods` on it, and its driver pods.
NodeHealth HealthOf(const StringMap& conditions, const std::vector<Pod>& pods, const std::vector<Pod>& driver_pods,
                    const RolloutHealth& health);

// RolloutHealth::unwell_max of the policy, or its default; zero: the rollout does not check whether nodes are in use.
absl::Duration UnwellMax(const RolloutPolicy& policy);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_HEALTH_H_
