#include "core/core.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/status_macros.h"
#include "decide/rollout/census.h"
#include "decide/rollout/gangs.h"
#include "fmt/format.h"
#include "model/unreadable.h"
#include "observe/withheld_plan.h"

namespace driverupgrade::internal {
namespace {

// Returns an error if the node or its NodeMaintenances cannot be read, because some of our marks or claims may then
// remain.
absl::Status CheckReadable(const NodeView& view, bool requestor) {
  if (IsUnreadable(view.node)) return absl::UnavailableError(CannotBeRead("Node", view.node));
  if (requestor && !view.maintenances) {
    return absl::UnavailableError(fmt::format("the NodeMaintenances of node {} have not been read", view.node.name));
  }
  return absl::OkStatus();
}

// Returns how long a node's evictions may wait until the nodes that started with it are cordoned. Leaves at least half
// of the drain timeout for the drain itself.
absl::Duration HoldMax(const UpgradePolicy& policy) {
  absl::Duration most = absl::Minutes(2);
  if (policy.drain) most = std::min(most, policy.drain->timeout / 2);
  if (policy.pod_deletion) most = std::min(most, policy.pod_deletion->timeout / 2);
  return most;
}

StateMachineOptions WithSelectorKeys(StateMachineOptions options, const LabelSelector& selector) {
  for (const LabelSelector::Requirement& one : selector.requirements()) options.selector_keys.push_back(one.key);
  return options;
}

}  // namespace

Core::Core(const DriverIdentity& identity, CoreOptions options, ObjectSource& objects, NodeHooks& hooks)
    : machine_(identity, WithSelectorKeys(std::move(options.machine), options.scope.node_selector),
               options.scope.asks_uses_driver),
      scope_(std::move(options.scope)),
      parallel_total_(options.parallel_total),
      nodes_per_pass_(options.nodes_per_pass),
      objects_(objects),
      hooks_(hooks),
      views_(identity, scope_) {
  if (!options.ledger) return;
  ledger_options_ = options.ledger->options();
  ledgers_.try_emplace(ledger_options_->owner, *std::move(options.ledger));
}

absl::Status Core::CheckPolicy(const UpgradePolicy& policy, bool is_dry_run) {
  if (policy != valid_policy_) {
    DRIVERUPGRADE_RETURN_IF_ERROR(Validate(policy));
    valid_policy_ = policy;
  }
  // Without a stored record, two replicas that both believe they are the leader could be in different stages.
  if (policy.rollout && !ledger_options_ && !is_dry_run) {
    return absl::FailedPreconditionError(
        "policy: rollout: the engine has no ledger (option `ledger`, EngineOptions::ledger) to store the record "
        "of the rollout");
  }
  return absl::OkStatus();
}

absl::Status Core::Look(absl::Time now) {
  NoteTime(now);
  return NoteChanges();
}

absl::StatusOr<CorePass> Core::Apply(const Part& part, const UpgradePolicy& policy, const PassFacts& facts,
                                     absl::Time now) {
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckPolicy(policy, facts.dry_run.has_value()));
  DRIVERUPGRADE_RETURN_IF_ERROR(objects_.Ready());
  NoteTime(now);
  DRIVERUPGRADE_RETURN_IF_ERROR(NoteChanges());
  // If the list of nodes has shown that the cluster was restored from a backup, Ready fails until everything else has
  // been read again.
  DRIVERUPGRADE_RETURN_IF_ERROR(objects_.Ready());
  DRIVERUPGRADE_ASSIGN_OR_RETURN(LedgerSteps* const ledger, LedgerFor(part.owner));
  Pool& pool = PoolFor(part);
  pool.ledger = ledger;
  Assign(pool, part.nodes);
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckLedgerPool(pool));
  ForgetInterruptions(pool);
  SetFacts(pool, policy, facts, now);
  CorePass pass{.plan = Advance(pool, now), .pool = &pool};
  // While the revision is unknown, nothing is recorded.
  const std::optional<RolloutStatus>& rollout = pass.plan.rollout;
  if (rollout && !rollout->revision.empty() && !rollout->record) pool.sick.clear();
  if (pass.plan.rollout) pool.gang_interruptions.SetRevision(pass.plan.rollout->revision);
  FollowPods(pool, pass.plan);
  pass.wanted_pods = WantedPods(pool);
  AddFindings(pool, pass.plan);
  if (pass.plan.finished && policy.rollout && StartsTogether(*policy.rollout)) {
    WithholdUnread(pool, pass.wanted_pods, pool.has_gangs, pass.plan);
  }
  if (pool.has_gangs) WithholdEvictions(pool, pass.plan, now);
  LeaveOut(pool, pass.wanted_pods, pass.plan);
  AddWakeUps(pool, pass.plan);
  NoteSlots(pool, pass.plan, now);
  return pass;
}

