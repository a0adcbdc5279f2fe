#include "run/list_pass.h"

#include <utility>

#include "base/status_macros.h"

namespace driverupgrade::internal {

ListPass::ListPass(StateMachine machine, SnapshotBuilder& builder, std::shared_ptr<Clock> clock, LedgerPass* ledger,
                   PlanExecutor& executor)
    : Pass(std::move(machine)), builder_(builder), clock_(std::move(clock)), ledger_(ledger), executor_(executor) {}

std::vector<NodeOutcome> ListPass::Collect(AttemptLog& log) { return executor_.Collect(log); }

absl::StatusOr<Plan> ListPass::MakePlan(const CallContext& context, const PassInput& input, AttemptLog& log) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(ClusterSnapshot snapshot,
                                 builder_.Build(context, log, ledger_ != nullptr ? ledger_->steps().grants() : Grants{}));
  planner().SetPolicy(input.policy);
  planner().SetActiveSince(input.active_since);
  planner().SetSharedSlots(input.shared_slots);
  planner().SetRollout(input.rollout());
  Show(snapshot);
  // What it says is not told: the pods of some nodes are not known yet.
  static_cast<void>(planner().Advance(clock_->Now()));
  const std::vector<std::string> interest(planner().pod_interest().begin(), planner().pod_interest().end());
  if (ReadsAllPods(input.policy, interest.size())) {
    builder_.ReadAllPods(context, interest, log, snapshot);
  } else {
    builder_.ReadPods(context, interest, log, snapshot);
  }
  if (!interest.empty()) {
    Show(snapshot);
    static_cast<void>(planner().Advance(clock_->Now()));
  }
  return planner().Publish()->Full();
}

void ListPass::Show(const ClusterSnapshot& snapshot) {
  planner().SetDriver(snapshot.driver, snapshot.findings);
  planner().SetGrants(snapshot.grants);
  if (ledger_ != nullptr) planner().SetGrantsMax(ledger_->steps().grants_max());
  sees_daemon_set_ = !snapshot.driver->daemon_sets.empty();
  std::map<std::string, std::string> gone = std::exchange(uids_, {});
  for (const std::shared_ptr<const NodeView>& view : snapshot.nodes) {
    uids_.emplace(view->node.name, view->node.uid);
    gone.erase(view->node.name);
    planner().Update(view);
  }
  for (const auto& [node, uid] : gone) planner().Remove(node);
}

void ListPass::Withhold(const std::map<std::string, Gate>& gates, Plan& plan) {
  if (gates.empty()) return;
  static_cast<void>(planner().Withhold(gates));
  plan = planner().Publish()->Full();
}

std::vector<NodeOutcome> ListPass::Carry(const CallContext& context, const Plan& plan, AttemptLog& log) {
  return executor_.Apply(context, plan, log);
}

std::string ListPass::UidOf(const std::string& node) const {
  const auto found = uids_.find(node);
  return found == uids_.end() ? std::string() : found->second;
}

}  // namespace driverupgrade::internal
