#include "whatif/budgets.h"

#include <algorithm>

#include "decide/gate_subject.h"
#include "fmt/format.h"

namespace driverupgrade::whatif {

Budgets::Budgets(const ClusterObjects& objects, const ClusterFacts& facts) : facts_(facts) {
  for (const PodDisruptionBudget& budget : objects.pod_disruption_budgets) {
    OfNamespace& of_namespace = by_namespace_[budget.ns];
    const auto& requirements = budget.selector.requirements();
    const auto wanted = std::find_if(requirements.begin(), requirements.end(),
                                     [](const auto& one) { return one.op == LabelSelector::Operator::kIn; });
    if (wanted == requirements.end()) {
      of_namespace.others.push_back(&budget);
      continue;
    }
    for (const std::string& value : wanted->values) of_namespace.by_label[{wanted->key, value}].push_back(&budget);
  }
}

std::vector<const PodDisruptionBudget*> Budgets::Candidates(const Pod& pod) const {
  const auto found = by_namespace_.find(pod.ref.ns);
  if (found == by_namespace_.end()) return {};
  List candidates = found->second.others;
  for (const auto& [key, value] : pod.labels) {
    const auto with_label = found->second.by_label.find({key, value});
    if (with_label == found->second.by_label.end()) continue;
    candidates.insert(candidates.end(), with_label->second.begin(), with_label->second.end());
  }
  return candidates;
}

std::vector<const PodDisruptionBudget*> Budgets::Of(const Pod& pod) const {
  std::vector<const PodDisruptionBudget*> selecting = Candidates(pod);
  std::erase_if(selecting, [&](const auto* budget) { return !budget->selector.Matches(pod.labels); });
  std::sort(selecting.begin(), selecting.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  return selecting;
}

std::optional<Gate> Budgets::Refusal(const Pod& pod) const {
  // The eviction of a pod that has finished, or does not run yet, does not count as a disruption.
  if (pod.phase != PodPhase::kRunning) return std::nullopt;
  const std::vector<const PodDisruptionBudget*> budgets = Of(pod);
  if (budgets.empty()) return std::nullopt;
  if (budgets.size() > 1) {
    return Gate{.reason = GateReason::kSeveralBudgets,
                .detail = fmt::format("{}: selected by the disruption budgets {} and {}, so no eviction is possible",
                                      pod.ref.ToString(), budgets[0]->name, budgets[1]->name),
                .subject = PodSubject(pod.ref)};
  }
  const PodDisruptionBudget& budget = *budgets.front();
  if (budget.disruptions_allowed > 0) return std::nullopt;
  if (!IsReady(pod)) {
    const auto always = facts_.always_allow_unhealthy.find(budget.ns + "/" + budget.name);
    if (always != facts_.always_allow_unhealthy.end() && always->second) return std::nullopt;
    if (budget.current_healthy >= budget.desired_healthy && budget.desired_healthy > 0) return std::nullopt;
  }
  return Gate{.reason = GateReason::kDisruptionBudget,
              .detail = fmt::format("{}: disruption budget {} allows none ({} healthy, {} needed)", pod.ref.ToString(),
                                    budget.name, budget.current_healthy, budget.desired_healthy),
              .subject = PodSubject(pod.ref)};
}

bool Budgets::NeverAllows(const PodDisruptionBudget& budget) const {
  const auto expected = facts_.expected_pods.find(budget.ns + "/" + budget.name);
  return expected != facts_.expected_pods.end() && expected->second > 0 && budget.desired_healthy >= expected->second;
}

}  // namespace driverupgrade::whatif
