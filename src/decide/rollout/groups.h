// Decides which groups of nodes may start.
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

// Returns the groups of the policy. If gangs start together under the policy, each unit is a group, and `by` is empty.
std::optional<NodeGroups> GroupsOf(const RolloutPolicy& policy);
// Returns a string that is the same for all nodes of a group. A node without the label forms its own group.
std::string GroupOf(const Node& node, const NodeGroups& groups);
// Same as GroupOf above, but also supports gangs: if they start together, the group of a node is its unit, and a node
// without a unit forms its own group.
std::string GroupOf(const RolloutNode& node, const NodeGroups& groups);

// Node counts of one group. Nodes that are left out do not count.
struct GroupTally {
  int nodes = 0;
  int waiting = 0;    // in stages that have been reached
  int may_start = 0;  // among the waiting nodes
  int under_way = 0;
  int reloading = 0;  // RolloutNode::reloading
  int ended = 0;      // done nodes
  int failed = 0;
  // Adds a node, or removes it if `by` is -1. `is_open`: whether the stage of the node has been reached.
  void Count(const RolloutNode& node, bool is_open, int by);
  // Returns true if some nodes of the group have started but not all nodes are done. Such a group has priority over
  // groups that have not started.
  bool IsBegun() const { return under_way > 0 || failed > 0 || (ended > 0 && waiting > 0); }
};

// Tallies by group number. Groups are numbered in name order.
struct GroupTallies {
  // Sorted names of the groups. Set by TallyGroups, and shared by copies.
  std::shared_ptr<const std::vector<std::string>> names = nullptr;
  std::vector<GroupTally> tallies = {};
  // Returns the number of the group. `name` must be one of `names`.
  std::size_t NumberOf(std::string_view name) const;
};
// Counts the nodes of each group. `is_open` returns true if the stage of the node with the given index has been
// reached.
GroupTallies TallyGroups(const std::vector<RolloutNode>& nodes, const NodeGroups& groups,
                         const std::function<bool(std::size_t)>& is_open);

class GroupLimit {
 public:
  // `failed`: the name of one failed node for each group with failed nodes, for messages. `left_out`: a message for
  // each group that continues without some of its nodes. `not_begun`: reason why groups that have not started must not
  // start; empty if they may start.
  GroupLimit(NodeGroups groups, GroupTallies tallies, std::map<std::size_t, std::string> failed = {},
             std::map<std::size_t, std::string> left_out = {}, std::string not_begun = {});

  // Returns why no node of the group may start now; nullopt if a node may start. With GroupMode::kTogether, all waiting
  // nodes may then start.
  std::optional<std::string> Refusal(std::size_t group) const;
  std::optional<std::string> Refusal(const std::string& group) const { return Refusal(all_.NumberOf(group)); }
  // Records the start of `nodes` nodes of the group.
  void Take(std::size_t group, int nodes);
  void Take(const std::string& group, int nodes) { Take(all_.NumberOf(group), nodes); }
  // Returns true if nodes of the group are in progress. With GroupMode::kTogether, the group then holds a slot of its
  // stage.
  bool IsUnderWay(std::size_t group) const { return all_.tallies[group].under_way > 0; }
  bool IsUnderWay(const std::string& group) const { return IsUnderWay(all_.NumberOf(group)); }
  // Returns true if any node of the group holds a slot of maxParallelUpgrades. With GroupMode::kTogether, the other nodes
  // of the group then need no further slot.
  bool HoldsSlot(std::size_t group) const { return IsUnderWay(group) || all_.tallies[group].reloading > 0; }

 private:
  std::optional<std::string> SecondGroup(std::size_t group) const;
  // Returns `rack=7`, or the name of a node that forms its own group.
  std::string Shown(std::size_t group) const;

  NodeGroups groups_;
  GroupTallies all_;
  std::map<std::size_t, std::string> failed_;
  std::map<std::size_t, std::string> left_out_;
  std::string not_begun_;
  std::vector<std::size_t> begun_ = {};  // groups that have started, sorted; complete only with kOneAtATime
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_GROUPS_H_
