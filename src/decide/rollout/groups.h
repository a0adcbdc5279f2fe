// Limits which groups of nodes may start.
//
//     GroupLimit limit(*rollout.groups, TallyGroups(view.nodes, *rollout.groups, is_open));
//     if (std::optional<std::string> why = limit.Refusal(group)) ...   // else limit.Take(group, nodes)
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_GROUPS_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_GROUPS_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decide/rollout/view.h"
#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::internal {

// Returns the groups of the policy. If the policy has gangs, returns their groups, which start together; `by` is then
// empty.
std::optional<NodeGroups> GroupsOf(const RolloutPolicy& policy);
// Returns equal texts for two nodes of one group. A node without the label forms its own group.
std::string GroupOf(const Node& node, const NodeGroups& groups);
// Same, also for gangs: a node without a unit forms its own group.
std::string GroupOf(const RolloutNode& node, const NodeGroups& groups);

// Counts of a group, without the nodes that are left out.
struct GroupTally {
  int nodes = 0;
  int waiting = 0;    // and in a stage that has been reached
  int may_start = 0;  // among the waiting nodes
  int under_way = 0;
  int ended = 0;  // without having failed
  int failed = 0;
  // Adds a node, or removes it if `by` is -1. `is_open`: whether the stage of the node has been reached.
  void Count(const RolloutNode& node, bool is_open, int by);
  // Returns true if some nodes have started, and not all are done: such a group has priority over groups that have not
  // started.
  bool IsBegun() const { return under_way > 0 || failed > 0 || (ended > 0 && waiting > 0); }
};

// The tallies by number of the group; the groups are numbered in the order of their names.
struct GroupTallies {
  // Not null once this is built. Copies share it.
  std::shared_ptr<const std::vector<std::string>> names = nullptr;
  std::vector<GroupTally> tallies = {};
  // `name` must be one of `names`.
  std::size_t NumberOf(std::string_view name) const;
};
// `is_open`: whether the stage of the node with that index has been reached.
GroupTallies TallyGroups(const std::vector<RolloutNode>& nodes, const NodeGroups& groups,
                         const std::function<bool(std::size_t)>& is_open);

class GroupLimit {
 public:
  // `failed`: a failed node of each group that has one, for the texts. `left_out`: a text for each group that continues
  // without some of its nodes. `not_begun`: the reason why groups that have not started may not start; empty if they
  // may start.
  GroupLimit(NodeGroups groups, GroupTallies tallies, std::map<std::size_t, std::string> failed = {},
             std::map<std::size_t, std::string> left_out = {}, std::string not_begun = {});

  // Returns why no node of the group may start now; nullopt if a node may start (with mode kTogether: all waiting
  // nodes).
  std::optional<std::string> Refusal(std::size_t group) const;
  std::optional<std::string> Refusal(const std::string& group) const { return Refusal(all_.NumberOf(group)); }
  // Notes that this number of nodes of the group start.
  void Take(std::size_t group, int nodes);
  void Take(const std::string& group, int nodes) { Take(all_.NumberOf(group), nodes); }
  // Returns true if nodes of the group are in progress, so that the group holds a slot with mode kTogether.
  bool IsUnderWay(std::size_t group) const { return all_.tallies[group].under_way > 0; }
  bool IsUnderWay(const std::string& group) const { return IsUnderWay(all_.NumberOf(group)); }

 private:
  std::optional<std::string> SecondGroup(std::size_t group) const;
  // Returns `rack=7`, or the name of a node that forms its own group.
  std::string Shown(std::size_t group) const;

  NodeGroups groups_;
  GroupTallies all_;
  std::map<std::size_t, std::string> failed_;
  std::map<std::size_t, std::string> left_out_;
  std::string not_begun_;
  std::vector<std::size_t> begun_ = {};  // in order; has all such groups only with mode kOneAtATime
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_GROUPS_H_
