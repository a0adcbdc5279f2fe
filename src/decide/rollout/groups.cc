#include "decide/rollout/groups.h"

#include <algorithm>
#include <cstddef>

#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

// `rack=7`, or the name of a node that is alone.
std::string Shown(const std::string& group, const NodeGroups& groups) {
  return group.front() == '=' ? fmt::format("{}{}", groups.by, group) : fmt::format("node {}", group);
}

}  // namespace

std::string GroupOf(const Node& node, const NodeGroups& groups) {
  const auto label = node.labels.find(groups.by);
  // No name of a node begins so.
  return label == node.labels.end() ? node.name : "=" + label->second;
}

GroupTallies TallyGroups(const std::vector<RolloutNode>& nodes, const NodeGroups& groups,
                         const std::function<bool(std::size_t)>& is_open) {
  GroupTallies tallies;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const RolloutNode& node = nodes[i];
    if (node.progress == NodeProgress::kLeftOut) continue;
    GroupTally& tally = tallies[GroupOf(*node.node, groups)];
    ++tally.nodes;
    if (node.progress == NodeProgress::kUnderWay) {
      ++tally.under_way;
    } else if (node.progress != NodeProgress::kWaiting) {
      ++tally.ended;
    } else if (is_open(i)) {
      ++tally.waiting;
      tally.may_start += node.may_start;
    }
  }
  return tallies;
}

std::optional<std::string> GroupLimit::SecondGroup(const std::string& group) const {
  const GroupTally& own = tallies_.at(group);
  const std::pair<const std::string, GroupTally>* first = nullptr;
  for (const auto& other : tallies_) {
    if (other.first == group || !other.second.IsBegun()) continue;
    // What is under way goes before what has only been interrupted; of two such groups the first.
    if (other.second.under_way > 0) {
      first = &other;
      break;
    }
    if (first == nullptr && (!own.IsBegun() || other.first < group)) first = &other;
  }
  if (first == nullptr || (own.under_way > 0 && first->second.under_way == 0)) return std::nullopt;
  return fmt::format("one group at a time: {} of {} nodes of {} have ended", first->second.ended, first->second.nodes,
                     Shown(first->first, groups_));
}

std::optional<std::string> GroupLimit::Refusal(const std::string& group) const {
  const GroupTally& own = tallies_.at(group);
  switch (groups_.mode) {
    case GroupMode::kTogether:
      if (own.under_way > 0 || own.may_start == own.waiting) return std::nullopt;
      return fmt::format("the nodes of {} start together: {} of {} that wait can start", Shown(group, groups_),
                         own.may_start, own.waiting);
    case GroupMode::kOneAtATime: return SecondGroup(group);
    case GroupMode::kSpread: break;
  }
  const int max = ScaledLimit(groups_.max_per_group, own.nodes);
  if (own.under_way < max) return std::nullopt;
  return fmt::format("groups.maxPerGroup: {} of {} nodes of {} are under way", own.under_way, max,
                     Shown(group, groups_));
}

void GroupLimit::Take(const std::string& group, int nodes) {
  GroupTally& tally = tallies_.at(group);
  tally.waiting -= nodes;
  tally.may_start -= nodes;
  tally.under_way += nodes;
}

bool GroupLimit::IsUnderWay(const std::string& group) const { return tallies_.at(group).under_way > 0; }

}  // namespace driverupgrade::internal
