// Checks whether a node with its new driver is healthy.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_HEALTH_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_HEALTH_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::internal {

// Causes as text for users. Empty if the node is not sick, or not unwell.
struct NodeHealth {
  std::string sick = {};
  std::string unwell = {};
  friend bool operator==(const NodeHealth&, const NodeHealth&) = default;
};
// `conditions` of the node by their types, `pods` on it, and the pods of the driver.
NodeHealth HealthOf(const StringMap& conditions, const std::vector<Pod>& pods, const std::vector<Pod>& driver_pods,
                    const RolloutHealth& health);

// RolloutHealth::unwell_max of the policy, or its default; zero: the rollout does not check whether nodes are in use.
absl::Duration UnwellMax(const RolloutPolicy& policy);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_HEALTH_H_
