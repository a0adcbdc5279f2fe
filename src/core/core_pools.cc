// Implements the members of Core that assign nodes to pools, and that report the status of pools.
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "core/core.h"
#include "decide/marks_of_view.h"
#include "driverupgrade/upgrade_state.h"
#include "model/node_marks.h"

namespace driverupgrade::internal {
namespace {

// Returns true if the node is in progress, or if its state is unknown. If the node has no state label, its state is
// derived from its other marks and its driver pods.
bool IsUnderWay(const NodeView& view, const DriverIdentity& identity) {
  const std::optional<UpgradeState> state = MarksOfView(view, identity)->State();
  return !state || IsInProgress(*state);
}

// Same as IsUnderWay, but returns false for a failed node.
bool MayHoldSlot(const NodeView& view, const DriverIdentity& identity) {
  return IsUnderWay(view, identity) && MarksOfView(view, identity)->State() != UpgradeState::kFailed;
}

bool HasLabel(const NodeView& view, const DriverIdentity& identity) { return MarksOfView(view, identity)->HasLabel(); }

}  // namespace

// Returns the pool of the owner. If the part has no owner, returns the pool that contains one of the named nodes now,
// or contained one earlier. Creates a pool if none matches.
Pool& Core::PoolFor(const Part& part) {
  for (const auto& pool : pools_) {
    const bool is_same = part.owner.empty() ? !part.nodes && pool->has_all : pool->owner == part.owner;
    if (is_same) return *pool;
  }
  if (part.nodes && part.owner.empty()) {
    for (const auto* known : {&pool_of_, &left_}) {
      for (const std::string& node : *part.nodes) {
        const auto found = known->find(node);
        if (found == known->end() || found->second->has_all || !found->second->owner.empty()) continue;
        return *found->second;
      }
    }
  }
  Pool& pool = *pools_.emplace_back(std::make_unique<Pool>(machine_));
  pool.owner = part.owner;
  pool.has_all = !part.nodes;
  pool.planner.SetDriver(driver_.facts, driver_.findings);
  return pool;
}

absl::StatusOr<LedgerSteps*> Core::LedgerFor(const std::string& owner) {
  if (!ledger_options_) return nullptr;
  AdmissionLedgerOptions options = *ledger_options_;
  if (!owner.empty()) options.owner = owner;
  if (const auto known = ledgers_.find(options.owner); known != ledgers_.end()) return &known->second;
  DRIVERUPGRADE_ASSIGN_OR_RETURN(AdmissionLedger ledger, AdmissionLedger::Create(machine_.identity(), options));
  LedgerSteps& made = ledgers_.try_emplace(options.owner, std::move(ledger)).first->second;
  for (const auto& [name, view] : managed_) made.NodeSeen(name, &view->node);
  return &made;
}

absl::Status Core::CheckLedgerPool(const Pool& pool) const {
  if (pool.ledger == nullptr || pool.nodes.empty()) return absl::OkStatus();
  for (const auto& other : pools_) {
    if (other.get() == &pool || other->nodes.empty() || other->ledger != pool.ledger) continue;
    return absl::FailedPreconditionError(
        "nodes: with a ledger, all nodes need the same policy, or each part needs its own owner");
  }
  return absl::OkStatus();
}

void Core::Move(const std::string& node, Pool& pool) {
  for (const auto& other : pools_) {
    if (other.get() == &pool) continue;
    if (other->nodes.erase(node) > 0 || other->guests.erase(node) > 0) other->planner.Remove(node);
  }
  pool.guests.erase(node);
  pool.nodes.insert(node);
  pool_of_[node] = &pool;
  left_.erase(node);
  pool.planner.Update(managed_.at(node));
}

void Core::Assign(Pool& pool, const Names& nodes) {
  // If there is only one pool, ShowTo adds new nodes to it.
  if (!nodes && pools_.size() == 1 && !pool.nodes.empty()) return;
  for (const auto& [name, view] : managed_) {
    const auto owner = pool_of_.find(name);
    const bool is_ours = owner != pool_of_.end() && owner->second == &pool;
    const bool wanted = nodes ? nodes->contains(name) : owner == pool_of_.end() || is_ours;
    if (wanted && !is_ours) Move(name, pool);
    // The caller finds nodes through their driver pods, so it cannot name a node without a driver pod. Such a node
    // stays in the pool.
    if (wanted || !is_ours || view->driver_pods.empty()) continue;
    pool.nodes.erase(name);
    pool_of_.erase(name);
    pool.guests.insert(name);
    // Without this entry, a later part that names only this node would create a second pool for the same policy.
    left_[name] = &pool;
  }
  std::erase_if(pools_, [&](const auto& other) {
    if (other.get() == &pool || !other->nodes.empty()) return false;
    std::erase_if(left_, [&](const auto& entry) { return entry.second == other.get(); });
    return true;
  });
  SetGuests(pool);
}

void Core::SetGuests(Pool& pool) {
  std::set<std::string> guests;
  for (const auto& [name, view] : managed_) {
    if (pool_of_.contains(name)) continue;
    // The caller may have read the node before its driver pod was recreated, or while the state label was missing. Such
    // a node counts as a guest until its upgrade has ended or a caller names it.
    const bool was_ours = pool.guests.contains(name);
    const bool counts = IsUnderWay(*view, machine_.identity()) || (was_ours && under_way_.Contains(name));
    const bool may_be_left_out = view->driver_pods.empty() || !HasLabel(*view, machine_.identity());
    if (counts && (was_ours || may_be_left_out)) guests.insert(name);
  }
  for (const std::string& name : pool.guests) {
    if (!guests.contains(name) && !pool.nodes.contains(name)) pool.planner.Remove(name);
  }
  for (const std::string& name : guests) {
    if (!pool.guests.contains(name)) pool.planner.Update(managed_.at(name));
  }
  pool.guests = std::move(guests);
}

// Counts the nodes themselves, because the last pass of another pool may be old. A node without a pool counts while it is
// in progress: after a restart, the pools of most nodes are not known yet.
std::optional<SharedSlots> Core::SharedSlotsFor(const Pool& pool) const {
  if (!parallel_total_) return std::nullopt;
  SharedSlots shared{.max = *parallel_total_, .used_elsewhere = 0};
  for (const auto& [name, view] : managed_) {
    if (pool.nodes.contains(name) || pool.guests.contains(name)) continue;
    const auto owner = pool_of_.find(name);
    const bool holds_slot = owner == pool_of_.end() ? MayHoldSlot(*view, machine_.identity())
                                                    : TallyByMarks(*view, *MarksOfView(*view, machine_.identity()),
                                                                   machine_.identity(), owner->second->rules)
                                                              .slots > 0;
    *shared.used_elsewhere += holds_slot || under_way_.Contains(name);
  }
  return shared;
}

void Core::NoteSlots(Pool& pool, Plan& plan, absl::Time now) const {
  if (!plan.finished) return;
  const int before = std::exchange(pool.slots, plan.totals.slots);
  if (parallel_total_ && pools_.size() > 1 && pool.slots < before) plan.wake_at = now;
}

bool Core::HasStarted(const std::string& node) const {
  const auto view = managed_.find(node);
  return view != managed_.end() && IsUnderWay(*view->second, machine_.identity());
}

std::vector<OwnedStatus> Core::Statuses() const {
  std::vector<OwnedStatus> statuses;
  for (const auto& pool : pools_) {
    FleetStatus status = pool->planner.Publish()->Status();
    std::erase_if(status.nodes, [&](const NodeStatus& node) { return pool->guests.contains(node.name); });
    if (status.nodes.empty() && pools_.size() > 1) continue;
    statuses.push_back({.owner = pool->owner, .status = std::move(status)});
  }
  return statuses;
}

// Leaves out owners that have no nodes, unless there is only one owner.
CoreReport Core::Everything() const {
  Plan all;
  std::map<std::string, OwnedPart> parts;
  for (const auto& pool : pools_) {
    Plan plan = pool->planner.Publish()->Full();
    std::erase_if(plan.gates, [&](const NodeGate& gate) { return pool->guests.contains(gate.node); });
    OwnedPart& part = parts.try_emplace(pool->owner, OwnedPart{.owner = pool->owner}).first->second;
    part.totals += plan.totals;
    for (const NodeGate& gate : plan.gates) ++part.waiting[gate.gate.reason];
    if (plan.rollout) part.rollout = all.rollout = std::move(plan.rollout);
    all.totals += plan.totals;
    if (pools_.size() == 1) all.findings = std::move(plan.findings);
    std::move(plan.gates.begin(), plan.gates.end(), std::back_inserter(all.gates));
  }
  std::sort(all.gates.begin(), all.gates.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
  CoreReport report{.plan = std::move(all)};
  for (auto& [owner, part] : parts) {
    if (part.totals.total > 0 || parts.size() == 1) report.parts.push_back(std::move(part));
  }
  return report;
}

}  // namespace driverupgrade::internal
