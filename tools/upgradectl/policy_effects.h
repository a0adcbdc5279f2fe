// Finds parts of the policy that have no effect in this cluster, or cannot work there. driverupgrade::Warnings judges the
// policy without a cluster. The planner's finding SelectsNothing covers labels and conditions.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_POLICY_EFFECTS_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_POLICY_EFFECTS_H_

#include <string>
#include <vector>

#include "upgradectl/request.h"
#include "whatif/what_if.h"

namespace upgradectl {

/// Each function returns one sentence for each field, which begins with the path of the field as documents spell it.

/// Fields that change nothing, given the nodes of `report` and the time of the request.
std::vector<std::string> FieldsWithoutEffect(const Request& request, const driverupgrade::whatif::Report& report);

/// Selectors of pods that match no pod of the cluster; of health.podSelector, also nodes of stages without such a pod.
std::vector<std::string> SelectorsWithoutPods(const Request& request);

/// Deadlines that are shorter than drivers take in this cluster.
std::vector<std::string> DeadlinesTooShort(const Request& request);

/// The limits that allow all nodes to start at the same time; empty if the policy prevents it, or if there is one node.
std::vector<std::string> WhyAllAtOnce(const Request& request, const driverupgrade::whatif::Report& report);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_POLICY_EFFECTS_H_
