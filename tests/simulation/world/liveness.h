// What has to be true when nothing goes wrong any more (L1-L3).
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WORLD_LIVENESS_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WORLD_LIVENESS_H_

#include <string>
#include <utility>

#include "absl/time/time.h"
#include "simulation/world/world.h"

namespace driverupgrade::testing::internal {

// The policy of the calm phase: what was drawn, with timeouts that a healthy cluster keeps.
UpgradePolicy CalmPolicy(UpgradePolicy policy, bool hooks);
// How long one round of nodes may take.
absl::Duration TimeOfRound(const Setup& setup);
// L1: how long it may take.
absl::Duration TimeToConverge(const World& world, const UpgradePolicy& policy);
// L1, L3: a node that is not done, and how; empty if all are.
std::string WhatIsNotDone(const World& world, const Driver& driver);
// The same to be asked again and again: the node that was not done last time most likely still is not.
class Completion {
 public:
  explicit Completion(const World& world, const Driver& driver, std::string left_out = {})
      : world_(world), driver_(driver), left_out_(std::move(left_out)) {}
  // Whether all nodes are done, but for the one that is left out.
  bool IsReached();

 private:
  const World& world_;
  const Driver driver_;
  const std::string left_out_;
  std::string last_;
};
// L2: a cordon or an annotation of ours that is left; empty if none is.
std::string WhatIsLeft(const World& world, const Driver& driver);
// What of ours is left although every node was given back; empty if nothing is.
std::string WhatIsNotGivenBack(const World& world);

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_LIVENESS_H_