void Core::SetFacts(Pool& pool, const UpgradePolicy& policy, const PassFacts& facts, absl::Time now) {
  if (!policy.auto_upgrade) {
    pool.active_since.reset();
  } else if (!pool.active_since) {
    pool.active_since = now;
  }
  pool.rules = policy;
  pool.rollout_since = policy.rollout ? pool.active_since.value_or(absl::InfiniteFuture()) : absl::InfiniteFuture();
  pool.has_gangs = policy.rollout && GangsStartTogether(*policy.rollout);
  if (pool.has_gangs) pool.hold_max = HoldMax(policy);
  pool.planner.SetPolicy(policy);
  const absl::Time active_since = pool.active_since.value_or(absl::InfinitePast());
  pool.planner.SetActiveSince(facts.dry_run ? facts.dry_run->active_since : active_since);
  pool.planner.SetSharedSlots(parallel_total_ ? SharedSlotsFor(pool) : facts.shared_slots);
  const bool shares = SharesDriver(pool);
  if (facts.dry_run) pool.planner.SetRollout({.record = facts.dry_run->record, .shares_driver = shares});
  if (!UsesLedger(pool)) return;
  LedgerSteps& ledger = *pool.ledger;
  ledger.Begin(now);
  // Until all changed nodes have been examined, the core cannot determine whether a granted node exists.
  if (touched_.empty()) {
    const auto is_managed = [&](const std::string& node) {
      return pool.nodes.contains(node) || pool.guests.contains(node);
    };
    pool.planner.SetGrants(ledger.Standing(is_managed, now));
    pool.planner.SetGrantsMax(ledger.grants_max());
  }
  const bool rolls = policy.rollout && policy.auto_upgrade;
  if (!rolls) {
    pool.sick.clear();
  } else if (!facts.sick.empty()) {
    pool.sick = facts.sick;
  }
  pool.planner.SetRollout(rolls ? RolloutFacts{.record = ledger.record(),
                                               .sick = pool.sick,
                                               .took = ledger.took(),
                                               .shares_driver = shares,
                                               .gangs_interrupted = pool.gang_interruptions.counts()}
                                : RolloutFacts{});
}

Plan Core::Advance(Pool& pool, absl::Time now) {
  // Every evaluated node can produce requests, and all requests share the same connections.
  const std::size_t in_flight_max = 2 * nodes_per_pass_;
  const std::size_t room = in_flight_max - std::min(in_flight_max, under_way_.size());
  const AdvanceLimits limits{
      .judged = std::min(nodes_per_pass_, room), .told = nodes_per_pass_, .has_all_views = touched_.empty()};
  Plan plan = IncompletePlan(pool.planner.Advance(now, limits), pool.planner);
  if (!plan.finished && (room > 0 || !touched_.empty())) plan.wake_at = now;
  return plan;
}

// ----- pods

void Core::FollowPods(Pool& pool, const Plan& plan) {
  // An unfinished plan does not list every node whose pods are needed, so the interest of earlier plans is kept
  // until a plan is finished.
  std::set<std::string> interest = plan.finished ? std::set<std::string>() : pool.interest;
  interest.insert(plan.pod_interest.begin(), plan.pod_interest.end());
  std::vector<std::string> left;
  std::set_difference(pool.interest.begin(), pool.interest.end(), interest.begin(), interest.end(),
                      std::back_inserter(left));
  pool.interest = std::move(interest);
  for (const std::string& node : left) ForgetPods(node);
  for (std::string& node : objects_.SetInterest(PodInterest())) written_.insert(std::move(node));
}

