// Makes the same decisions as StateMachine::Step, but incrementally: the caller reports changes, and only changed nodes
// are evaluated again.
//
// Defines IncrementalPlanner, PlanUpdate and PublishedPlan.
//
//     IncrementalPlanner planner(machine);
//     planner.SetPolicy(policy);
//     planner.SetDriver(snapshot.driver, snapshot.findings);
//     for (const auto& view : snapshot.nodes) planner.Update(view);
//     PlanUpdate update = planner.Advance(clock.Now());     // evaluates every node
//     planner.Update(changed_view);
//     update = planner.Advance(clock.Now());                // evaluates the node and nodes whose wake-up time has come
//
// After each Advance, the planner's decision on every node is the decision that Step would make for a snapshot of the
// same views. A whole rollout costs a few evaluations per node, instead of one evaluation per node and pass.
//
// The planner is pure except for its memory: it does not access the cluster, and has no clock, lock, log or random
// numbers. It owns its inputs; views and facts are shared and immutable. Not thread-safe. Related: state_machine.h
// makes the decisions, cluster_snapshot.h defines their input.
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

// The result of a call to Advance.
struct PlanUpdate {
  // Same as Step's plan, except for two members. `pod_interest` is empty; IncrementalPlanner::pod_interest returns the
  // set without a copy. `gates` contains only gates that are new or have changed since the last Advance. The gate of a
  // node that waits for a slot omits the place in the queue, and is repeated only when its reason changes. In many
  // gates, the place and the counts change with every admission; PublishedPlan contains them.
  Plan plan = {};
  // Sorted names of nodes that no longer have a gate, or that were deleted.
  std::vector<std::string> ungated = {};
};

// Limits on the work of one call to Advance. Nodes for which the last call planned an action are always evaluated, and
// do not count against these limits.
struct AdvanceLimits {
  // Maximum number of nodes that are evaluated because they have changed or are due. If more nodes are due, the plan is
  // not finished.
  std::size_t judged = std::numeric_limits<std::size_t>::max();
  // Maximum number of reported gates of nodes that wait for a slot. Later calls to Advance report the remaining gates.
  std::size_t told = std::numeric_limits<std::size_t>::max();
  // False if the planner has not received all views yet. The plan is then not finished.
  bool has_all_views = true;
};

// Everything that Step would report, as of one call to Advance. Immutable and independent of its planner, so that any
// thread may read it without waiting for the planner.
class PublishedPlan {
 public:
  struct Parts;
  explicit PublishedPlan(Parts parts);
  ~PublishedPlan();

  // Returns why the node waits, with its place in the queue if it waits for a slot. Returns nullopt if the node does
  // not wait or is unknown. Examines all nodes if the node waits for a slot.
  [[nodiscard]] std::optional<Gate> Explain(const std::string& node) const;
  // Returns the plan with all gates, for status pages and tests. O(N log N).
  [[nodiscard]] Plan Full() const;
  // Returns the status of all nodes. O(N log N).
  [[nodiscard]] FleetStatus Status() const;
  // Returns the status of the rollout; nullopt if the policy has no rollout.
  const std::optional<RolloutStatus>& Rollout() const;

 private:
  struct Placed {
    // Not null.
    const JudgedNode* node = nullptr;
    // Place in the queue, starting at 1. Zero if the node does not wait for a slot, or if the policy has a rollout,
    // because the gates of a rollout contain the places.
    int place = 0;
  };
  std::vector<Placed> ByName() const;
  // Returns the gate of the node; nullopt if the node does not wait.
  std::optional<Gate> GateOf(const Placed& placed) const;

  std::unique_ptr<const Parts> parts_;
};

class IncrementalPlanner {
 public:
  // Creates a planner without nodes, with the default policy and facts. The engine counts as always active.
  explicit IncrementalPlanner(StateMachine machine);
  ~IncrementalPlanner();

