// Members of HostEngine that decide by the ledger which nodes may start.
#include <map>
#include <set>
#include <string>

#include "decide/rollout/census.h"
#include "host/host_engine.h"
#include "tell/withheld_plan.h"

namespace driverupgrade::internal {

absl::Status HostEngine::CheckLedgerPart(const Part& part) const {
  if (!UsesLedger(part)) return absl::OkStatus();
  for (const auto& other : parts_) {
    if (other.get() == &part || other->nodes.empty()) continue;
    return absl::FailedPreconditionError("nodes: an engine with a ledger takes one policy for all of its nodes");
  }
  return absl::OkStatus();
}

// Called after all changes have been applied, because only then is it certain whether a grant's node exists.
void HostEngine::SetLedgerFacts(Part& part, const UpgradePolicy& policy, absl::Time now) {
  if (!UsesLedger(part)) return;
  LedgerSteps& ledger = ledger_->steps();
  ledger.Begin(now);
  std::map<std::string, std::string> uids;
  for (const auto* names : {&part.nodes, &part.guests}) {
    for (const std::string& name : *names) uids.emplace(name, UidOf(name));
  }
  part.planner.SetGrants(ledger.Standing(uids, now));
  part.planner.SetGrantsMax(ledger.grants_max());
  const bool rolls = policy.rollout && policy.auto_upgrade;
  part.planner.SetRollout(rolls ? RolloutFacts{.record = ledger.record(), .took = ledger.took()} : RolloutFacts{});
}

void HostEngine::Withhold(Part& part, const UpgradePolicy& policy, const std::set<std::string>& withheld,
                          absl::Time now, Plan& plan) {
  if (policy.rollout && StartsTogether(*policy.rollout)) {
    // Nodes that start together do so when the pods of all of them are known.
    std::map<std::string, Gate> gates;
    for (const NodePlan& node : plan.nodes) {
      if (!internal::Starts(node) || !withheld.contains(node.node) || part.guests.contains(node.node)) continue;
      gates[node.node] = {.reason = GateReason::kPodsUnknown, .detail = "its pods are being read"};
    }
    WithholdNodes(part.planner, gates, plan);
  }
  LeaveOut(withheld, plan);
  if (!UsesLedger(part)) return;
  ledger_->steps().NoteFailures(plan);
  WithholdNodes(part.planner, ledger_->steps().Settle(plan, now), plan);
  LeaveOut(withheld, plan);
  ledger_->steps().Report(plan, now);
}

void HostEngine::LeaveOut(const std::set<std::string>& withheld, Plan& plan) const {
  std::erase_if(plan.nodes,
                [&](const NodePlan& node) { return withheld.contains(node.node) || exchanges_.contains(node.node); });
}

}  // namespace driverupgrade::internal
