#include "observe/withheld_plan.h"

#include <algorithm>
#include <utility>

#include "observe/gate_memory.h"

namespace driverupgrade::internal {

Plan IncompletePlan(PlanUpdate update, const IncrementalPlanner& planner) {
  update.plan.pod_interest.assign(planner.pod_interest().begin(), planner.pod_interest().end());
  update.plan.gates_complete = false;
  update.plan.ungated = std::move(update.ungated);
  return std::move(update.plan);
}

void WithholdNodes(IncrementalPlanner& planner, const std::map<std::string, Gate>& gates, Plan& plan) {
  if (gates.empty()) return;
  Plan left = IncompletePlan(planner.Withhold(gates), planner);
  CarryGates(plan, left);
  left.finished = plan.finished;
  if (plan.wake_at) left.wake_at = std::min(*plan.wake_at, left.wake_at.value_or(absl::InfiniteFuture()));
  left.findings = std::move(plan.findings);
  plan = std::move(left);
}

}  // namespace driverupgrade::internal
