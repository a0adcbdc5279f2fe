// Checks the health of a node after its driver was upgraded.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_HEALTH_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_HEALTH_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::internal {

// Messages for users that explain why a node is sick or unwell. `sick` is empty if the node is not sick, and `unwell`
// is empty if the node is not unwell.
struct NodeHealth {
  std::string sick = {};
  std::string unwell = {};
  friend bool operator==(const NodeHealth&, const NodeHealth&) = default;
};
// Returns the health of a node, given its `conditions` (by type), the pods on the node, and its driver pods.
NodeHealth HealthOf(const StringMap& conditions, const std::vector<Pod>& pods, const std::vector<Pod>& driver_pods,
                    const RolloutHealth& health);

// Returns RolloutHealth::unwell_max of the policy, or the default if the policy does not set this field. Zero means
// that the rollout does not check whether nodes are in use.
absl::Duration UnwellMax(const RolloutPolicy& policy);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_HEALTH_H_
