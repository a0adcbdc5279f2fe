// What will be in the way of the next rollout by the planner's own word: it is asked about a revision that no node has yet.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_PREFLIGHT_ROLLOUT_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_PREFLIGHT_ROLLOUT_H_

#include <vector>

#include "upgradectl/preflight.h"
#include "upgradectl/request.h"

namespace upgradectl {

/// Of the policy, and of the rollout that is in progress or, if none is, of the next one. Each with at least one object.
std::vector<Obstacle> FindRolloutObstacles(const Request& request);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_PREFLIGHT_ROLLOUT_H_
