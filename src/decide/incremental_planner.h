// Makes the decisions of StateMachine::Step incrementally: it is notified of changes, and judges only the changed nodes
// again.
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
// After each Advance, the planner's decision on every node is the one that Step would make for a snapshot of the same
// views. A whole rollout costs a few judgements per node instead of one per node and pass.
//
// Pure except for its memory: it has no facade, clock, lock, log or random number. Owns its inputs; views and facts are
// shared and immutable. Not thread-safe. Related: state_machine.h decides; cluster_snapshot.h is the input of the
// decisions.
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

// The result of an Advance.
struct PlanUpdate {
  // Same as Step's plan, except for two members. `pod_interest` is empty; IncrementalPlanner::pod_interest returns it
  // without a copy. `gates` contains only gates that are new or have changed since the last Advance. The gate of a node
  // that waits for a slot has no place in the queue and is repeated only when its reason changes, because place and
  // counts change with every admission. PublishedPlan has them.
  Plan plan = {};
  // Names, in order, of nodes that had a gate and no longer have one, or were deleted.
  std::vector<std::string> ungated = {};
};

// Limits on the work of one Advance. Nodes for which the last Advance planned something are always judged, beyond these
// limits.
struct AdvanceLimits {
  // Maximum number of nodes that are judged because they have changed or are due. If more nodes are due, the plan is
  // not finished.
  std::size_t judged = std::numeric_limits<std::size_t>::max();
  // Maximum number of reported gates of nodes that wait for a slot. The next Advances report the remaining gates.
  std::size_t told = std::numeric_limits<std::size_t>::max();
  // false: the planner has not been given all views yet, so the plan is not finished.
  bool has_all_views = true;
};

// Everything that Step would report, as of one Advance. Immutable and independent of its planner: any thread may read
// it without waiting for the planner.
class PublishedPlan {
 public:
  struct Parts;
  explicit PublishedPlan(Parts parts);
  ~PublishedPlan();

  // Returns why the node waits, with its place in the queue if it waits for a slot; nullopt if it does not wait or is
  // unknown. Examines all nodes if the node waits for a slot.
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
    // Place in the queue, from 1; 0 if it does not wait for a slot, or if there is a rollout, because its gates contain
    // the places.
    int place = 0;
  };
  std::vector<Placed> ByName() const;
  // nullopt: the node does not wait.
  std::optional<Gate> GateOf(const Placed& placed) const;

  std::unique_ptr<const Parts> parts_;
};

class IncrementalPlanner {
 public:
  // Starts without nodes, with the default policy and facts, and as if it had always been active.
  explicit IncrementalPlanner(StateMachine machine);
  ~IncrementalPlanner();

  // From now on, plans set the annotation that shows the gate of a node (DriverIdentity::WaitingForAnnotation). Step
  // plans only its removal, because it does not know since when a node has had its gate.
  void ShowWaits();
  // If the NodeRules differ, every node is judged again. If only the AdmissionLimits differ, no node is judged again,
  // unless a pause starts or ends while waits are shown.
  void SetPolicy(const UpgradePolicy& policy);
  // `driver` is not null. If the DaemonSets differ, every node is judged again. `findings`: the problems found while
  // reading.
  void SetDriver(std::shared_ptr<const DriverFacts> driver, std::vector<Finding> findings);
  // See ClusterSnapshot::active_since. If the time differs, every node is judged again, because an expired deadline may
  // be in the future again.
  void SetActiveSince(absl::Time active_since);
  // See ClusterSnapshot::grants. The nodes whose grants differ are judged again.
  void SetGrants(const Grants& grants);
  // Sets the maximum number of grants in the ledger, which Step does not know; nullopt, the default, means no ledger.
  // No node is judged again.
  void SetGrantsMax(std::optional<std::size_t> grants_max);
  // See ClusterSnapshot::shared_slots. No node is judged again.
  void SetSharedSlots(const std::optional<SharedSlots>& shared);
  // See ClusterSnapshot::rollout. No node is judged again.
  void SetRollout(const RolloutFacts& rollout);

  // Adds a node, or replaces its view. `view` is not null; the name of its node is the key.
  void Update(std::shared_ptr<const NodeView> view);
  // Notes that the pods of the node are no longer followed, so the next judgement must not use the pods in the node's
  // view. The last verdict, which did not request pods, remains valid. Does nothing if the node is unknown.
  void ForgetPods(const std::string& node);
  // Removes a deleted node. Does nothing if the node is unknown.
  void Remove(const std::string& node);

  // Judges the nodes that have changed, those whose wake_at has passed, and those for which the last Advance planned
  // something. Undone work is planned again, as Step would. Then admits.
  //
  // Cost: O((judged + admitted + told) log N), where *told* is the number of gates returned, regardless of N. A rollout
  // adds the costs that rollout_round.h describes. If `now` is earlier than at the last call, every node is judged
  // again.
  //
  // A plan that is not finished (Plan::finished) admits no node and reports nothing about nodes that wait for a slot:
  // both would be based on verdicts that no longer apply.
  [[nodiscard]] PlanUpdate Advance(absl::Time now, const AdvanceLimits& limits = {});

  // Cancels what the last Advance planned for these nodes, by name: they wait where they are until the next Advance,
  // which judges them again. If this update reports a node that Advance has reported, it replaces that report.
  [[nodiscard]] PlanUpdate Withhold(const std::map<std::string, Gate>& gates);

  // Returns the plan as of the last finished Advance or Withhold; never null. Its cost does not grow with the number of
  // nodes, because it shares its data with the plans before and after it.
  [[nodiscard]] std::shared_ptr<const PublishedPlan> Publish();

  // Notes that the gate that the last Advance reported for the node reached no recipient. The next Advance that judges
  // the node reports the gate that it has then.
  void NotTold(const std::string& node);

  // See Plan::pod_interest; as of the last Advance.
  const std::set<std::string>& pod_interest() const;

  // Returns a node of each unit of gangs that is not cordoned yet (RolloutRound::uncordoned_units), as of the last
  // finished Advance.
  const std::map<std::string, std::string>& uncordoned_units() const;
  // Returns the nodes whose start is granted and whose unit is unknown (RolloutRound::of_unknown_units), as of the last
  // finished Advance.
  const std::set<std::string>& of_unknown_units() const;

  // Returns true if the last finished Advance ran a round of a rollout.
  bool has_round() const;

  // Returns the number of judgements since the start.
  std::uint64_t judgements() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_INCREMENTAL_PLANNER_H_
