#include "decide/step_parts.h"

#include <algorithm>
#include <utility>

namespace driverupgrade::internal {

void Withhold(const Gate& gate, Verdict& verdict) {
  const NodePlan& plan = verdict.plan;
  verdict.plan = {.node = plan.node, .uid = plan.uid, .resource_version = plan.resource_version, .from = plan.from};
  verdict.gate = gate;
  if (gate.not_before) verdict.wake_at = std::min(*gate.not_before, verdict.wake_at.value_or(absl::InfiniteFuture()));
}

void AddVerdict(const std::string& node, Verdict&& verdict, Plan& plan) {
  const UpgradeState state = verdict.plan.to();
  if (!verdict.plan.empty()) plan.nodes.push_back(std::move(verdict.plan));
  if (verdict.gate) plan.gates.push_back({.node = node, .state = state, .gate = std::move(*verdict.gate)});
  AddRest(node, verdict, plan);
}

}  // namespace driverupgrade::internal
