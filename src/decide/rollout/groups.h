// What the nodes of a group have to do with each other when they start.
//
//     GroupLimit limit(*rollout.groups, TallyGroups(view.nodes, *rollout.groups, is_open));
//     if (std::optional<std::string> why = limit.Refusal(group)) ...   // else limit.Take(group, nodes)
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_GROUPS_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_GROUPS_H_

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "decide/rollout/view.h"
#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::internal {

// Equal for two nodes if they are in one group. A node without the label is in one of its own.
std::string GroupOf(const Node& node, const NodeGroups& groups);

// Nodes that are left out are in no count.
struct GroupTally {
  int nodes = 0;
  int waiting = 0;    // and not in a stage that has yet to come
  int may_start = 0;  // of those that wait
  int under_way = 0;
  int ended = 0;
  // Some, but not all, have begun: the group comes before those of which none has.
  bool IsBegun() const { return under_way > 0 || (ended > 0 && waiting > 0); }
};
using GroupTallies = std::map<std::string, GroupTally>;
// `is_open`: whether the stage of the node of that index has come.
GroupTallies TallyGroups(const std::vector<RolloutNode>& nodes, const NodeGroups& groups,
                         const std::function<bool(std::size_t)>& is_open);

class GroupLimit {
 public:
  GroupLimit(NodeGroups groups, GroupTallies tallies) : groups_(std::move(groups)), tallies_(std::move(tallies)) {}

  // Why no node of the group may start now; nullopt: one may, with mode kTogether: all that wait.
  std::optional<std::string> Refusal(const std::string& group) const;
  // So many of them start.
  void Take(const std::string& group, int nodes);
  // Whether nodes of the group are under way, so that with mode kTogether it has its place in maxParallel.
  bool IsUnderWay(const std::string& group) const;

 private:
  std::optional<std::string> SecondGroup(const std::string& group) const;

  NodeGroups groups_;
  GroupTallies tallies_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_GROUPS_H_
