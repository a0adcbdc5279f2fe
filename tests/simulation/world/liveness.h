// Conditions that must hold once all faults have ended (L1-L3).
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WORLD_LIVENESS_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WORLD_LIVENESS_H_

#include <string>
#include <utility>

#include "absl/time/time.h"
#include "simulation/world/world.h"

namespace driverupgrade::testing::internal {

// Returns the policy for the calm phase: the policy that was drawn, with timeouts that a healthy cluster meets.
UpgradePolicy CalmPolicy(UpgradePolicy policy, bool hooks);
// Returns how long the upgrade of one round of nodes may take.
absl::Duration TimeOfRound(const Setup& setup);
// L1: returns how long the whole rollout may take.
absl::Duration TimeToConverge(const World& world, const UpgradePolicy& policy);
// L1, L3: returns a node that is not done, and the reason; empty if all nodes are done.
std::string WhatIsNotDone(const World& world, const Driver& driver);
// Repeats the check of WhatIsNotDone efficiently: first checks the node that was not done in the previous call.
class Completion {
 public:
  explicit Completion(const World& world, const Driver& driver, std::string left_out = {})
      : world_(world), driver_(driver), left_out_(std::move(left_out)) {}
  // Returns whether all nodes are done, except for `left_out`.
  bool IsReached();

 private:
  const World& world_;
  const Driver driver_;
  const std::string left_out_;
  std::string last_;
};
// L2: returns a cordon, a name in a cordon set, or a NodeMaintenance that we left behind; empty if we left nothing.
std::string WhatIsLeft(const World& world, const Driver& driver);
// Returns a mark or object of ours that remains although every node was released; empty if nothing remains.
std::string WhatIsNotGivenBack(const World& world);

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_LIVENESS_H_
