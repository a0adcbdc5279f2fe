// Formats simulated rollouts of several policies as a table.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_TRIALS_TABLE_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_TRIALS_TABLE_H_

#include <string>
#include <vector>

#include "upgradectl/table.h"
#include "whatif/simulation/trials.h"

namespace upgradectl {

/// Returns a table with a column for each policy, followed by the reasons that block nodes.
std::string FormatTrials(const std::vector<driverupgrade::whatif::Trial>& trials, const Screen& screen);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_TRIALS_TABLE_H_
