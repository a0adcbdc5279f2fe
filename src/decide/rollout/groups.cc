#include "decide/rollout/groups.h"

#include <algorithm>
#include <utility>

#include "decide/rollout/gangs.h"
#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

// The prefix `=` distinguishes groups from nodes, because no node name starts with this character.
std::string GroupBy(const StringMap& labels, const NodeGroups& groups, const std::string& node) {
  const auto label = labels.find(groups.by);
  return label == labels.end() ? node : "=" + label->second;
}

std::vector<std::string> NamesOfGroups(const std::vector<RolloutNode>& nodes, const NodeGroups& groups) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const RolloutNode& node : nodes) names.push_back(GroupOf(node, groups));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

std::optional<NodeGroups> GroupsOf(const RolloutPolicy& policy) {
  if (GangsStartTogether(policy)) return NodeGroups{.by = "", .mode = GroupMode::kTogether};
  return policy.groups;
}

std::string GroupOf(const Node& node, const NodeGroups& groups) { return GroupBy(node.labels, groups, node.name); }

std::string GroupOf(const RolloutNode& node, const NodeGroups& groups) {
  if (!groups.by.empty()) return GroupBy(LabelsOf(node), groups, node.node->name);
  return node.unit.empty() ? node.node->name : "=" + node.unit;
}

void GroupTally::Count(const RolloutNode& node, bool is_open, int by) {
  if (node.progress == NodeProgress::kLeftOut) return;
  nodes += by;
  if (node.progress == NodeProgress::kUnderWay) {
    (node.reloading ? reloading : under_way) += by;
  } else if (node.progress == NodeProgress::kFailed) {
    failed += by;
  } else if (node.progress != NodeProgress::kWaiting) {
    ended += by;
  } else if (is_open) {
    waiting += by;
    if (node.may_start) may_start += by;
  }
}

std::size_t GroupTallies::NumberOf(std::string_view name) const {
  return static_cast<std::size_t>(std::lower_bound(names->begin(), names->end(), name) - names->begin());
}

GroupTallies TallyGroups(const std::vector<RolloutNode>& nodes, const NodeGroups& groups,
                         const std::function<bool(std::size_t)>& is_open) {
  GroupTallies all{.names = std::make_shared<const std::vector<std::string>>(NamesOfGroups(nodes, groups))};
  all.tallies.resize(all.names->size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    all.tallies[all.NumberOf(GroupOf(nodes[i], groups))].Count(nodes[i], is_open(i), 1);
  }
  return all;
}

GroupLimit::GroupLimit(NodeGroups groups, GroupTallies tallies, std::map<std::size_t, std::string> failed,
                       std::map<std::size_t, std::string> left_out, std::string not_begun)
    : groups_(std::move(groups)),
      all_(std::move(tallies)),
      failed_(std::move(failed)),
      left_out_(std::move(left_out)),
      not_begun_(std::move(not_begun)) {
  if (groups_.mode != GroupMode::kOneAtATime) return;
  for (std::size_t group = 0; group < all_.tallies.size(); ++group) {
    if (all_.tallies[group].IsBegun()) begun_.push_back(group);
  }
}

std::string GroupLimit::Shown(std::size_t group) const {
  const std::string& name = (*all_.names)[group];
  if (name.front() != '=') return fmt::format("node {}", name);
  return groups_.by.empty() ? fmt::format("gang {}", name.substr(1)) : fmt::format("{}{}", groups_.by, name);
}

std::optional<std::string> GroupLimit::SecondGroup(std::size_t group) const {
  const GroupTally& own = all_.tallies[group];
  std::optional<std::size_t> first;
  for (const std::size_t other : begun_) {
    const GroupTally& tally = all_.tallies[other];
    if (other == group || !tally.IsBegun()) continue;
    // A group in progress has priority over an interrupted group, and the first group in progress has priority over all
    // others.
    if (tally.under_way > 0) {
      first = other;
      break;
    }
    if (!first && (!own.IsBegun() || other < group)) first = other;
  }
  if (!first && !not_begun_.empty() && !own.IsBegun()) return not_begun_;
  if (!first || (own.under_way > 0 && all_.tallies[*first].under_way == 0)) return std::nullopt;
  std::string why = fmt::format("one group at a time: {} of {} nodes of {} are done", all_.tallies[*first].ended,
                                all_.tallies[*first].nodes, Shown(*first));
  if (const auto failed = failed_.find(*first); failed != failed_.end()) {
    why += fmt::format(", node {} has failed", failed->second);
  }
  if (const auto left_out = left_out_.find(*first); left_out != left_out_.end()) why += "; " + left_out->second;
  return why;
}

std::optional<std::string> GroupLimit::Refusal(std::size_t group) const {
  const GroupTally& own = all_.tallies[group];
  switch (groups_.mode) {
    case GroupMode::kTogether:
      if (own.under_way > 0 || own.may_start == own.waiting) return std::nullopt;
      return fmt::format("the nodes of {} start together: {} of {} that wait can start", Shown(group), own.may_start,
                         own.waiting);
    case GroupMode::kOneAtATime: return SecondGroup(group);
    case GroupMode::kSpread: break;
  }
  const int max = ScaledLimit(groups_.max_per_group, own.nodes);
  if (own.under_way < max) return std::nullopt;
  return fmt::format("groups.maxPerGroup: {} of {} nodes of {} are in progress", own.under_way, max, Shown(group));
}

void GroupLimit::Take(std::size_t group, int nodes) {
  GroupTally& tally = all_.tallies[group];
  const auto place = std::lower_bound(begun_.begin(), begun_.end(), group);
  if (place == begun_.end() || *place != group) begun_.insert(place, group);
  tally.waiting -= nodes;
  tally.may_start -= nodes;
  tally.under_way += nodes;
}

}  // namespace driverupgrade::internal
