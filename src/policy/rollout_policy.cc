#include "driverupgrade/rollout_policy.h"

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "policy/field_checker.h"
#include "policy/rollout_fields.h"
#include "policy/windows.h"

namespace driverupgrade {

std::string_view ToString(FailureClass failure) {
  switch (failure) {
    case FailureClass::kDriverCrash: return "DriverCrash";
    case FailureClass::kImagePull: return "ImagePull";
    case FailureClass::kValidation: return "Validation";
    case FailureClass::kDrainBlocked: return "DrainBlocked";
    case FailureClass::kNodeLost: return "NodeLost";
  }
  return "";
}

std::string_view ToString(Rollback rollback) { return internal::WordOf(internal::kRollbackWords, rollback); }
std::string_view ToString(GangMode mode) { return internal::WordOf(internal::kGangModeWords, mode); }
std::string_view ToString(Steer steer) { return internal::WordOf(internal::kSteerWords, steer); }
std::string_view ToString(TooBig too_big) { return internal::WordOf(internal::kTooBigWords, too_big); }

void internal::CheckGangs(const RolloutPolicy& rollout, FieldChecker& checker) {
  checker.Require(!rollout.gangs || !rollout.groups, "rollout.gangs",
                  "cannot be combined with rollout.groups; remove one of them");
}

void internal::CheckFinishBy(const RolloutPolicy& rollout, FieldChecker& checker) {
  if (!rollout.finish_by) return;
  checker.Require(!rollout.windows.empty() || !rollout.closed.empty(), "rollout.finishBy",
                  "requires windows or closed: without them, no window ever closes");
  checker.Require(rollout.expected_node_duration.has_value(), "rollout.finishBy",
                  "needs expectedNodeSeconds, which is used until nodes have been measured");
  // If the windows are invalid, the longest window cannot be computed.
  if (!checker.Result().ok() || !rollout.expected_node_duration) return;
  const absl::Duration longest = LongestWindow(rollout);
  checker.Require(*rollout.expected_node_duration < longest, "rollout.expectedNodeSeconds",
                  fmt::format("must be shorter than the longest window, {}: with finishBy no node would start",
                              absl::FormatDuration(longest)));
}

void internal::Check(const FailureBudgets& budgets, FieldChecker& checker) {
  for (const auto& [failure, budget] : budgets) {
    checker.Check(fmt::format("failurePolicy.byClass.{}", ToString(failure)), NumberOrPercent{.min = 1}, budget);
  }
}

absl::Status Validate(const RolloutPolicy& rollout) {
  internal::FieldChecker checker;
  internal::CheckFields(internal::kRolloutFields, "rollout", rollout, checker);
  return checker.Result();
}

absl::Status Validate(const FailureBudgets& budgets) {
  internal::FieldChecker checker;
  internal::Check(budgets, checker);
  return checker.Result();
}

}  // namespace driverupgrade
