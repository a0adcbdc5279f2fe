// Finds fields of the policy that have no effect or cannot work in this cluster. `Warnings` checks the policy without a
// cluster, and the planner's finding SelectsNothing covers labels and conditions.
#ifndef DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_POLICY_EFFECTS_H_
#define DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_POLICY_EFFECTS_H_

#include <string>
#include <vector>

#include "whatif/situation.h"
#include "whatif/what_if.h"

namespace driverupgrade::whatif {

// For each field, these functions return one sentence that starts with the field's path in the policy document.

// Returns fields that have no effect, given the nodes of `report` and the time of the situation.
std::vector<std::string> FieldsWithoutEffect(const Situation& situation, const Report& report);

// Returns pod selectors that match no pod in the cluster. For health.podSelector, also returns nodes that belong to a
// stage but have no matching pod.
std::vector<std::string> SelectorsWithoutPods(const Situation& situation);

// Returns deadlines that are shorter than the time that drivers take in this cluster.
std::vector<std::string> DeadlinesTooShort(const Situation& situation);

// Returns the limits that allow all nodes to start at the same time. Returns an empty list if the policy prevents that,
// or if there is only one node.
std::vector<std::string> WhyAllAtOnce(const Situation& situation, const Report& report);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_POLICY_EFFECTS_H_
