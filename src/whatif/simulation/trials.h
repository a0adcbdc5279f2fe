// Compares simulated rollouts of several policies.
#ifndef DRIVERUPGRADE_SRC_WHATIF_SIMULATION_TRIALS_H_
#define DRIVERUPGRADE_SRC_WHATIF_SIMULATION_TRIALS_H_

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/upgrade_policy.h"
#include "whatif/simulation/simulate.h"

namespace driverupgrade::whatif {

// Policies to compare, by name.
using Policies = std::vector<std::pair<std::string, UpgradePolicy>>;

// The rollouts of one policy.
struct Trial {
  std::string policy = {};
  std::vector<Rollout> rollouts = {};
};

// Simulates `seeds` rollouts of each policy, with seeds starting at 1. If one of the policies isolates devices, devices
// are simulated for all policies.
[[nodiscard]] absl::StatusOr<std::vector<Trial>> SimulatePolicies(const Situation& situation, const Policies& policies,
                                                                  const Durations& durations, int seeds);

// A group of nodes that are all blocked for the same reason.
struct Blockage {
  int nodes = 0;
  // The node that has waited longest or failed first.
  std::string node = {};
  Blocked blocked = {};
};
// Returns the blockages in descending order of their number of nodes, but with blockages of failed nodes first.
std::vector<Blockage> BlockagesOf(const Rollout& rollout);
// Returns `DisruptionBudget`, or `Failed, DisruptionBudget` if the node failed because of this gate.
std::string CauseOf(const Blocked& blocked);

// Returns true if each rollout of the trial finishes.
bool Finishes(const Trial& trial);
// Returns the rollout whose counts are shown. Prefers a rollout that does not finish.
const Rollout& Shown(const Trial& trial);
// Returns the value that is not exceeded in `percent` % of the rollouts.
template <typename F>
auto Quantile(const Trial& trial, int percent, F&& value) {
  std::vector<decltype(value(trial.rollouts.front()))> values;
  for (const Rollout& rollout : trial.rollouts) values.push_back(value(rollout));
  std::sort(values.begin(), values.end());
  return values[(values.size() - 1) * static_cast<std::size_t>(percent) / 100];
}
// Returns a quantile of the rollouts' durations. A rollout that does not finish counts as infinitely long.
absl::Duration Makespan(const Trial& trial, int percent);

// tools/upgradectl/README.md lists the members.
std::string FormatTrialsJson(const std::vector<Trial>& trials);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_SIMULATION_TRIALS_H_