std::set<std::string> Core::PodInterest() const {
  if (pools_.size() == 1) return pools_.front()->interest;
  std::set<std::string> all;
  for (const auto& pool : pools_) all.insert(pool->interest.begin(), pool->interest.end());
  return all;
}

bool Core::WantsPodsOf(const std::string& node) const {
  return std::any_of(pools_.begin(), pools_.end(), [&](const auto& pool) { return pool->interest.contains(node); });
}

std::set<std::string> Core::WantedPods(const Pool& pool) const {
  std::set<std::string> wanted;
  for (const std::string& node : pool.interest) {
    const auto retry = reads_.find(node);
    const bool waits = retry != reads_.end() && retry->second.due;
    if (waits || pool.guests.contains(node) || under_way_.Contains(node) || objects_.KnowsPodsOn(node)) continue;
    wanted.insert(node);
  }
  return wanted;
}

bool Core::Awaits(const std::string& node, const std::set<std::string>& wanted) const {
  if (!wanted.contains(node) || !objects_.PodsStatus(node).ok()) return false;
  const auto retry = reads_.find(node);
  return retry == reads_.end() || retry->second.failures == 0;
}

// ----- what may start

// Removes from the plan all nodes that must not get requests yet: guests, nodes whose changes have not been examined,
// nodes that an unfinished plan would start, and nodes with requests in flight. Also removes nodes whose pods are being
// read, because such a node may need fewer patches once its pods are known. The gate of a node with requests in flight
// is reported only after all responses have arrived.
void Core::LeaveOut(Pool& pool, const std::set<std::string>& wanted, Plan& plan) {
  std::erase_if(plan.nodes, [&](const NodePlan& node) {
    const bool is_early = touched_.contains(node.node) || (!plan.finished && Starts(node));
    return is_early || pool.guests.contains(node.node) || under_way_.Contains(node.node) || Awaits(node.node, wanted);
  });
  std::erase_if(plan.gates, [&](const NodeGate& gate) {
    const bool in_flight = under_way_.Contains(gate.node);
    if (in_flight) pool.planner.NotTold(gate.node);
    return in_flight || pool.guests.contains(gate.node);
  });
}

bool Core::Settle(CorePass& pass, absl::Time now) {
  if (!UsesLedger(*pass.pool)) return false;
  LedgerSteps& ledger = *pass.pool->ledger;
  ledger.NoteFailures(pass.plan);
  if (!pass.plan.finished) return false;
  pass.withheld = ledger.Settle(pass.plan, now);
  return ledger.Next() != nullptr;
}

// arch-A12: a request that starts a node is sent only after the node's grant is stored.
void Core::Withhold(CorePass& pass, absl::Time now) {
  if (!UsesLedger(*pass.pool) || !pass.plan.finished) return;
  WithholdNodes(pass.pool->planner, pass.withheld, pass.plan);
  // After a conflict, evictions are withheld because the content of the ledger is unknown: another replica may have
  // granted further nodes of a unit.
  if (pass.pool->has_gangs) WithholdEvictions(*pass.pool, pass.plan, now);
  LeaveOut(*pass.pool, pass.wanted_pods, pass.plan);
  pass.pool->ledger->Report(pass.plan, now);
}

// ----- reports

// Inserts the findings about nodes between the planner's findings about the driver and the findings of the verdicts,
// and puts the findings about reads at the front.
void Core::AddFindings(const Pool& pool, Plan& plan) const {
  std::vector<Finding> of_nodes;
  for (const auto& [node, findings] : findings_) {
    const bool is_ours = pool.nodes.contains(node) || (pool.has_all && !pool_of_.contains(node));
    if (is_ours) of_nodes.insert(of_nodes.end(), findings.begin(), findings.end());
  }
  const auto judged = plan.findings.begin() + static_cast<std::ptrdiff_t>(driver_.findings.size());
  plan.findings.insert(judged, of_nodes.begin(), of_nodes.end());
  const std::vector<Finding> of_reading = objects_.Findings();
  plan.findings.insert(plan.findings.begin(), of_reading.begin(), of_reading.end());
}

