#include "property/naive_step.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "decide/admission/grants.h"
#include "decide/admission/rollout_round.h"
#include "decide/marks_of_view.h"
#include "decide/rollout/failures.h"
#include "decide/step_parts.h"
#include "decide/verdict.h"

namespace driverupgrade::tests {
namespace {

// Lets the policy's rollout decide which nodes start. Without a rollout, does the same as AdmitAmong.
template <typename Start>
void AdmitByRollout(const ClusterSnapshot& snapshot, const internal::RolloutInput& input,
                    internal::RolloutMembers& members, const Sums& sums, std::size_t elsewhere, const Start& start,
                    std::vector<internal::KeptVerdict>& verdicts, Plan& plan) {
  internal::RolloutRound round = internal::AdmitByRollout(input, members, sums, elsewhere);
  for (const internal::RolloutDecision& decision : round.decisions) {
    internal::KeptVerdict& verdict = verdicts[decision.index];
    if (decision.gate == nullptr) {
      const std::string unit = decision.reload_only ? "" : members.UnitOf(decision.index);
      verdict = start(*snapshot.nodes[decision.index], unit, decision.reload_only);
    } else {
      verdict.gate = AtPlace(*decision.gate, decision.place);
    }
  }
  for (const std::size_t i : round.pod_interest) verdicts[i].pod_interest = true;
  plan.budget = round.budget;
  plan.rollout = std::move(round.status);
  plan.wake_at = round.wake_at;
  plan.findings.insert(plan.findings.end(), round.findings.begin(), round.findings.end());
}

// Lets the limits decide which nodes start. Calls `start` to evaluate each starting node again; the other nodes get a
// gate.
template <typename Start>
void AdmitAmong(const ClusterSnapshot& snapshot, Limits limits, const Start& start,
                std::vector<internal::KeptVerdict>& verdicts) {
  std::vector<WaitingNode> waiting;
  std::vector<std::size_t> nodes;  // indexes of the waiting nodes
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (!verdicts[i].candidate) continue;
    nodes.push_back(i);
    waiting.push_back({.node = snapshot.nodes[i]->node.name, .candidate = *verdicts[i].candidate});
  }
  for (AdmissionDecision& decision : NaiveAdmit(std::move(limits), waiting)) {
    const std::size_t i = nodes[decision.index];
    if (decision.gate) {
      verdicts[i].gate = std::move(decision.gate);
    } else {
      verdicts[i] = start(*snapshot.nodes[i]);
    }
  }
}

// Returns the NodeReading of each node that has or needs a grant. `elsewhere` contains the grants of nodes outside the
// snapshot.
std::vector<NodeReading> ReadingsOf(const ClusterSnapshot& snapshot, const std::vector<internal::KeptVerdict>& verdicts,
                                    const Grants& elsewhere) {
  std::vector<NodeReading> readings;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const Node& node = snapshot.nodes[i]->node;
    if (!verdicts[i].needs_grant && (snapshot.grants.empty() || !snapshot.grants.contains(node.uid))) continue;
    readings.push_back(
        {.uid = node.uid, .resource_version = node.resource_version, .holds_slot = verdicts[i].holds_slot});
  }
  for (const auto& [uid, version] : elsewhere) readings.push_back(ReadingElsewhere(uid, version));
  return readings;
}

// Returns the same names as UpgradeBudget::unavailable_nodes, regardless of the order of the views.
std::vector<std::string> NameFirst(std::vector<const NodeView*> views, const DriverIdentity& identity,
                                   const NodeRules& rules) {
  const std::size_t named = std::min(views.size(), internal::kUnavailableNamed);
  std::partial_sort(views.begin(), views.begin() + static_cast<std::ptrdiff_t>(named), views.end(),
                    [](const NodeView* a, const NodeView* b) { return a->node.name < b->node.name; });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < named; ++i) names.push_back(internal::UnavailableNode(*views[i], identity, rules));
  return names;
}

}  // namespace

