// The decisions of StateMachine::Step by one who is told what changes: only that is judged anew.
//
// Defines IncrementalPlanner, PlanUpdate and PublishedPlan.
//
//     IncrementalPlanner planner(machine);
//     planner.SetPolicy(policy);
//     planner.SetDriver(snapshot.driver, snapshot.findings);
//     for (const auto& view : snapshot.nodes) planner.Update(view);
//     PlanUpdate update = planner.Advance(clock.Now());     // judges every node
//     planner.Update(changed_view);
//     update = planner.Advance(clock.Now());                // judges one, and those whose time has come
//
// After each Advance the planner says of every node what Step would say of a snapshot of the same views; a whole
// rollout costs a few judgements per node instead of one per node and pass.
//
// Pure but for its memory: no facade, clock, lock, log or random number. Owns what it is given; views and facts are
// shared and immutable. Not thread-safe.
// Related: state_machine.h decides; cluster_snapshot.h is what it decides by.
#ifndef DRIVERUPGRADE_SRC_DECIDE_INCREMENTAL_PLANNER_H_
#define DRIVERUPGRADE_SRC_DECIDE_INCREMENTAL_PLANNER_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/state_machine.h"
#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade::internal {

struct JudgedNode;

// What an Advance says.
struct PlanUpdate {
  // As Step's plan, but for `pod_interest`, which is empty (IncrementalPlanner::pod_interest has it without a copy), and
  // `gates`: only those that are new or have changed since the last Advance. The gate of a node that waits for a slot
  // comes without its place in the queue, and again only when its reason changes; place and counts change with every
  // admission. PublishedPlan has them.
  Plan plan = {};
  // Nodes that had a gate and have none any more, or are gone; by name.
  std::vector<std::string> ungated = {};
};

// How much one Advance may do, beside judging the nodes that were planned something the last time.
struct AdvanceLimits {
  // Nodes that are judged because they have changed or are due. If others are left, the plan is not finished.
  std::size_t judged = std::numeric_limits<std::size_t>::max();
  // Gates of nodes that wait for a slot. What is left is told by the next Advances.
  std::size_t told = std::numeric_limits<std::size_t>::max();
  // false: there are views that the planner has not been given yet, so that the plan is not finished.
  bool has_all_views = true;
};

// All that Step would say, as of one Advance. Immutable, and its planner's business no more: any thread may read it, and
// none waits for the planner.
class PublishedPlan {
 public:
  struct Parts;
  explicit PublishedPlan(Parts parts);
  ~PublishedPlan();

  // Why the node waits, with its place in the queue if it waits for a slot; nullopt if it does not wait or is unknown.
  // Looks at all nodes if it waits for a slot.
  [[nodiscard]] std::optional<Gate> Explain(const std::string& node) const;
  // For status pages and tests. O(N log N).
  [[nodiscard]] Plan Full() const;
  // O(N log N).
  [[nodiscard]] FleetStatus Status() const;
  // nullopt: the policy has no rollout.
  const std::optional<RolloutStatus>& Rollout() const;

 private:
  struct Placed {
    // Not null.
    const JudgedNode* node = nullptr;
    // In the queue, from 1; 0: it does not wait for a slot, or there is a rollout, whose gates have the places.
    int place = 0;
  };
  std::vector<Placed> ByName() const;
  // nullopt: the node does not wait.
  std::optional<Gate> GateOf(const Placed& placed) const;

  std::unique_ptr<const Parts> parts_;
};

class IncrementalPlanner {
 public:
  // Begins without nodes, with the default policy and facts, active since ever.
  explicit IncrementalPlanner(StateMachine machine);
  ~IncrementalPlanner();

  // From now on plans have the annotation that shows the gate of a node (DriverIdentity::WaitingForAnnotation). Step plans
  // only its removal, because it does not know since when a node has had its gate.
  void ShowWaits();
  // NodeRules that differ make every node be judged again; AdmissionLimits that differ, no node. The exception is a pause
  // that starts or ends while waits are shown: it makes every node be judged again.
  void SetPolicy(const UpgradePolicy& policy);
  // `driver` is not null. If the DaemonSets differ, every node is judged again.
  // `findings` are what was found wrong while reading.
  void SetDriver(std::shared_ptr<const DriverFacts> driver, std::vector<Finding> findings);
  // See ClusterSnapshot::active_since. A time that differs makes every node be judged anew: a deadline that had passed
  // may lie ahead again.
  void SetActiveSince(absl::Time active_since);
  // See ClusterSnapshot::grants. The nodes whose grants differ are judged anew.
  void SetGrants(const Grants& grants);
  // The ledger's room for grants, unknown to Step; nullopt, as in the beginning: no ledger. No node is judged anew.
  void SetGrantsMax(std::optional<std::size_t> grants_max);
  // See ClusterSnapshot::shared_slots. No node is judged anew.
  void SetSharedSlots(const std::optional<SharedSlots>& shared);
  // See ClusterSnapshot::rollout. No node is judged anew.
  void SetRollout(const RolloutFacts& rollout);

  // The node is new, or its view may have changed. `view` is not null; its node's name is the key.
  void Update(std::shared_ptr<const NodeView> view);
  // The pods of the node are followed no more: the next judgement must not go by those that the node's view has. The
  // last verdict, which did not ask for pods, stands. Nothing to do if the node is unknown.
  void ForgetPods(const std::string& node);
  // The node is gone. Nothing to do if it is unknown.
  void Remove(const std::string& node);

  // Judges the nodes that have changed, those whose wake_at has come, and those that were planned something the last
  // time (what was not done is planned again, as Step would); then admits.
  //
  // Cost: O((judged + admitted + told) log N), where *told* is what is returned, whatever N is otherwise; with a rollout
  // also what rollout_round.h says. Time that goes back makes every node be judged anew.
  //
  // By a plan that is not finished (Plan::finished) nobody is admitted, and of nodes that wait for a slot nothing is
  // told: both would go by verdicts that no longer hold.
  [[nodiscard]] PlanUpdate Advance(absl::Time now, const AdvanceLimits& limits = {});

  // What the last Advance planned for these nodes, by name, is not to be done: they wait where they are until the next
  // Advance, which judges them anew. Where this tells of a node that Advance has told of, it replaces that.
  [[nodiscard]] PlanUpdate Withhold(const std::map<std::string, Gate>& gates);

  // As of the last Advance, which has finished, or Withhold; never null. Its cost does not grow with the nodes: it
  // shares what it has with those before and after it.
  [[nodiscard]] std::shared_ptr<const PublishedPlan> Publish();

  // The gate that the last Advance told of the node got to nobody. The next Advance that judges the node tells the gate
  // that it has then.
  void NotTold(const std::string& node);

  // See Plan::pod_interest; as of the last Advance.
  const std::set<std::string>& pod_interest() const;

  // Returns a node of each unit of gangs that is not cordoned yet (RolloutRound::uncordoned_units), as of the last finished Advance.
  const std::map<std::string, std::string>& uncordoned_units() const;
  // Returns nodes whose start is granted and whose unit is not known (RolloutRound::of_unknown_units), as of the same.
  const std::set<std::string>& of_unknown_units() const;

  // Whether the last finished Advance made a round of a rollout.
  bool has_round() const;

  // How often a node has been judged since the beginning.
  std::uint64_t judgements() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_INCREMENTAL_PLANNER_H_
