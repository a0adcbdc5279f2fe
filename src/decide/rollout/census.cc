#include "decide/rollout/census.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>

#include "decide/rollout/order.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "model/node_service.h"

namespace driverupgrade::internal {
namespace {

bool IsTroubled(const RolloutNode& node) {
  return node.progress == NodeProgress::kFailed || !node.sick.empty() ||
         (node.progress == NodeProgress::kDone && !node.unwell.empty());
}

void Note(std::set<std::size_t>& nodes, std::size_t i, int by) {
  if (by > 0) {
    nodes.insert(i);
  } else {
    nodes.erase(i);
  }
}

void Add(const Node& node, LeftOutNodes& left_out) {
  if (left_out.count++ > 0) return;
  std::string why = WhyLeaving(node);
  if (why.empty()) why = WhyNotReady(node);
  if (why.empty()) why = WhyDegraded(node);
  left_out.first = fmt::format("{}, {}", node.name, why);
}

}  // namespace

std::string Describe(const LeftOutNodes& left_out, int others) {
  if (left_out.count == 0) return "";
  return fmt::format("{} of {} left out: {}", left_out.count, left_out.count + others, left_out.first);
}

bool StartsTogether(const RolloutPolicy& policy) {
  const std::optional<NodeGroups> groups = GroupsOf(policy);
  return groups && groups->mode == GroupMode::kTogether;
}

std::string WhyEmpty(const RolloutCensus& census, const std::vector<RolloutNode>& nodes, int stage) {
  std::map<GateReason, int> left_out;
  LeftOutNodes unfit;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (census.stages()[i] != stage || !nodes[i].left_out_by) continue;
    IsUnfit(nodes[i]) ? Add(*nodes[i].node, unfit) : void(++left_out[*nodes[i].left_out_by]);
  }
  std::vector<std::string> parts;
  int count = unfit.count;
  for (const auto& [reason, by_it] : left_out) {
    const char* what = reason == GateReason::kSkipLabel ? "the skip label" : "an administrator's cordon";
    parts.push_back(fmt::format("{} by {}", by_it, what));
    count += by_it;
  }
  if (unfit.count > 0) parts.push_back(fmt::format("{} unfit: {}", unfit.count, unfit.first));
  if (count == 0) return "has no node";
  return fmt::format("has {}left out: {}", count == 1 ? "1 node, " : fmt::format("{} nodes, all ", count),
                     fmt::join(parts, ", "));
}