void Core::AddWakeUps(const Pool& pool, Plan& plan) const {
  for (const Retries* retries : {&reads_, &questions_}) {
    for (const auto& [node, retry] : *retries) {
      if (retry.due && pool.nodes.contains(node))
        plan.wake_at = std::min(plan.wake_at.value_or(*retry.due), *retry.due);
    }
  }
}

std::vector<RecordEventParams> Core::EventsOf(CorePass& pass, absl::Time now) {
  FindingEvents& events = pass.pool->finding_events;
  std::vector<RecordEventParams> told;
  if (pass.plan.finished) {
    told = events.Follow(
        pass.plan, [this](const std::string& node) { return UidOf(node); }, now);
    const auto view_of = [this](const std::string& node) {
      const auto found = managed_.find(node);
      return found == managed_.end() ? nullptr : found->second.get();
    };
    std::vector<RecordEventParams> of_gangs = pass.pool->gang_events.Follow(pass.plan, view_of, now);
    std::move(of_gangs.begin(), of_gangs.end(), std::back_inserter(told));
  }
  if (const auto reminder = events.NextReminder()) {
    pass.plan.wake_at = std::min(pass.plan.wake_at.value_or(*reminder), *reminder);
  }
  return told;
}

std::shared_ptr<const PublishedPlan> Core::Publish() { return PoolFor({}).planner.Publish(); }

std::optional<Gate> Core::Explain(const std::string& node) const {
  const auto pool = pool_of_.find(node);
  if (pool == pool_of_.end()) return std::nullopt;
  return pool->second->planner.Publish()->Explain(node);
}

std::uint64_t Core::judgements() const {
  std::uint64_t sum = 0;
  for (const auto& pool : pools_) sum += pool->planner.judgements();
  return sum;
}

// ----- requests

std::vector<NodeRequests> Core::Begin(const Plan& plan, absl::Time now) {
  std::vector<NodeRequests> begun;
  begun.reserve(plan.nodes.size());
  for (const NodePlan& node : plan.nodes) {
    NoteInterruptions(node);
    begun.push_back(under_way_.Begin(node, log_, now));
    written_.insert(node.node);
  }
  return begun;
}

// Stores the written node without waiting for the watch to report it, so that the next pass evaluates the node in its
// new state.
NodeOutcome Core::End(const NodeRequests& requests, absl::Time now) {
  NodeOutcome outcome = under_way_.End(requests, log_);
  if (outcome.node_after) objects_.NodeWritten(*outcome.node_after);
  written_.insert(outcome.node);
  const auto pool = pool_of_.find(outcome.node);
  if (pool == pool_of_.end()) return outcome;
  outcome.gangs_interrupted = pool->second->gang_interruptions.End(outcome.node, requests.stopped());
  if (pool->second->ledger != nullptr) {
    pool->second->ledger->NoteOutcomes({outcome}, machine_.identity(), pool->second->rollout_since, now);
  }
  return outcome;
}

absl::StatusOr<Plan> Core::Release(const Names& nodes, absl::Time now) {
  DRIVERUPGRADE_RETURN_IF_ERROR(objects_.Ready());
  NoteTime(now);
  DRIVERUPGRADE_RETURN_IF_ERROR(NoteChanges());
  Plan plan;
  absl::Status unread = absl::OkStatus();
  for (const auto& [name, view] : managed_) {
    if (nodes && !nodes->contains(name)) continue;
    if (unread.ok()) unread = CheckReadable(*view, scope_.requestor.has_value());
    NodePlan release = machine_.Release(*view, now);
    if (!release.empty() && !under_way_.Contains(name)) plan.nodes.push_back(std::move(release));
  }
  log_.LabelsRemoved();
  // Without this error, the caller would assume that everything has been released.
  if (plan.nodes.empty() && under_way_.size() == 0 && !unread.ok()) return unread;
  return plan;
}

void Core::Resume() {
  for (auto& [owner, ledger] : ledgers_) ledger.Distrust();
  Freeze();
}

void Core::Freeze() {
  for (const auto& pool : pools_) {
    pool->active_since.reset();
    pool->rollout_since = absl::InfiniteFuture();
  }
}

}  // namespace driverupgrade::internal
