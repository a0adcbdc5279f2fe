// Finds the obstacles that the planner reports, either for the rollout in progress or for the next revision.
#ifndef DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_PREFLIGHT_ROLLOUT_H_
#define DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_PREFLIGHT_ROLLOUT_H_

#include "whatif/preflight/obstacle.h"
#include "whatif/situation.h"

namespace driverupgrade::whatif {

// Adds the problems of the policy, and the obstacles to the rollout in progress, or to the next rollout if none is in
// progress.
void FindRolloutObstacles(const Situation& situation, ObstacleList& obstacles);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_PREFLIGHT_ROLLOUT_H_
