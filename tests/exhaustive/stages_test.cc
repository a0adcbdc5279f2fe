// Checks every reachable state of a rollout in two stages, and checks that every planted defect is found.
#include <iostream>
#include <string>

#include "exhaustive/stage_world.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

#ifdef NDEBUG
constexpr bool kOptimised = true;
#else
constexpr bool kOptimised = false;
#endif

// Runs the check and prints the number of states and edges.
void CheckHolds(const StageOptions& options) {
  const StageResult result = CheckStages(options);
  std::cout << Describe(options, result);
  CHECK(result.broken == "");
  CHECK(result.late_starts > 0);
}

TEST_CASE("Exhaustive: in two stages no node starts early, without approval or after a halt, and all finish") {
  for (int canaries = 1; canaries <= 2; ++canaries) {
    CheckHolds({.canaries = canaries, .replicas = 1, .faults = 2});
    CheckHolds({.canaries = canaries, .replicas = 1, .faults = 2, .approval = Approval::kAutomatic});
  }
}

TEST_CASE("Exhaustive: two replicas that both lead keep the rules of two stages") {
  CheckHolds({.canaries = 1, .replicas = 2, .faults = 0});
  CheckHolds({.canaries = 2, .replicas = 2, .faults = 0});
  if (!kOptimised) return;
  CheckHolds({.canaries = 1, .replicas = 2, .faults = 1});
  CheckHolds({.canaries = 2, .replicas = 2, .faults = 1});
  CheckHolds({.canaries = 2, .replicas = 2, .faults = 2});
  CheckHolds({.canaries = 2, .replicas = 2, .faults = 1, .approval = Approval::kAutomatic});
}

TEST_CASE("Exhaustive: planted defects in a rollout of two stages are found") {
  const auto broken = [](StageDefect defect, int replicas, int faults = 1) {
    const StageOptions options{.canaries = 2, .replicas = replicas, .faults = faults, .defect = defect};
    return CheckStages(options).broken;
  };
  const std::string halted = "a node is let start although a halt is stored";
  CHECK(broken(StageDefect::kTakesLostForLast, 1) == "a node starts before the canaries have soaked");
  CHECK(broken(StageDefect::kTakesAllAsApproved, 1, /*faults=*/0) == "a node starts without an approval");
  CHECK(broken(StageDefect::kSoaksNotAtAll, 1) == "a node starts before the canaries have soaked");
  CHECK(broken(StageDefect::kStartsBeforeWrite, 2) == halted);
  CHECK(broken(StageDefect::kWritesBlindly, 2) == halted);
}

}  // namespace
}  // namespace driverupgrade::tests
