// Implements the members of Core for gangs: the nodes of a unit start together, and no pod of the unit is evicted
// before all its nodes are cordoned.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "core/core.h"
#include "decide/marks_of_view.h"
#include "fmt/format.h"
#include "observe/withheld_plan.h"

namespace driverupgrade::internal {

// Returns true if other nodes must wait because the node's pods are unknown and may belong to a gang. Returns false
// after repeated failures to read the pods, and for a node that has started and has requests in flight. A node
// whose requests only set its label has not started; its pods are read afterwards.
bool Core::MayHaveGangs(const Pool& pool, const std::string& node) const {
  constexpr int kFailuresMax = 5;
  if (pool.guests.contains(node) || objects_.KnowsPodsOn(node)) return false;
  if (under_way_.Contains(node) && HasStarted(node)) return false;
  const auto retry = reads_.find(node);
  return retry == reads_.end() || retry->second.failures < kFailuresMax;
}

// Nodes that start together wait until all their pods have been read; otherwise, some would start without the others.
// With gangs, all waiting nodes wait for each other, because a gang can have pods on any node. A node whose pods cannot
// be listed continues with all work that does not depend on its pods.
void Core::WithholdUnread(Pool& pool, const std::set<std::string>& wanted, bool for_gangs, Plan& plan) {
  const bool all_wait = for_gangs && std::any_of(pool.interest.begin(), pool.interest.end(),
                                                 [&](const std::string& node) { return MayHaveGangs(pool, node); });
  std::map<std::string, Gate> unread;
  for (const NodePlan& node : plan.nodes) {
    const bool is_unknown = for_gangs && !objects_.KnowsPodsOn(node.node);
    const bool waits = all_wait || is_unknown || Awaits(node.node, wanted);
    if (!Starts(node) || pool.guests.contains(node.node) || !waits) continue;
    Gate gate{.reason = GateReason::kPodsUnknown,
              .detail = all_wait ? "the pods of waiting nodes are being read" : "the node's pods are being read"};
    const auto retry = reads_.find(node.node);
    if (retry != reads_.end() && retry->second.due) gate.not_before = retry->second.due;
    unread[node.node] = std::move(gate);
  }
  WithholdNodes(pool.planner, unread, plan);
}

// No pod of a unit is evicted before all nodes of the unit are cordoned, because the pod's controller could recreate
// the pod on another node of the unit. A node that cannot be cordoned delays the other nodes for at most HoldMax.
void Core::WithholdEvictions(Pool& pool, Plan& plan, absl::Time now) {
  const std::map<std::string, std::string>& uncordoned = pool.planner.uncordoned_units();
  const bool knows_grants = !UsesLedger(pool) || pool.ledger->IsKnown();
  const bool knows_units = knows_grants && pool.planner.has_round() && pool.planner.of_unknown_units().empty();
  std::erase_if(pool.held_since, [&](const auto& held) { return UnitOf(held.first).empty(); });
  std::map<std::string, Gate> held;
  for (const NodePlan& node : plan.nodes) {
    const std::string unit = node.evict.empty() && node.remove.empty() ? "" : UnitOf(node.node);
    const auto found = uncordoned.find(unit);
    if (unit.empty() || (found == uncordoned.end() && knows_units)) continue;
    absl::Time& since = pool.held_since.try_emplace(node.node, now).first->second;
    since = std::min(since, now);  // the clock may have been set back
    const absl::Time until = since + pool.hold_max;
    if (until <= now) continue;
    std::string detail =
        found == uncordoned.end()
            ? "the nodes that start together with this node are not known yet"
            : fmt::format("node {}, which starts together with this node, is not cordoned yet", found->second);
    held[node.node] = {.reason = GateReason::kGroup, .detail = std::move(detail), .not_before = until};
  }
  WithholdNodes(pool.planner, held, plan);
}

std::string Core::UnitOf(const std::string& node) const {
  const auto view = managed_.find(node);
  if (view == managed_.end()) return "";
  return MarksOfView(*view->second, machine_.identity())->unit.value().value_or("");
}

void Core::NoteInterruptions(const NodePlan& plan) {
  const auto pool = pool_of_.find(plan.node);
  if (pool == pool_of_.end() || !pool->second->has_gangs || (plan.evict.empty() && plan.remove.empty())) return;
  const std::string cause = GangInterruptions::CauseOf(plan.node, UnitOf(plan.node));
  pool->second->gang_interruptions.Begin(plan, *managed_.at(plan.node), cause);
}

void Core::ForgetInterruptions(Pool& pool) const {
  if (!pool.gang_interruptions.has_causes()) return;
  std::set<std::string> in_progress;
  for (const std::string& node : pool.nodes) {
    if (HasStarted(node)) in_progress.insert(GangInterruptions::CauseOf(node, UnitOf(node)));
  }
  pool.gang_interruptions.KeepCauses(in_progress);
}

}  // namespace driverupgrade::internal
