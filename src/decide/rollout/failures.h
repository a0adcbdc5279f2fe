// Classifies failed upgrades, and limits how many failures of each class a rollout tolerates.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_FAILURES_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_FAILURES_H_

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "driverupgrade/driver_identity.h"
#include "driverupgrade/rollout_policy.h"
#include "driverupgrade/upgrade_state.h"
#include "model/node_marks.h"

namespace driverupgrade::internal {

struct FailureFacts {
  // State from which the node entered upgrade-failed.
  UpgradeState failed_in = UpgradeState::kUnknown;
  bool node_ready = true;
  // True if the image of a driver pod's container cannot be pulled.
  bool image_pull_fails = false;
};
// Returns the class of a failure; nullopt if no class applies.
std::optional<FailureClass> ClassOf(const FailureFacts& facts);

// Returns true if the node failed because it could not be evacuated, and was returned to service with its old driver
// (OnFailure::kGiveBack).
bool IsGivenBack(const NodeMarks& marks, const DriverIdentity& identity);

// Returns the class with this name; nullopt if there is no such class.
std::optional<FailureClass> ParseFailureClass(std::string_view name);

// Returns a message for users about the first class that has exhausted its budget; nullopt if every class has budget
// left. `total`: number of nodes in the fleet. `failed`: number of failed nodes by FailureClass.
std::optional<std::string> ExhaustedBudget(const FailureBudgets& budgets,
                                           const std::array<int, kAllFailureClasses.size()>& failed, int total);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_FAILURES_H_
