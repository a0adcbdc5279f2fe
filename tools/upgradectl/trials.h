// Compares simulated rollouts of several policies, as a table or as JSON.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_TRIALS_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_TRIALS_H_

#include <string>
#include <vector>

#include "upgradectl/simulate.h"
#include "upgradectl/table.h"

namespace upgradectl {

/// The rollouts of one policy.
struct Trial {
  std::string policy = {};
  std::vector<Rollout> rollouts = {};
};

/// A column for each policy.
std::string FormatTrials(const std::vector<Trial>& trials, const Screen& screen);
std::string FormatTrialsJson(const std::vector<Trial>& trials);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_TRIALS_H_
