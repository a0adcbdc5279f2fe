// Formats the obstacles to a rollout as text.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_OBSTACLES_TEXT_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_OBSTACLES_TEXT_H_

#include <string>
#include <vector>

#include "upgradectl/table.h"
#include "whatif/preflight/preflight.h"

namespace upgradectl {

/// Formats several lines for each obstacle, with its first objects.
std::string FormatObstacles(const std::vector<driverupgrade::whatif::Obstacle>& obstacles, const Screen& screen);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_OBSTACLES_TEXT_H_
