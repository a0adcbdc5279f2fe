#include "decide/rollout/failures.h"

#include "support/catch.h"

namespace driverupgrade::internal {
namespace {

TEST_CASE("the class of a failure follows from the state in which the node failed") {
  CHECK(ClassOf({.failed_in = UpgradeState::kDrainRequired}) == FailureClass::kDrainBlocked);
  CHECK(ClassOf({.failed_in = UpgradeState::kPodDeletionRequired}) == FailureClass::kDrainBlocked);
  CHECK(ClassOf({.failed_in = UpgradeState::kNodeMaintenanceRequired}) == FailureClass::kDrainBlocked);
  CHECK(ClassOf({.failed_in = UpgradeState::kValidationRequired}) == FailureClass::kValidation);
  CHECK(ClassOf({.failed_in = UpgradeState::kPodRestartRequired}) == FailureClass::kDriverCrash);
  CHECK_FALSE(ClassOf({.failed_in = UpgradeState::kUncordonRequired}));
  CHECK(ClassOf({.failed_in = UpgradeState::kDrainRequired, .node_ready = false}) == FailureClass::kNodeLost);
}

TEST_CASE("a driver whose image cannot be pulled has a different failure class from a driver that crashes") {
  CHECK(ClassOf({.failed_in = UpgradeState::kPodRestartRequired, .image_pull_fails = true}) ==
        FailureClass::kImagePull);
  CHECK(ClassOf({.failed_in = UpgradeState::kPodRestartRequired}) == FailureClass::kDriverCrash);
  CHECK(ClassOf({.failed_in = UpgradeState::kDrainRequired, .image_pull_fails = true}) == FailureClass::kDrainBlocked);
}

// Returns the number of failed nodes by class.
std::array<int, kAllFailureClasses.size()> Failed(std::initializer_list<std::pair<FailureClass, int>> counts) {
  std::array<int, kAllFailureClasses.size()> failed = {};
  for (const auto& [failure, count] : counts) failed[static_cast<std::size_t>(failure)] = count;
  return failed;
}

TEST_CASE("each failure class has its own limit that stops the rollout") {
  const FailureBudgets budgets = {{FailureClass::kImagePull, Count{2}}, {FailureClass::kNodeLost, Percent{10}}};
  CHECK_FALSE(ExhaustedBudget(budgets, {}, 100));
  CHECK_FALSE(ExhaustedBudget(budgets, Failed({{FailureClass::kImagePull, 1}, {FailureClass::kDriverCrash, 50}}), 100));
  CHECK(ExhaustedBudget(budgets, Failed({{FailureClass::kImagePull, 2}}), 100) ==
        "failurePolicy.byClass.ImagePull: 2 nodes failed (limit 2); no further node starts");
  CHECK_FALSE(ExhaustedBudget(budgets, Failed({{FailureClass::kNodeLost, 9}}), 109));
  CHECK(ExhaustedBudget(budgets, Failed({{FailureClass::kNodeLost, 10}}), 109));
  // In a small fleet, a percentage limit stops the rollout at the first failure, but not before.
  CHECK(ExhaustedBudget(budgets, Failed({{FailureClass::kNodeLost, 1}}), 5));
  CHECK_FALSE(ExhaustedBudget(budgets, Failed({{FailureClass::kNodeLost, 0}}), 5));
}

}  // namespace
}  // namespace driverupgrade::internal
