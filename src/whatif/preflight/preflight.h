// Finds the obstacles to a rollout that has not started, in the objects of a cluster.
#ifndef DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_PREFLIGHT_H_
#define DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_PREFLIGHT_H_

#include <vector>

#include "whatif/preflight/obstacle.h"
#include "whatif/situation.h"

namespace driverupgrade::whatif {

// Returns the obstacles, sorted by severity (errors first) and then by code. Each obstacle has at least one object. The
// question must contain the pods of all nodes.
std::vector<Obstacle> FindObstacles(const Situation& situation);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_PREFLIGHT_H_