std::vector<AdmissionDecision> NaiveAdmit(Limits limits, const std::vector<WaitingNode>& waiting) {
  std::vector<std::size_t> order(waiting.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto goes_before = [&](std::size_t a, std::size_t b) { return GoesBefore(waiting[a], waiting[b]); };
  if (!std::is_sorted(order.begin(), order.end(), goes_before)) std::sort(order.begin(), order.end(), goes_before);
  int place = 0;
  const Limit* last = nullptr;
  Gate refusal;  // the gate of `last`; valid until another node starts
  std::vector<AdmissionDecision> decisions;
  decisions.reserve(waiting.size());
  for (const std::size_t index : order) {
    const Candidate& candidate = waiting[index].candidate;
    AdmissionDecision& decision = decisions.emplace_back();
    decision.index = index;
    const Limit* limit = limits.Refusing(candidate);
    if (limit == nullptr) {
      limits.Take(candidate);
      last = nullptr;
    } else {
      if (std::exchange(last, limit) != limit) refusal = limit->Describe();
      decision.gate = AtPlace(refusal, ++place);
    }
  }
  return decisions;
}

Plan NaiveStep(const StateMachine& machine, const ClusterSnapshot& snapshot, const UpgradePolicy& policy,
               absl::Time now) {
  const NodeRules rules = policy;
  const AdmissionLimits limits = policy;
  const auto start = [&](const NodeView& view, const std::string& unit = "", bool reload_only = false) {
    return internal::Keep(
        machine.Judge(view, *snapshot.driver, rules, now, snapshot.active_since, /*admitted=*/true, unit, reload_only));
  };
  std::optional<internal::RolloutRules> rollout;
  if (limits.rollout && rules.auto_upgrade) rollout = internal::RulesOf(*limits.rollout, limits.failures_by_class);
  std::optional<internal::RolloutInput> by_rollout;
  if (rollout) {
    by_rollout.emplace(internal::RolloutInput{.rules = *rollout,
                                              .facts = snapshot.rollout,
                                              .driver = *snapshot.driver,
                                              .machine = machine,
                                              .node_rules = rules,
                                              .limits = limits,
                                              .shared_slots = snapshot.shared_slots,
                                              .now = now});
  }
  internal::RolloutMembers members;
  std::vector<const NodeView*> unavailable_views;
  Sums sums;
  Grants elsewhere = snapshot.grants;
  std::vector<internal::KeptVerdict> verdicts;
  verdicts.reserve(snapshot.nodes.size());
  for (const std::shared_ptr<const NodeView>& view : snapshot.nodes) {
    Verdict verdict = machine.Judge(*view, *snapshot.driver, rules, now, snapshot.active_since, /*admitted=*/false);
    const GrantShare share = ShareOf(snapshot.grants, *view, verdict);
    elsewhere.erase(view->node.uid);
    sums.Add(verdict.tally, share);
    if (CountsAsUnavailable(verdict.tally, share)) unavailable_views.push_back(view.get());
    if (verdict.candidate) verdict.candidate->has_grant = share.first;
    verdicts.push_back(internal::Keep(std::move(verdict)));
    if (by_rollout) members.Add(*view, verdicts.back(), share, *by_rollout);
  }
  sums = sums.AndElsewhere(elsewhere.size());
  std::vector<std::string> unavailable;
  if (limits.max_unavailable) unavailable = NameFirst(std::move(unavailable_views), machine.identity(), rules);
  if (by_rollout) by_rollout->unavailable_nodes = unavailable;
  const Budgets budgets = sums.Against(limits, snapshot.shared_slots, std::move(unavailable));
  Plan plan{.totals = sums.with, .budget = budgets.all, .findings = snapshot.findings};
  if (by_rollout) {
    AdmitByRollout(snapshot, *by_rollout, members, sums, elsewhere.size(), start, verdicts, plan);
  } else {
    AdmitAmong(snapshot, Limits::Of(budgets, limits.paused), start, verdicts);
  }
  plan.readings = ReadingsOf(snapshot, verdicts, elsewhere);
  plan.gates.reserve(static_cast<std::size_t>(
      std::count_if(verdicts.begin(), verdicts.end(), [](const auto& kept) { return kept.gate.has_value(); })));
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    internal::AddVerdict(snapshot.nodes[i]->node.name, std::move(verdicts[i]), plan);
  }
  return plan;
}

}  // namespace driverupgrade::tests
