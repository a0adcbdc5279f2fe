#include "decide/rollout_planner.h"

#include "decide/rollout/groups.h"
#include "model/node_marks.h"
#include "policy/rollout_codec.h"

namespace driverupgrade::internal {

void RolloutPlanner::SetPolicy(const AdmissionLimits& limits) {
  rules_.reset();
  if (limits.rollout) rules_ = RulesOf(*limits.rollout, limits.failures_by_class);
  is_stale_ = true;
  const std::string text = FormatRolloutSections({.rollout = limits.rollout});
  stages_go_by_state_ = text.find(identity_.StateLabel()) != std::string::npos;
}

// Ignores the state label unless stages depend on it, because this label changes with every step of a node.
void RolloutPlanner::LabelsChanged(const Node& before, const Node& after) {
  if (before.labels == after.labels) return;
  if (stages_go_by_state_ || LabelsWithoutState(before, identity_) != LabelsWithoutState(after, identity_)) {
    members_.LabelsChanged();
  }
}

void RolloutPlanner::ForgetRound() {
  budget_.reset();
  status_.reset();
  findings_.clear();
  wake_at_.reset();
  interest_.clear();
  uncordoned_units_.clear();
  of_unknown_units_.clear();
  starting_groups_.clear();
}

void RolloutPlanner::Skip() {
  ForgetRound();
  waits_ = nullptr;
  is_stale_ = true;
  changed_.clear();
}

auto RolloutPlanner::Admit(const RolloutInput& input, PlannedNodes& nodes, const Sums& sums, std::size_t elsewhere,
                           Names& touched) -> std::vector<NamedNode*> {
  ForgetRound();
  RenewMembers(input, nodes);
  RolloutRound round = AdmitByRollout(input, members_, sums, elsewhere);
  for (const std::size_t i : round.pod_interest) interest_.insert(interest_.end(), nodes_[i]->first);
  const std::optional<NodeGroups> groups = GroupsOf(rules_->policy);
  const bool together = groups && groups->mode == GroupMode::kTogether;
  NoteWaits(round, touched);
  std::vector<NamedNode*> starting;
  for (const RolloutDecision& decision : round.decisions) {
    if (decision.gate != nullptr) continue;
    NamedNode* node = starting.emplace_back(nodes_[decision.index]);
    node->second.reload_only = decision.reload_only;
    node->second.unit = decision.reload_only ? "" : members_.UnitOf(decision.index);
    if (together && !decision.reload_only) starting_groups_[node->first] = members_.GroupOf(decision.index, *groups);
  }
  uncordoned_units_ = std::move(round.uncordoned_units);
  for (const std::size_t i : round.of_unknown_units) of_unknown_units_.insert(nodes_[i]->first);
  budget_ = round.budget;
  status_ = std::move(round.status);
  findings_ = std::move(round.findings);
  wake_at_ = round.wake_at;
  return starting;
}

void RolloutPlanner::RenewMembers(const RolloutInput& input, PlannedNodes& nodes) {
  if (!std::exchange(is_stale_, false)) {
    for (const PlannedNode* node : changed_) {
      members_.Change(node->member, *node->view, node->judged->verdict, node->share, input);
    }
    return changed_.clear();
  }
  changed_.clear();
  members_ = {};
  nodes_.clear();
  waits_ = nullptr;
  std::vector<std::string> names;
  for (NamedNode& named : nodes) {
    PlannedNode& node = named.second;
    node.member = nodes_.size();
    members_.Add(*node.view, node.judged->verdict, node.share, input);
    nodes_.push_back(&named);
    names.push_back(named.first);
  }
  names_ = std::make_shared<const std::vector<std::string>>(std::move(names));
}

void RolloutPlanner::NoteWaits(RolloutRound& round, Names& touched) {
  const std::shared_ptr<const RolloutWaits> before = std::move(waits_);
  RolloutWaits waits{.names = names_, .stages = members_.stages(), .gates = std::move(round.gates)};
  waits.nodes.resize(nodes_.size());
  for (const auto& [index, gate, place, reload_only] : round.decisions) {
    if (gate == nullptr) continue;
    waits.nodes[index] = {.gate = gate, .place = place};
    const GateReason reason = gate->reason;
    // A reported gate stays valid unless the node was evaluated again, in which case `touched` already contains the
    // node.
    const Gate* last = before == nullptr ? nullptr : before->nodes[index].gate;
    if (last != nullptr && last->reason == reason) continue;
    const auto& [name, node] = *nodes_[index];
    if (!node.told || node.told->gate.reason != reason) touched.insert(name);
  }
  waits_ = std::make_shared<const RolloutWaits>(std::move(waits));
}

std::map<std::string, Gate> RolloutPlanner::WithGroups(const std::map<std::string, Gate>& gates) const {
  std::map<std::string, std::string> waiting;  // one withheld node by group
  for (const auto& [name, gate] : gates) {
    if (const auto found = starting_groups_.find(name); found != starting_groups_.end()) {
      waiting.emplace(found->second, name);
    }
  }
  std::map<std::string, Gate> all = gates;
  for (const auto& [name, group] : starting_groups_) {
    const auto found = waiting.find(group);
    if (found == waiting.end()) continue;
    all.try_emplace(name, Gate{.reason = GateReason::kGroup,
                               .detail = "starts together with node " + found->second + ", which is waiting",
                               .not_before = gates.at(found->second).not_before});
  }
  return all;
}

}  // namespace driverupgrade::internal
