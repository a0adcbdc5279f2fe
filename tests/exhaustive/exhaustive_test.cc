// Tests that every reachable state of small clusters preserves the invariants, and that the check finds every planted
// defect.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include "exhaustive/checker.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

// Builds without optimization, such as sanitizer builds, skip checks that take seconds even in an optimized build.
#ifdef NDEBUG
constexpr bool kOptimised = true;
#else
constexpr bool kOptimised = false;
#endif

// Runs the check and prints the number of states and edges.
CheckResult Checked(const ModelOptions& options) {
  CheckResult result = Check(options);
  std::cout << Describe(options, result);
  return result;
}

void CheckHolds(const ModelOptions& options) {
  const CheckResult result = Checked(options);
  CHECK(result.broken == "");
  CHECK_FALSE(result.cut);
  // A smaller depth would mean that no upgrade was completed, so the check would be vacuous.
  CHECK(result.depth > 10);
}

// Expects that the defect violates the invariant `broken`, and that no invariant is violated without the defect.
void CheckFinds(ModelOptions options, const std::string& broken) {
  CAPTURE(static_cast<int>(options.defect));
  CHECK(Check(options).broken == broken);
  options.defect = Defect::kNone;
  CHECK(Check(options).broken == "");
}

TEST_CASE("Exhaustive: one controller, with up to three nodes and two faults, keeps the invariants and finishes") {
  for (int nodes = 1; nodes <= (kOptimised ? 3 : 2); ++nodes) {
    for (int budget = 1; budget <= std::min(nodes, 2); ++budget) {
      CheckHolds({.nodes = nodes, .controllers = 1, .faults = 2, .budget = budget, .ledger = true});
    }
  }
}

TEST_CASE("Exhaustive: one controller that writes each state separately keeps the invariants and finishes") {
  CheckHolds({.nodes = 2, .faults = 2, .ledger = true, .pacing = Pacing::kEveryState});
  if (kOptimised) CheckHolds({.nodes = 3, .faults = 2, .ledger = true, .pacing = Pacing::kEveryState});
}

TEST_CASE("Exhaustive: one controller keeps maxUnavailable if no other client cordons nodes") {
  const ModelOptions two{
      .nodes = 2, .faults = 2, .kinds = FaultKinds::kNoAdministrator, .budget_of_unavailable = true, .ledger = true};
  CheckHolds(two);
  ModelOptions three = two;
  three.nodes = 3;
  three.budget = 2;
  if (kOptimised) CheckHolds(three);
  ModelOptions both = two;
  both.controllers = 2;
  both.faults = 1;
  both.sees_all_at_once = true;
  if (kOptimised) CheckHolds(both);
}

TEST_CASE("Exhaustive: two controllers that both lead keep the budget with the ledger, even with one fault") {
  CheckHolds({.nodes = 1, .controllers = 2, .faults = 1, .ledger = true});
  CheckHolds({.nodes = 2, .controllers = 2, .faults = 0, .ledger = true, .sees_all_at_once = true});
  if (!kOptimised) return;
  CheckHolds({.nodes = 1, .controllers = 2, .faults = 2, .ledger = true});
  CheckHolds({.nodes = 2, .controllers = 2, .faults = 0, .ledger = true});
  CheckHolds({.nodes = 2, .controllers = 2, .faults = 1, .ledger = true, .sees_all_at_once = true});
}

TEST_CASE("Exhaustive: without a ledger the budget holds only for one controller that does not crash") {
  CheckHolds({.nodes = 3, .controllers = 1, .faults = 0, .budget = 2});
  const std::string broken = "I1: 2 upgrades under way, 1 allowed";
  CHECK(Checked({.nodes = 2, .controllers = 1, .faults = 1}).broken == broken);
  CHECK(Checked({.nodes = 2, .controllers = 2, .faults = 0}).broken == broken);
}

TEST_CASE("Exhaustive: the checker finds planted defects") {
  const ModelOptions one{.nodes = 2, .faults = 1, .ledger = true};
  const auto with = [](ModelOptions options, Defect defect) {
    options.defect = defect;
    return options;
  };
  const std::string too_many = "I1: 2 upgrades under way, 1 allowed";
  CheckFinds(with(one, Defect::kUncordonsAlways), "I3: an administrator's cordon is lifted");
  CheckFinds(with(one, Defect::kTakesUnreadForNone), "I2: the driver pod is deleted while protected pods run");
  CheckFinds(with(one, Defect::kIgnoresGrants), too_many);
  CheckFinds(with(one, Defect::kIgnoresLostGrants), too_many);
  CheckFinds(with(one, Defect::kNeverEvicts), "L1: nothing happens any more, and it is not done");
  const ModelOptions alone{.nodes = 1, .faults = 2};
  CheckFinds(with(alone, Defect::kKeepsOldPods), "I2: the driver pod is deleted while protected pods run");
  CheckFinds(with(alone, Defect::kTrustsLists), "I2: the driver pod is deleted while protected pods run");
  CheckFinds(with(alone, Defect::kDeletesUnconfirmed), "I2: the driver pod is deleted while protected pods run");
  CheckFinds(with(alone, Defect::kPatchesAnyVersion), "I3: an administrator's cordon is lifted");
}

TEST_CASE("Exhaustive: a write with an unknown outcome must count, because otherwise two nodes start if only one may") {
  const ModelOptions forgets{
      .nodes = 2, .faults = 1, .kinds = FaultKinds::kLostAnswers, .defect = Defect::kForgetsUnclearPatches};
  CheckFinds(forgets, "I1: 2 upgrades under way, 1 allowed");
}

TEST_CASE("Exhaustive: a violation is reported with the shortest path to it") {
  const ModelOptions options{.nodes = 2, .controllers = 2, .faults = 0};
  const CheckResult result = Check(options);
  CHECK(result.depth <= 2);
  CHECK(result.path.find("controller 1 patches, a start") != std::string::npos);
  CHECK(result.path.find("last: controller 2 patches, a start") != std::string::npos);
}

}  // namespace
}  // namespace driverupgrade::tests
