// Determines which workloads the upgrade of a node disrupts.
#ifndef DRIVERUPGRADE_SRC_DECIDE_PODS_IN_THE_WAY_H_
#define DRIVERUPGRADE_SRC_DECIDE_PODS_IN_THE_WAY_H_

#include <optional>
#include <vector>

#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/state_machine.h"
#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade::internal {

// Returns the pods of the node that an upgrade under the policy evicts, deletes or waits for, without duplicates.
// Excludes finished pods, but includes pods that the policy does not allow the engine to evict. Returns nullopt if the
// pods are unknown. The result refers to `view`.
std::optional<std::vector<const Pod*>> PodsInTheWay(const NodeView& view, const NodeRules& rules,
                                                    const StateMachine& machine);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_PODS_IN_THE_WAY_H_