  // Makes plans set the annotation that shows the gate of a node (DriverIdentity::WaitingForAnnotation). Step plans
  // only the removal of this annotation, because Step does not track how long a node has had its gate.
  void ShowWaits();
  // Sets the policy. If the NodeRules differ, every node is evaluated again. If only the AdmissionLimits differ, no
  // node is evaluated again.
  void SetPolicy(const UpgradePolicy& policy);
  // Sets the data about the driver; `driver` must not be null. If the DaemonSets differ, every node is evaluated again.
  // `findings`: problems that were found while the driver was read.
  void SetDriver(std::shared_ptr<const DriverFacts> driver, std::vector<Finding> findings);
  // Sets ClusterSnapshot::active_since. If the time differs, every node is evaluated again, because an expired deadline
  // may then lie in the future.
  void SetActiveSince(absl::Time active_since);
  // Sets ClusterSnapshot::grants. Nodes whose grants differ are evaluated again.
  void SetGrants(const Grants& grants);
  // Sets the maximum number of grants in the ledger; nullopt, the default, means that there is no ledger. Step does not
  // check this maximum. No node is evaluated again.
  void SetGrantsMax(std::optional<std::size_t> grants_max);
  // Sets ClusterSnapshot::shared_slots. No node is evaluated again.
  void SetSharedSlots(const std::optional<SharedSlots>& shared);
  // Sets ClusterSnapshot::rollout. No node is evaluated again.
  void SetRollout(const RolloutFacts& rollout);

  // Adds a node, or replaces its view. `view` must not be null. The node name is the key.
  void Update(std::shared_ptr<const NodeView> view);
  // Must be called when the pods of the node are no longer watched, so that the next evaluation does not use the pods
  // in the view. The last verdict stays valid, because it does not depend on pods. Does nothing if the node is unknown.
  void ForgetPods(const std::string& node);
  // Removes a deleted node. Does nothing if the node is unknown.
  void Remove(const std::string& node);

  // Evaluates nodes that have changed, nodes whose wake_at has passed, and nodes for which the last Advance planned an
  // action. Like Step, plans an action again if it has not been carried out. Then admits nodes.
  //
  // Cost: O((E + A + G) log N) for E evaluated nodes, A admitted nodes and G returned gates among N nodes. A rollout
  // adds the costs that rollout_round.h describes. If `now` is earlier than at the last call, every node is evaluated
  // again.
  //
  // A plan that is not finished (Plan::finished) admits no node, and reports nothing about nodes that wait for a slot,
  // because both would be based on outdated verdicts.
  [[nodiscard]] PlanUpdate Advance(absl::Time now, const AdvanceLimits& limits = {});

  // Cancels the actions that the last Advance planned for the nodes in `gates` (by name). The nodes keep their state
  // until the next Advance evaluates them again. If both Advance and Withhold report a node, the update of Withhold
  // takes precedence.
  [[nodiscard]] PlanUpdate Withhold(const std::map<std::string, Gate>& gates);

  // Returns the plan as of the last finished Advance or Withhold; never null. The cost does not grow with the number of
  // nodes, because consecutive plans share their data.
  [[nodiscard]] std::shared_ptr<const PublishedPlan> Publish();

  // Must be called if the reported gate of the node did not reach any recipient. The next Advance that evaluates the
  // node then reports the gate again.
  void NotTold(const std::string& node);

  // Returns Plan::pod_interest as of the last Advance.
  const std::set<std::string>& pod_interest() const;

  // Returns, for each unit, one node that is not cordoned yet (RolloutRound::uncordoned_units), as of the last finished
  // Advance.
  const std::map<std::string, std::string>& uncordoned_units() const;
  // Returns the nodes whose start is granted but whose unit is unknown (RolloutRound::of_unknown_units), as of the last
  // finished Advance.
  const std::set<std::string>& of_unknown_units() const;

  // Returns true if the last finished Advance ran a round of a rollout.
  bool has_round() const;

  // Returns the number of evaluations of nodes since the planner was created.
  std::uint64_t judgements() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_INCREMENTAL_PLANNER_H_
