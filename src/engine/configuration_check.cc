#include "engine/configuration_check.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

bool EvictsNothing(const UpgradePolicy& policy) {
  const bool selects = policy.pod_deletion && !policy.pod_deletion->pod_selector.empty();
  return policy.auto_upgrade && !policy.drain && !selects;
}

}  // namespace

// In requestor mode, a maintenance operator evicts pods under any policy.
ConfigurationCheck::ConfigurationCheck(const EngineOptions& options)
    : no_daemon_set_(fmt::format("no DaemonSet in namespace {} matches {}", options.snapshot.ns,
                                 options.snapshot.driver_labels.ToString())),
      evicts_by_itself_(options.snapshot.uses_driver != nullptr || options.state_machine.requestor) {}

std::vector<Finding> ConfigurationCheck::Look(const UpgradePolicy& policy, bool sees_daemon_set) const {
  std::vector<Finding> wrong;
  if (!sees_daemon_set) wrong.push_back({.code = FindingCode::kNoDaemonSet, .message = no_daemon_set_});
  if (!evicts_by_itself_ && EvictsNothing(policy)) {
    wrong.push_back(
        {.code = FindingCode::kNothingIsEvicted,
         .message = "drain is off, and the engine does not know which pods use the driver, so it replaces the driver "
                    "while they run"});
  }
  return wrong;
}

std::vector<Finding> ConfigurationCheck::News(const std::vector<Finding>& wrong, const Plan& plan) {
  const bool starts = std::any_of(plan.nodes.begin(), plan.nodes.end(), [](const NodePlan& node) {
    return node.to() == UpgradeState::kUpgradeRequired || IsInProgress(node.to());
  });
  const bool rolls = starts || plan.totals.Moving() + plan.totals.pending > 0;
  const bool begins = !std::exchange(rolls_, rolls) && rolls;
  std::vector<Finding> news;
  std::set<FindingCode> codes;
  for (const Finding& finding : wrong) {
    codes.insert(finding.code);
    const bool is_new = !told_.contains(finding.code);
    const bool by_rollout = finding.code == FindingCode::kNothingIsEvicted;
    const bool again = begins && by_rollout && std::exchange(told_in_rollout_, true);
    if (is_new && by_rollout) told_in_rollout_ = rolls;
    if (is_new || again) news.push_back(finding);
  }
  told_ = std::move(codes);
  return news;
}

}  // namespace driverupgrade::internal
