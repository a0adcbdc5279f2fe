// Finds parts of the policy that have no effect in this cluster, or cannot work there. Warnings judges the
// policy without a cluster. The planner's finding SelectsNothing covers labels and conditions.
#ifndef DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_POLICY_EFFECTS_H_
#define DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_POLICY_EFFECTS_H_

#include <string>
#include <vector>

#include "whatif/situation.h"
#include "whatif/what_if.h"

namespace driverupgrade::whatif {

// Each function returns one sentence for each field, which starts with the path of the field as documents spell it.

// Returns fields without an effect, given the nodes of `report` and the time of the situation.
std::vector<std::string> FieldsWithoutEffect(const Situation& situation, const Report& report);

// Selectors of pods that match no pod of the cluster; of health.podSelector, also nodes of stages without such a pod.
std::vector<std::string> SelectorsWithoutPods(const Situation& situation);

// Deadlines that are shorter than drivers take in this cluster.
std::vector<std::string> DeadlinesTooShort(const Situation& situation);

// The limits that allow all nodes to start at the same time; empty if the policy prevents it, or if there is one node.
std::vector<std::string> WhyAllAtOnce(const Situation& situation, const Report& report);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_POLICY_EFFECTS_H_
