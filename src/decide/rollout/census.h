// Maintains the counts, groups and order of a rollout's nodes as individual nodes change, so that the cost of a round
// depends on the changed and waiting nodes rather than on all nodes.
//
//     RolloutCensus census(policy, nodes, AssignStages(nodes, policy));
//     census.Change(i, nodes[i], changed);
//     nodes[i] = changed;
//     for (const std::size_t unit : census.Waiting(nodes)) ...   // census.unit(unit)
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_CENSUS_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_CENSUS_H_

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "decide/rollout/groups.h"
#include "decide/rollout/matches.h"
#include "decide/rollout/view.h"
#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::internal {

bool StartsTogether(const RolloutPolicy& policy);

// Node counts of one stage. Nodes that are left out do not count.
struct StageCount {
  int nodes = 0;
  int under_way = 0;
  int reloading = 0;  // started only to load the driver that they have; not in `under_way`
  int done = 0;
  int unwell = 0;      // among the done nodes
  int out_of_use = 0;  // unwell nodes with RolloutNode::out_of_use
  int failed = 0;
};

// Nodes that cannot start. Their stage or group continues without them.
struct LeftOutNodes {
  int count = 0;
  std::string first = {};  // such as `n3, NotReady since 2026-11-26T12:00:00Z`
};
// Returns a string such as `1 of 8 left out: n3, NotReady since 2026-11-26T12:00:00Z`; empty if no node is left out.
// `others`: number of nodes that are not left out.
std::string Describe(const LeftOutNodes& left_out, int others);

// Nodes that are admitted together: a single node, or all waiting nodes of a group that starts together.
struct WaitingUnit {
  std::string key = {};
  int stage = 0;
  std::size_t group = 0;  // 0 if there are no groups
  std::vector<std::size_t> nodes = {};
  bool admitted_before = false;
  bool is_rest = false;  // true for the remaining nodes of a group that starts together and has started
  bool own_node = false;
  bool out_of_service = true;  // true if no node of the unit has to wait for its stage
};

class RolloutCensus {
 public:
  RolloutCensus() = default;
  // Builds the census of `nodes`. `stages`: stages by node. O(N log N).
  RolloutCensus(const RolloutPolicy& policy, const std::vector<RolloutNode>& nodes, std::vector<int> stages);

  // Replaces node `i` with a node that has the same labels. O(log N).
  void Change(std::size_t i, const RolloutNode& before, const RolloutNode& after);

  const std::vector<int>& stages() const { return stages_; }
  const std::vector<StageCount>& counts() const { return counts_; }
  // Indexes of the nodes that have failed, or that are sick or unwell.
  const std::set<std::size_t>& troubled() const { return troubled_; }
  const Matches& matches() const { return matches_; }
  // Returns the left-out nodes by stage.
  std::vector<LeftOutNodes> LeftOutByStage(const std::vector<RolloutNode>& nodes) const;
  // Returns a description of the left-out nodes by group, for groups that have such nodes.
  std::map<std::size_t, std::string> LeftOutByGroup(const std::vector<RolloutNode>& nodes) const;
  // Returns the name of the first group with nodes in progress; nullptr if there is no such group. O(groups).
  const std::string* GroupUnderWay() const;
  // Group numbers by node; empty without groups.
  const std::vector<std::size_t>& group_of() const { return group_of_; }

  // Returns the tallies of the groups in a rollout that has reached the stages up to `open`. O(N) if `open` differs
  // from the last call.
  const GroupTallies& Groups(const std::vector<RolloutNode>& nodes, int open);
  // Returns the first failed node of each group with failed nodes, by group. Must be called only with
  // GroupMode::kOneAtATime. O(troubled).
  std::map<std::size_t, std::string> FailedByGroup(const std::vector<RolloutNode>& nodes) const;
  // Returns, by stage, the number of slots that are in use. Each node in progress takes a slot. If groups start
  // together, each group in progress takes a slot instead.
  std::vector<int> SlotsUsed() const;
  // Returns the numbers of the units with nodes that may start, in admission order. O(W + C log W) for W waiting and C
  // changed units.
  const std::vector<std::size_t>& Waiting(const std::vector<RolloutNode>& nodes);
  const WaitingUnit& unit(std::size_t number) const { return units_[number]; }
  // Returns the number of the node's unit.
  std::size_t UnitOf(std::size_t i) const { return together_ ? group_of_[i] : i; }

 private:
  // A node that is out of service does not wait for its stage.
  bool IsOpen(std::size_t i, const RolloutNode& node) const { return stages_[i] <= open_ || node.out_of_service; }
  void Count(std::size_t i, const RolloutNode& node, int by);
  void Renew(std::size_t number, const std::vector<RolloutNode>& nodes);
  bool GoesBefore(std::size_t a, std::size_t b) const;

  std::vector<RolloutOrder> order_ = {};
  std::optional<NodeGroups> by_ = std::nullopt;
  bool together_ = false;
  int open_ = 0;
  std::vector<int> stages_ = {};
  std::vector<StageCount> counts_ = {};
  std::set<std::size_t> troubled_ = {};
  std::set<std::size_t> unfit_ = {};
  Matches matches_ = {};
  GroupTallies groups_ = {};
  std::vector<std::size_t> group_of_ = {};               // by node; empty without groups
  std::vector<std::vector<std::size_t>> nodes_of_ = {};  // by group, if groups start together
  std::vector<WaitingUnit> units_ = {};                  // by node, or by group if groups start together
  std::vector<std::size_t> waiting_ = {};                // sorted, as of the last call to Waiting
  std::vector<bool> is_changed_ = {};                    // by unit, since the last call to Waiting
  std::vector<std::size_t> changed_ = {};
};

// Returns a description of a stage in which no node counts, such as `has 2 nodes, all left out: 2 by the skip label`.
// The caller must write the name of the stage in front of the description. O(N).
std::string WhyEmpty(const RolloutCensus& census, const std::vector<RolloutNode>& nodes, int stage);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_CENSUS_H_
