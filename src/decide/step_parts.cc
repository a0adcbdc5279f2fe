#include "decide/step_parts.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace driverupgrade::internal {

KeptVerdict Keep(Verdict&& verdict) {
  KeptVerdict kept{.from = verdict.plan.from,
                   .state = verdict.plan.to(),
                   .needs_grant = verdict.plan.needs_grant,
                   .holds_slot = verdict.tally.slots > 0,
                   .in_progress = verdict.tally.in_progress > 0,
                   .pod_interest = verdict.pod_interest,
                   .gate = std::move(verdict.gate),
                   .candidate = verdict.candidate,
                   .findings = std::move(verdict.findings),
                   .wake_at = verdict.wake_at};
  if (!verdict.plan.empty()) kept.plan = std::make_unique<NodePlan>(std::move(verdict.plan));
  return kept;
}

KeptVerdict CopyOf(const KeptVerdict& verdict) {
  KeptVerdict copy{.from = verdict.from,
                   .state = verdict.state,
                   .needs_grant = verdict.needs_grant,
                   .holds_slot = verdict.holds_slot,
                   .in_progress = verdict.in_progress,
                   .pod_interest = verdict.pod_interest,
                   .gate = verdict.gate,
                   .candidate = verdict.candidate,
                   .findings = verdict.findings,
                   .wake_at = verdict.wake_at};
  if (verdict.plan != nullptr) copy.plan = std::make_unique<NodePlan>(*verdict.plan);
  return copy;
}

void Withhold(const Gate& gate, KeptVerdict& verdict) {
  verdict.plan.reset();
  verdict.state = verdict.from;
  verdict.needs_grant = false;
  verdict.gate = gate;
  if (gate.not_before) verdict.wake_at = std::min(*gate.not_before, verdict.wake_at.value_or(absl::InfiniteFuture()));
}

void AddVerdict(const std::string& node, KeptVerdict&& verdict, Plan& plan) {
  if (verdict.plan != nullptr) plan.nodes.push_back(std::move(*verdict.plan));
  if (verdict.gate) plan.gates.push_back({.node = node, .state = verdict.state, .gate = *std::move(verdict.gate)});
  if (verdict.pod_interest) plan.pod_interest.push_back(node);
  if (verdict.wake_at) plan.wake_at = std::min(*verdict.wake_at, plan.wake_at.value_or(absl::InfiniteFuture()));
  plan.findings.insert(plan.findings.end(), std::make_move_iterator(verdict.findings.begin()),
                       std::make_move_iterator(verdict.findings.end()));
}

}  // namespace driverupgrade::internal
