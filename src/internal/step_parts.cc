#include "internal/step_parts.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace driverupgrade::inline v1::internal {

Tally Totals(Tally nodes, const DriverFacts& driver, const UpgradePolicy& policy) {
  if (policy.on_unscheduled_pods == OnUnscheduledPods::kCountUnavailable) nodes.unavailable += driver.unscheduled_pods;
  return nodes;
}

void AddVerdict(Verdict verdict, Plan& plan) {
  const UpgradeState state = verdict.plan.to();
  const std::string node = verdict.plan.node;
  if (!verdict.plan.empty()) plan.nodes.push_back(std::move(verdict.plan));
  if (verdict.gate) plan.gates.push_back({.node = node, .state = state, .gate = std::move(*verdict.gate)});
  if (verdict.pod_interest) plan.pod_interest.push_back(node);
  if (verdict.wake_at) plan.wake_at = std::min(*verdict.wake_at, plan.wake_at.value_or(absl::InfiniteFuture()));
  plan.findings.insert(plan.findings.end(), std::make_move_iterator(verdict.findings.begin()),
                       std::make_move_iterator(verdict.findings.end()));
}

}  // namespace driverupgrade::inline v1::internal
