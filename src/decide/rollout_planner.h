// Runs the rollout of the policy for an IncrementalPlanner: keeps the nodes in the form that rollouts use, runs the
// rounds, and stores the results of the last round.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_PLANNER_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_PLANNER_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "decide/admission/rollout_round.h"
#include "decide/planned_node.h"
#include "decide/published_plan.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade::internal {

class RolloutPlanner {
 public:
  using Names = std::set<std::string>;
  using NamedNode = PlannedNodes::value_type;

  explicit RolloutPlanner(DriverIdentity identity) : identity_(std::move(identity)) {}

  void SetPolicy(const AdmissionLimits& limits);
  void SetFacts(const RolloutFacts& facts) { facts_ = facts; }
  // Returns the rules of the rollout; nullptr if the policy has no rollout.
  const RolloutRules* rules() const { return rules_ ? &*rules_ : nullptr; }
  const RolloutFacts& facts() const { return facts_; }

  // Makes the next round rebuild its members. Must be called after nodes were added or deleted.
  void NodesChanged() { is_stale_ = true; }
  // Makes the next round update the node. Must be called if the node's view or verdict may have changed. The node must
  // stay at the same address.
  void NodeChanged(PlannedNode& node) { changed_.push_back(&node); }
  // Makes the next round assign stages again if relevant labels differ. Must be called if the node's view has changed.
  void LabelsChanged(const Node& before, const Node& after);

  // Drops the results of the last round. Must be called if no rollout applies.
  void Skip();
  // Runs a round over `nodes`, all of which must have been evaluated. Adds to `touched` each node with a wait reason
  // that has not been reported yet. Returns the nodes that start, in order.
  std::vector<NamedNode*> Admit(const RolloutInput& input, PlannedNodes& nodes, const Sums& sums,
                                std::size_t elsewhere, Names& touched);

  // Results of the last round; nullopt or empty if there was no round.
  const std::optional<UpgradeBudget>& budget() const { return budget_; }
  const std::optional<RolloutStatus>& status() const { return status_; }
  const std::vector<Finding>& findings() const { return findings_; }
  const std::optional<absl::Time>& wake_at() const { return wake_at_; }
  const std::shared_ptr<const RolloutWaits>& waits() const { return waits_; }
  // Nodes whose pods must be known in the next round.
  const Names& interest() const { return interest_; }

  // See the members of RolloutRound. `of_unknown_units` contains names instead of indexes.
  const std::map<std::string, std::string>& uncordoned_units() const { return uncordoned_units_; }
  const Names& of_unknown_units() const { return of_unknown_units_; }

  // Returns `gates`, plus a gate for each node that would start together with a node in `gates`.
  std::map<std::string, Gate> WithGroups(const std::map<std::string, Gate>& gates) const;

 private:
  void ForgetRound();
  // Brings the members up to date.
  void RenewMembers(const RolloutInput& input, PlannedNodes& nodes);
  // Stores the reasons why nodes wait.
  void NoteWaits(RolloutRound& round, Names& touched);

  const DriverIdentity identity_;
  std::optional<RolloutRules> rules_ = std::nullopt;
  bool stages_go_by_state_ = false;
  RolloutFacts facts_ = {};

  RolloutMembers members_ = {};
  bool is_stale_ = true;  // true if the set of nodes or the policy has changed since the members were added
  std::vector<PlannedNode*> changed_ = {};
  // The nodes, in the order of the members.
  std::vector<NamedNode*> nodes_ = {};
  std::shared_ptr<const std::vector<std::string>> names_ = nullptr;

  std::optional<UpgradeBudget> budget_ = std::nullopt;
  std::optional<RolloutStatus> status_ = std::nullopt;
  std::vector<Finding> findings_ = {};
  std::optional<absl::Time> wake_at_ = std::nullopt;
  std::shared_ptr<const RolloutWaits> waits_ = nullptr;
  Names interest_ = {};
  std::map<std::string, std::string> uncordoned_units_ = {};
  Names of_unknown_units_ = {};
  std::map<std::string, std::string> starting_groups_ = {};  // groups of nodes that start together, by node
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_PLANNER_H_
