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

/// Nodes that are not done for the same reason.
struct Blockage {
  int nodes = 0;
  /// The node that has waited longest, or failed first.
  std::string node = {};
  Blocked blocked = {};
};
/// Failed nodes first, then by the number of nodes.
std::vector<Blockage> BlockagesOf(const Rollout& rollout);

/// Whether each rollout of the trial finishes.
bool Finishes(const Trial& trial);

/// A column for each policy, and below the columns what blocks nodes.
std::string FormatTrials(const std::vector<Trial>& trials, const Screen& screen);
std::string FormatTrialsJson(const std::vector<Trial>& trials);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_TRIALS_H_
