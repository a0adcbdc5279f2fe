// Finds obstacles to the evacuation of nodes, such as pods without a controller, disruption budgets, and insufficient
// capacity on other nodes.
#ifndef DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_PREFLIGHT_PODS_H_
#define DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_PREFLIGHT_PODS_H_

#include <map>
#include <string>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "whatif/preflight/obstacle.h"
#include "whatif/situation.h"

namespace driverupgrade::whatif {

// The pods of the question, by the name of their node. Pods without a node have the key "". The question must outlive
// this object.
struct SortedPods {
  using ByNode = std::map<std::string, std::vector<const Pod*>>;
  ByNode driver = {};
  ByNode others = {};
};
SortedPods SortPods(const Question& question);

// Adds the obstacles to the evacuation of `nodes`.
void FindPodObstacles(const Situation& situation, const SortedPods& pods, const std::vector<const Node*>& nodes,
                      ObstacleList& obstacles);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_PREFLIGHT_PODS_H_
