#include "decide/rollout/failures.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "fmt/format.h"
#include "model/cordon.h"

namespace driverupgrade::internal {
namespace {

// Uses the rule of failurePolicy.maxFailures: a percentage is rounded down, and one failure is always allowed.
int LimitOf(const CountOrPercent& budget, int total) {
  if (const Count* count = std::get_if<Count>(&budget)) return count->value;
  return std::max(1, static_cast<int>(std::int64_t{std::get_if<Percent>(&budget)->value} * total / 100));
}

}  // namespace

std::optional<FailureClass> ClassOf(const FailureFacts& facts) {
  if (!facts.node_ready) return FailureClass::kNodeLost;
  switch (TraitsOf(facts.failed_in).limit) {
    case StageLimit::kPodDeletion:
    case StageLimit::kDrain: return FailureClass::kDrainBlocked;
    case StageLimit::kPodRestart: return facts.image_pull_fails ? FailureClass::kImagePull : FailureClass::kDriverCrash;
    case StageLimit::kValidation: return FailureClass::kValidation;
    case StageLimit::kNone:
    case StageLimit::kJobs: break;
  }
  // The time limit of this state comes from the maintenance operator, so the traits of the state contain no limit.
  if (facts.failed_in == UpgradeState::kNodeMaintenanceRequired) return FailureClass::kDrainBlocked;
  return std::nullopt;
}

// A failed node that is still isolated has our name in its cordon set, isolated devices, or a mark for an
// administrator's cordon. A node that was returned to service has none of these, and its failure class is
// kDrainBlocked.
bool IsGivenBack(const NodeMarks& marks, const DriverIdentity& identity) {
  return marks.State() == UpgradeState::kFailed &&
         marks.failure_class.value() == ToString(FailureClass::kDrainBlocked) && !IsIsolated(marks, identity) &&
         !WasInitiallyUnschedulable(marks);
}

std::optional<FailureClass> ParseFailureClass(std::string_view name) {
  const auto failure = std::find_if(kAllFailureClasses.begin(), kAllFailureClasses.end(),
                                    [&](FailureClass one) { return ToString(one) == name; });
  return failure == kAllFailureClasses.end() ? std::nullopt : std::optional(*failure);
}

std::optional<std::string> ExhaustedBudget(const FailureBudgets& budgets,
                                           const std::array<int, kAllFailureClasses.size()>& failed, int total) {
  for (const auto& [failure, budget] : budgets) {
    const int count = failed[static_cast<std::size_t>(failure)];
    const int limit = LimitOf(budget, total);
    if (count < limit) continue;
    return fmt::format("failurePolicy.byClass.{}: {} nodes failed (limit {}); no further node starts",
                       ToString(failure), count, limit);
  }
  return std::nullopt;
}

}  // namespace driverupgrade::internal