RolloutCensus::RolloutCensus(const RolloutPolicy& policy, const std::vector<RolloutNode>& nodes,
                             std::vector<int> stages)
    : order_(policy.order),
      by_(GroupsOf(policy)),
      together_(StartsTogether(policy)),
      stages_(std::move(stages)),
      counts_(policy.stages.size() + 1),
      matches_(policy, nodes) {
  if (by_) {
    groups_ = TallyGroups(nodes, *by_, [&](std::size_t i) { return IsOpen(i, nodes[i]); });
    group_of_.reserve(nodes.size());
    for (const RolloutNode& node : nodes) group_of_.push_back(groups_.NumberOf(GroupOf(node, *by_)));
  }
  if (together_) {
    nodes_of_.resize(groups_.tallies.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes_of_[group_of_[i]].push_back(i);
  }
  units_.resize(together_ ? nodes_of_.size() : nodes.size());
  is_changed_.assign(units_.size(), true);
  for (std::size_t number = 0; number < units_.size(); ++number) changed_.push_back(number);
  for (std::size_t i = 0; i < nodes.size(); ++i) Count(i, nodes[i], 1);
}

void RolloutCensus::Change(std::size_t i, const RolloutNode& before, const RolloutNode& after) {
  Count(i, before, -1);
  Count(i, after, 1);
  if (by_) {
    GroupTally& group = groups_.tallies[group_of_[i]];
    group.Count(before, IsOpen(i, before), -1);
    group.Count(after, IsOpen(i, after), 1);
  }
  const std::size_t number = UnitOf(i);
  // Other nodes of the group may be waiting for this node.
  const bool concerns_others =
      together_ && (before.progress != after.progress || before.out_of_service != after.out_of_service ||
                    before.reloading != after.reloading);
  if ((!before.may_start && !after.may_start && !concerns_others) || is_changed_[number]) return;
  is_changed_[number] = true;
  changed_.push_back(number);
}

void RolloutCensus::Count(std::size_t i, const RolloutNode& node, int by) {
  matches_.Count(node, by);
  if (IsTroubled(node)) Note(troubled_, i, by);
  if (IsUnfit(node)) Note(unfit_, i, by);
  if (node.progress == NodeProgress::kLeftOut) return;
  StageCount& stage = counts_[static_cast<std::size_t>(stages_[i])];
  stage.nodes += by;
  if (node.progress == NodeProgress::kUnderWay) {
    stage.under_way += node.reloading ? 0 : by;
    stage.reloading += node.reloading && !node.may_start ? by : 0;
  }
  if (node.progress == NodeProgress::kFailed) stage.failed += by;
  if (node.progress != NodeProgress::kDone) return;
  stage.done += by;
  if (!node.unwell.empty()) stage.unwell += by;
  if (node.out_of_use) stage.out_of_use += by;
}

const GroupTallies& RolloutCensus::Groups(const std::vector<RolloutNode>& nodes, int open) {
  if (std::exchange(open_, open) == open) return groups_;
  for (GroupTally& tally : groups_.tallies) tally = {};
  for (std::size_t i = 0; i < group_of_.size(); ++i) {
    groups_.tallies[group_of_[i]].Count(nodes[i], IsOpen(i, nodes[i]), 1);
  }
  return groups_;
}

std::map<std::size_t, std::string> RolloutCensus::FailedByGroup(const std::vector<RolloutNode>& nodes) const {
  std::map<std::size_t, std::string> failed;
  if (!by_ || by_->mode != GroupMode::kOneAtATime) return failed;
  for (const std::size_t i : troubled_) {
    if (nodes[i].progress == NodeProgress::kFailed) failed.emplace(group_of_[i], nodes[i].node->name);
  }
  return failed;
}

const std::string* RolloutCensus::GroupUnderWay() const {
  const auto first = std::find_if(groups_.tallies.begin(), groups_.tallies.end(),
                                  [](const GroupTally& tally) { return tally.under_way > 0; });
  return first == groups_.tallies.end() ? nullptr : &(*groups_.names)[first - groups_.tallies.begin()];
}

std::vector<LeftOutNodes> RolloutCensus::LeftOutByStage(const std::vector<RolloutNode>& nodes) const {
  std::vector<LeftOutNodes> by_stage(counts_.size());
  for (const std::size_t i : unfit_) Add(*nodes[i].node, by_stage[static_cast<std::size_t>(stages_[i])]);
  return by_stage;
}

std::map<std::size_t, std::string> RolloutCensus::LeftOutByGroup(const std::vector<RolloutNode>& nodes) const {
  std::map<std::size_t, std::string> texts;
  if (!by_) return texts;
  std::map<std::size_t, LeftOutNodes> by_group;
  for (const std::size_t i : unfit_) Add(*nodes[i].node, by_group[group_of_[i]]);
  for (const auto& [group, left_out] : by_group) {
    texts.emplace(group, Describe(left_out, groups_.tallies[group].nodes));
  }
  return texts;
}

std::vector<int> RolloutCensus::SlotsUsed() const {
  std::vector<int> used(counts_.size());
  for (std::size_t stage = 0; stage < counts_.size() && !together_; ++stage) used[stage] = counts_[stage].under_way;
  for (std::size_t group = 0; group < nodes_of_.size(); ++group) {
    // All nodes of a group are in the same stage.
    const int stage = stages_[nodes_of_[group].front()];
    used[static_cast<std::size_t>(stage)] += groups_.tallies[group].under_way > 0;
  }
  return used;
}

// Returns the sorted units. Removes only the units that have changed, and inserts them again in order.
const std::vector<std::size_t>& RolloutCensus::Waiting(const std::vector<RolloutNode>& nodes) {
  if (changed_.empty()) return waiting_;
  std::erase_if(waiting_, [&](std::size_t number) { return is_changed_[number]; });
  for (const std::size_t number : changed_) {
    is_changed_[number] = false;
    Renew(number, nodes);
  }
  std::erase_if(changed_, [&](std::size_t number) { return units_[number].nodes.empty(); });
  const auto goes_before = [&](std::size_t a, std::size_t b) { return GoesBefore(a, b); };
  std::sort(changed_.begin(), changed_.end(), goes_before);
  auto end = static_cast<std::ptrdiff_t>(waiting_.size());
  waiting_.resize(waiting_.size() + changed_.size());
  auto gap = static_cast<std::ptrdiff_t>(waiting_.size());
  const auto begin = waiting_.begin();
  for (auto number = changed_.rbegin(); number != changed_.rend(); ++number) {
    const auto place = std::upper_bound(begin, begin + end, *number, goes_before);
    std::move_backward(place, begin + end, begin + gap);
    gap -= begin + end - place + 1;
    end = place - begin;
    waiting_[static_cast<std::size_t>(gap)] = *number;
  }
  changed_.clear();
  return waiting_;
}

void RolloutCensus::Renew(std::size_t number, const std::vector<RolloutNode>& nodes) {
  WaitingUnit unit;
  const auto add = [&](std::size_t i) {
    const RolloutNode& node = nodes[i];
    if (node.may_start || node.progress == NodeProgress::kWaiting) unit.out_of_service &= node.out_of_service;
    if (!node.may_start) return;
    std::string key = SortKey(node, order_);
    if (unit.nodes.empty() || key < unit.key) unit.key = std::move(key);
    unit.stage = stages_[i];
    unit.nodes.push_back(i);
    unit.admitted_before |= node.progress == NodeProgress::kUnderWay && !node.reloading;
    unit.own_node |= node.own_node;
  };
  if (together_) {
    for (const std::size_t i : nodes_of_[number]) add(i);
  } else {
    add(number);
  }
  if (by_) unit.group = together_ ? number : group_of_[number];
  unit.is_rest = together_ && groups_.tallies[number].under_way > 0;
  units_[number] = std::move(unit);
}

bool RolloutCensus::GoesBefore(std::size_t a, std::size_t b) const {
  const auto rank = [](const WaitingUnit& unit) {
    return std::tuple(!unit.admitted_before, !unit.is_rest, unit.own_node, std::string_view(unit.key));
  };
  return rank(units_[a]) < rank(units_[b]);
}

}  // namespace driverupgrade::internal
