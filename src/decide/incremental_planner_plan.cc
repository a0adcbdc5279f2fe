// Implements the members of IncrementalPlanner that report the plan, the changed gates and the PublishedPlan.
#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "decide/incremental_planner_impl.h"
#include "decide/published_plan.h"

namespace driverupgrade::internal {

Plan IncrementalPlanner::Impl::PlanWithoutGates() const {
  Plan plan = PlanWithoutNodes();
  plan.nodes.reserve(acting_.size());
  for (const std::string& name : acting_) plan.nodes.push_back(*nodes_.at(name).judged->verdict.plan);
  for (const std::string& name : with_findings_) {
    const std::vector<Finding>& found = nodes_.at(name).judged->verdict.findings;
    plan.findings.insert(plan.findings.end(), found.begin(), found.end());
  }
  if (const auto wake_at = due_.wake_at()) {
    plan.wake_at = std::min(*wake_at, plan.wake_at.value_or(absl::InfiniteFuture()));
  }
  return plan;
}

Plan IncrementalPlanner::Impl::PlanWithoutNodes() const {
  Plan plan{.totals = totals_,
            .budget = budget_,
            .findings = findings_,
            .wake_at = rollout_.wake_at(),
            .readings = Readings(),
            .rollout = rollout_.status()};
  const std::vector<Finding>& of_rollout = rollout_.findings();
  plan.findings.insert(plan.findings.end(), of_rollout.begin(), of_rollout.end());
  return plan;
}

std::vector<NodeReading> IncrementalPlanner::Impl::Readings() const {
  std::vector<NodeReading> readings;
  for (const std::string& name : in_ledger_) {
    const PlannedNode& planned = nodes_.at(name);
    const Node& node = planned.view->node;
    readings.push_back(
        {.uid = node.uid, .resource_version = node.resource_version, .holds_slot = planned.judged->verdict.holds_slot});
  }
  for (const std::string& uid : elsewhere_) readings.push_back(ReadingElsewhere(uid, grants_.at(uid)));
  return readings;
}

// Keeps in `touched` at most `told` nodes that wait for a slot: the first by name, including nodes that an earlier call
// postponed. Postpones the others.
void IncrementalPlanner::Impl::PostponeTelling(std::size_t told, Names& touched) {
  if (told == std::numeric_limits<std::size_t>::max() && untold_.empty()) return;
  for (auto name = touched.begin(); name != touched.end();) {
    const auto found = nodes_.find(*name);
    const bool waits = found != nodes_.end() && found->second.judged->verdict.candidate;
    const auto next = std::next(name);
    if (waits) untold_.insert(touched.extract(name));
    name = next;
  }
  for (; told > 0 && !untold_.empty(); --told) {
    auto name = untold_.extract(untold_.begin());
    const auto found = nodes_.find(name.value());
    // A new node has taken this name, and its gate is reported once the node has been evaluated.
    const bool is_new = found != nodes_.end() && found->second.judged == nullptr;
    if (!is_new) touched.insert(std::move(name));
  }
}

auto IncrementalPlanner::Impl::GateToTell(const std::string& name, const PlannedNode& node) const
    -> std::optional<ToldGate> {
  const KeptVerdict& verdict = node.judged->verdict;
  if (!verdict.candidate && !verdict.gate) return std::nullopt;
  ToldGate told{.state = verdict.state};
  if (!verdict.candidate) {
    told.gate = *verdict.gate;
  } else if (const RolloutWaits* waits = rollout_.waits().get(); waits != nullptr) {
    const RolloutWaits::Wait* wait = waits->WaitOf(name);
    if (wait == nullptr) return std::nullopt;
    told.gate = *wait->gate;
  } else {
    told.gate = queue_.refusals().Of({.node = name, .candidate = *verdict.candidate});
  }
  return told;
}

// Ignores the counts in the gate of a candidate, because these counts change with every admission.
bool IncrementalPlanner::Impl::IsTold(const PlannedNode& node, const ToldGate& gate) {
  if (!node.told) return false;
  if (!node.judged->verdict.candidate) return node.told == gate;
  return node.told->state == gate.state && node.told->gate.reason == gate.gate.reason;
}

void IncrementalPlanner::Impl::TellGates(const Names& names, PlanUpdate& update) {
  for (const std::string& name : names) {
    bool was_told = told_before_.erase(name) > 0;
    const auto found = nodes_.find(name);
    if (found != nodes_.end()) {
      PlannedNode& node = found->second;
      std::optional<ToldGate> gate = GateToTell(name, node);
      if (gate && IsTold(node, *gate)) continue;
      if (gate) update.plan.gates.push_back({.node = name, .state = gate->state, .gate = gate->gate});
      was_told |= node.told.has_value();
      node.told = std::move(gate);
      if (node.told) continue;
    }
    if (was_told) update.ungated.push_back(name);
  }
}

// Notes the node in `told_before_`, because the caller may still know an earlier gate of the node.
void IncrementalPlanner::Impl::NotTold(const std::string& name) {
  const auto found = nodes_.find(name);
  if (found == nodes_.end() || !found->second.told) return;
  found->second.told.reset();
  told_before_.insert(name);
}

std::shared_ptr<const PublishedPlan> IncrementalPlanner::Impl::Publish() {
  Plan plan = PlanWithoutNodes();
  plan.pod_interest.assign(rollout_.interest().begin(), rollout_.interest().end());
  PublishedPlan::Parts parts{.identity = identity_,
                             .driver = driver_,
                             .auto_upgrade = rules_.auto_upgrade,
                             .paused = limits_.paused,
                             .plan = std::move(plan),
                             .nodes = judged_.Share(),
                             .refusals = queue_.refusals(),
                             .rollout = rollout_.waits()};
  if (limits_.rollout && limits_.rollout->groups) parts.group_label = limits_.rollout->groups->by;
  return std::make_shared<const PublishedPlan>(std::move(parts));
}

}  // namespace driverupgrade::internal
