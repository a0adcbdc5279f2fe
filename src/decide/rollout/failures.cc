#include "decide/rollout/failures.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

// As failurePolicy.maxFailures: a percentage rounds down, and one failure may always happen.
int LimitOf(const CountOrPercent& budget, int total) {
  if (const Count* count = std::get_if<Count>(&budget)) return count->value;
  return std::max(1, static_cast<int>(std::int64_t{std::get_if<Percent>(&budget)->value} * total / 100));
}

}  // namespace

std::optional<FailureClass> ClassOf(const FailureFacts& facts) {
  if (!facts.node_ready) return FailureClass::kNodeLost;
  switch (facts.failed_in) {
    case UpgradeState::kPodDeletionRequired:
    case UpgradeState::kDrainRequired:
    case UpgradeState::kNodeMaintenanceRequired: return FailureClass::kDrainBlocked;
    case UpgradeState::kPodRestartRequired:
      return facts.image_pull_fails ? FailureClass::kImagePull : FailureClass::kDriverCrash;
    case UpgradeState::kValidationRequired: return FailureClass::kValidation;
    case UpgradeState::kUnknown:
    case UpgradeState::kUpgradeRequired:
    case UpgradeState::kCordonRequired:
    case UpgradeState::kWaitForJobsRequired:
    case UpgradeState::kPostMaintenanceRequired:
    case UpgradeState::kUncordonRequired:
    case UpgradeState::kDone:
    case UpgradeState::kFailed: break;
  }
  return std::nullopt;
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
    return fmt::format("failurePolicy.byClass.{}: {} nodes have failed, {} stop the rollout", ToString(failure), count,
                       limit);
  }
  return std::nullopt;
}

}  // namespace driverupgrade::internal
