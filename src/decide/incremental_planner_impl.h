// Defines the state of an IncrementalPlanner: its input, and the sums and sets over the verdicts of all nodes.
// incremental_planner.cc accepts changes, and evaluates and admits nodes. incremental_planner_plan.cc reports the
// results.
#ifndef DRIVERUPGRADE_SRC_DECIDE_INCREMENTAL_PLANNER_IMPL_H_
#define DRIVERUPGRADE_SRC_DECIDE_INCREMENTAL_PLANNER_IMPL_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "decide/admission/grants.h"
#include "decide/admission/queue.h"
#include "decide/due_nodes.h"
#include "decide/incremental_planner.h"
#include "decide/judged_nodes.h"
#include "decide/planned_node.h"
#include "decide/rollout_planner.h"
#include "decide/step_parts.h"
#include "decide/verdict.h"

namespace driverupgrade::internal {

class IncrementalPlanner::Impl {
 public:
  explicit Impl(StateMachine machine)
      : machine_(std::move(machine)),
        identity_(std::make_shared<const DriverIdentity>(machine_.identity())),
        rollout_(machine_.identity()) {}

  void ShowWaits() { shows_waits_ = true; }
  void SetPolicy(const UpgradePolicy& policy);
  void SetDriver(std::shared_ptr<const DriverFacts> driver, std::vector<Finding> findings);
  void SetActiveSince(absl::Time active_since);
  void SetGrants(const Grants& grants);
  void SetGrantsMax(std::optional<std::size_t> grants_max) { grants_max_ = grants_max; }
  void SetSharedSlots(const std::optional<SharedSlots>& shared) { shared_slots_ = shared; }
  void SetRollout(const RolloutFacts& rollout) { rollout_.SetFacts(rollout); }
  void Update(std::shared_ptr<const NodeView> view);
  void ForgetPods(const std::string& name);
  void Remove(const std::string& name);
  PlanUpdate Advance(absl::Time now, const AdvanceLimits& limits);
  PlanUpdate Withhold(const std::map<std::string, Gate>& gates);
  void NotTold(const std::string& name);
  std::shared_ptr<const PublishedPlan> Publish();
  const std::set<std::string>& pod_interest() const {
    return rollout_.interest().empty() ? interested_ : all_interest_;
  }
  const RolloutPlanner& rollout() const { return rollout_; }
  std::uint64_t judgements() const { return judgements_; }

 private:
  using Names = std::set<std::string>;
  // Makes all nodes due for another evaluation.
  void Sweep() { due_.Sweep(judgements_); }
  void JudgeNode(const std::string& name, PlannedNode& node, bool admitted);
  Verdict Judge(PlannedNode& node, bool admitted) const;
  void AdmitNodes(Names& touched);
  void AdmitByRollout(const Sums& sums, Names& touched);
  void JoinInterests();
  // Enlist adds the verdict on a node to the sums and sets below. Withdraw removes the node's verdict, if any.
  void Enlist(const std::string& name, PlannedNode& node, std::shared_ptr<const JudgedNode> judged);
  void Withdraw(const std::string& name, const PlannedNode& node);
  // Must be called after the grant or the node with this UID has been added or removed.
  void Locate(const std::string& uid);
  // Returns the first node with this UID.
  std::set<std::pair<std::string, std::string>>::const_iterator FirstOf(const std::string& uid) const {
    return names_.lower_bound({uid, ""});
  }
  // Returns the gate to report for a node, without its place in the queue; nullopt if the node does not wait.
  std::optional<ToldGate> GateToTell(const std::string& name, const PlannedNode& node) const;
  static bool IsTold(const PlannedNode& node, const ToldGate& gate);
  void PostponeTelling(std::size_t told, Names& touched);
  void TellGates(const Names& names, PlanUpdate& update);
  Plan PlanWithoutGates() const;
  Plan PlanWithoutNodes() const;
  std::vector<NodeReading> Readings() const;
  // See UpgradeBudget::unavailable_nodes.
  std::vector<std::string> UnavailableNodes() const;

  const StateMachine machine_;
  const std::shared_ptr<const DriverIdentity> identity_;  // shared with plans that outlive this object
  bool shows_waits_ = false;
  NodeRules rules_ = {};
  AdmissionLimits limits_ = {};
  std::shared_ptr<const DriverFacts> driver_ = std::make_shared<const DriverFacts>();
  std::vector<Finding> findings_ = {};
  absl::Time active_since_ = absl::InfinitePast();
  Grants grants_ = {};
  std::optional<std::size_t> grants_max_ = std::nullopt;
  std::optional<SharedSlots> shared_slots_ = std::nullopt;
  RolloutPlanner rollout_;
  // Results of the last Advance.
  absl::Time now_ = absl::InfinitePast();
  Tally totals_ = {};
  UpgradeBudget budget_ = {};
  Names all_interest_ = {};  // nodes whose pods are needed by any decision; unused if the rollout needs no pods

  PlannedNodes nodes_;
  DueNodes due_;
  JudgedNodes judged_;
  std::set<std::pair<std::string, std::string>> names_;  // pairs of UID and name
  Names elsewhere_;                                      // UIDs with a grant but without a node
  Names untold_;  // nodes that wait for a slot, and whose gates a later Advance reports
  // Sums and sets over the verdicts of all nodes.
  Sums sums_ = {};
  Names acting_;
  Names interested_;
  Names unavailable_;
  Names with_findings_;
  Names in_ledger_;  // nodes that have or need a grant
  AdmissionQueue queue_;
  Names told_before_;  // nodes whose gate the caller may know although they were deleted or lack PlannedNode::told
  std::uint64_t judgements_ = 0;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_INCREMENTAL_PLANNER_IMPL_H_
