#include "run/cache_pass.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/backoff.h"
#include "base/status_macros.h"
#include "decide/rollout/census.h"
#include "fmt/format.h"
#include "model/unreadable.h"
#include "tell/gate_memory.h"
#include "tell/withheld_plan.h"

namespace driverupgrade::internal {
namespace {

// How soon what has failed on a node is tried again.
constexpr absl::Duration kRetryFirst = absl::Seconds(5);
constexpr absl::Duration kRetryMax = absl::Minutes(1);

}  // namespace

CachePass::CachePass(const DriverIdentity& identity, StateMachine machine, const SnapshotOptions& options,
                     std::shared_ptr<Clock> clock, std::shared_ptr<WatchCache> cache, std::size_t driver,
                     absl::Duration call_timeout, std::size_t nodes_per_pass, LedgerPass* ledger,
                     PlanExecutor& executor, std::function<void()> on_change)
    : Pass(std::move(machine)),
      options_(options),
      clock_(std::move(clock)),
      cache_(std::move(cache)),
      driver_(driver),
      ledger_(ledger),
      executor_(executor),
      on_change_(std::move(on_change)),
      views_(identity, options),
      call_timeout_(call_timeout),
      nodes_per_pass_(nodes_per_pass) {
  cache_->Attach(driver_);
  cache_->Subscribe(driver_, on_change_);
}

CachePass::~CachePass() {
  cache_->Subscribe(driver_, nullptr);
  cache_->SetInterest(driver_, {});
}

// What we wrote is known before a watch tells, and what was tried is judged anew.
std::vector<NodeOutcome> CachePass::Collect(AttemptLog& log) {
  std::vector<NodeOutcome> outcomes = executor_.Collect(log);
  for (const NodeOutcome& outcome : outcomes) {
    if (outcome.node_after) cache_->NodeWritten(*outcome.node_after);
    written_.insert(outcome.node);
  }
  return outcomes;
}

std::vector<NodeOutcome> CachePass::Carry(const CallContext& context, const Plan& plan, AttemptLog& log) {
  executor_.Begin(context, plan, log);
  for (const NodePlan& node : plan.nodes) written_.insert(node.node);
  return Collect(log);
}

std::string CachePass::UidOf(const std::string& node) const {
  const auto found = managed_.find(node);
  return found == managed_.end() ? std::string() : found->second;
}

void CachePass::LeaveOutInFlight(Plan& plan) {
  std::erase_if(plan.nodes, [&](const NodePlan& node) {
    const bool is_early = touched_.contains(node.node) || (!plan.finished && Starts(node));
    return is_early || executor_.InFlight(node.node) || reading_.contains(node.node);
  });
  std::erase_if(plan.gates, [this](const NodeGate& gate) {
    const bool in_flight = executor_.InFlight(gate.node);
    if (in_flight) planner().NotTold(gate.node);
    return in_flight;
  });
}

absl::StatusOr<Plan> CachePass::MakePlan(const CallContext& context, const PassInput& input, AttemptLog& log) {
  const absl::Time now = clock_->Now();
  if (!cache_->Synced()) return absl::UnavailableError("the cache has not read the cluster yet");
  // What is not known to be true any more is no ground for a decision, nor for a deadline.
  DRIVERUPGRADE_RETURN_IF_ERROR(cache_->Health());
  views_.BeginPass();
  NoteChanges(context, now, log);
  if (driver_stale_) DRIVERUPGRADE_RETURN_IF_ERROR(ReadDriver(context));
  RefreshTouched(context, log);
  TakePods(context, now, log);
  // Where the nodes have shown that the cluster was set back, all else is of another time until it has been read anew.
  if (!cache_->Synced()) return absl::UnavailableError("the cache reads the cluster anew");
  // Whether a grant's node is there is known once all nodes have been looked at.
  if (ledger_ != nullptr && touched_.empty()) {
    planner().SetGrants(ledger_->Standing(context, managed_));
    planner().SetGrantsMax(ledger_->steps().grants_max());
  }
  planner().SetPolicy(input.policy);
  planner().SetActiveSince(input.active_since);
  planner().SetSharedSlots(input.shared_slots);
  planner().SetRollout(input.rollout());
  Plan plan = Advance(now);
  // Whoever would start by a finished plan needs the pods that were read for that, although this plan does not say so.
  std::set<std::string> interest = plan.finished ? std::set<std::string>() : interest_;
  interest.insert(plan.pod_interest.begin(), plan.pod_interest.end());
  FollowPods(std::move(interest));
  ReadPods(context, input.policy, interest_);
  if (TakePods(context, now, log)) {
    Plan again = Advance(now);
    CarryGates(plan, again);
    plan = std::move(again);
  }
  for (const auto& [node, retry] : retries_) {
    if (retry.due) plan.wake_at = std::min(plan.wake_at.value_or(*retry.due), *retry.due);
  }
  // An answer may have come for a node that was gone by then.
  if (log.size() > managed_.size()) KeepManaged(log);
  for (const auto& [node, findings] : findings_) {
    plan.findings.insert(plan.findings.end(), findings.begin(), findings.end());
  }
  if (plan.finished && input.policy.rollout && StartsTogether(*input.policy.rollout)) WithholdUnread(plan);
  LeaveOutInFlight(plan);
  return plan;
}

// Nodes that start together do so when the pods of all of them have been read, or else some would wait for others. Where
// a list has failed, what needs no pods goes on.
void CachePass::WithholdUnread(Plan& plan) {
  std::map<std::string, Gate> unread;
  for (const NodePlan& node : plan.nodes) {
    const auto retry = retries_.find(node.node);
    const bool has_failed = retry != retries_.end() && retry->second.failures > 0;
    if (!Starts(node) || !reading_.contains(node.node) || has_failed) continue;
    unread[node.node] = {.reason = GateReason::kPodsUnknown, .detail = "its pods are being read"};
  }
  Withhold(unread, plan);
}

void CachePass::NoteChanges(const CallContext& context, absl::Time now, AttemptLog& log) {
  CacheChanges changes = cache_->Take(driver_);
  touched_.merge(changes.nodes);
  driver_stale_ |= changes.driver;
  // What we know of nodes may be of a time that has not come yet, or be about nodes that are gone.
  if (now < std::exchange(now_, now)) {
    for (auto& [node, retry] : retries_) retry.due.reset();
    changes.everything = true;
  }
  if (changes.everything) TouchManaged();
  // As after a restart: whether our requests have been carried out is seen on the nodes as they are now.
  if (changes.set_back) {
    log.KeepOnly({});
    if (ledger_ != nullptr) ledger_->Forget(context);
  }
  for (auto& [node, retry] : retries_) {
    if (!retry.due || *retry.due > now) continue;
    retry.due.reset();
    touched_.insert(node);
  }
}

void CachePass::FollowPods(std::set<std::string> interest) {
  std::vector<std::string> left;
  std::set_difference(interest_.begin(), interest_.end(), interest.begin(), interest.end(), std::back_inserter(left));
  for (const std::string& node : left) planner().ForgetPods(node);
  interest_ = std::move(interest);
  cache_->SetInterest(driver_, interest_);
}

void CachePass::TouchManaged() {
  for (const auto& [node, uid] : managed_) touched_.insert(node);
}

Plan CachePass::Advance(absl::Time now) {
  // Whoever is judged may get requests, and those of each node wait for their turn.
  const std::size_t in_flight_max = 2 * nodes_per_pass_;
  const std::size_t room = in_flight_max - std::min(in_flight_max, executor_.nodes_in_flight());
  const AdvanceLimits limits{
      .judged = std::min(nodes_per_pass_, room), .told = nodes_per_pass_, .has_all_views = touched_.empty()};
  Plan plan = IncompletePlan(planner().Advance(now, limits), planner());
  if (!plan.finished && (room > 0 || !touched_.empty())) plan.wake_at = now;
  return plan;
}

void CachePass::RefreshTouched(const CallContext& context, AttemptLog& log) {
  // The planner judges them in each pass until they show that something has been done.
  for (const std::string& node : std::exchange(written_, {})) {
    touched_.erase(node);
    Refresh(context, node, log);
  }
  if (touched_.size() <= nodes_per_pass_) {
    for (const std::string& node : std::exchange(touched_, {})) Refresh(context, node, log);
    return;
  }
  for (std::size_t i = 0; i < nodes_per_pass_; ++i) {
    auto next = touched_.upper_bound(touched_at_);
    if (next == touched_.end()) next = touched_.begin();
    touched_at_ = *next;
    Refresh(context, touched_.extract(next).value(), log);
  }
}

void CachePass::Withhold(const std::map<std::string, Gate>& gates, Plan& plan) {
  if (gates.empty()) return;
  WithholdNodes(planner(), gates, plan);
  LeaveOutInFlight(plan);
}

// The watches on DaemonSets and on their revisions are two: where the first shows a change, the second may lag. So the
// revisions are read anew then, and what has been read once is not forgotten before the watch has it.
absl::Status CachePass::ReadDriver(const CallContext& context) {
  std::vector<DaemonSet> daemon_sets = cache_->DaemonSets(driver_);
  if (daemon_sets != daemon_sets_) {
    const CallContext bounded{.deadline = std::min(context.deadline, now_ + call_timeout_), .stop = context.stop};
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const std::vector<ControllerRevision> listed,
                                   cache_->ListRevisions(bounded, driver_));
    revisions_.clear();
    for (const ControllerRevision& revision : listed) revisions_[revision.name] = revision;
    daemon_sets_ = std::move(daemon_sets);
  }
  std::map<std::string, ControllerRevision> newest = revisions_;
  for (ControllerRevision& revision : cache_->Revisions(driver_)) {
    ControllerRevision& known = newest[revision.name];
    if (known.name.empty() || IsUnreadable(revision) || known.owner_uid != revision.owner_uid ||
        known.revision < revision.revision) {
      known = std::move(revision);
    }
  }
  std::vector<ControllerRevision> revisions;
  revisions.reserve(newest.size());
  for (auto& [name, revision] : newest) revisions.push_back(std::move(revision));
  const auto unbound = cache_->Maintenances(driver_, "").value_or(std::vector<NodeMaintenance>());
  const DriverParts before = std::exchange(
      parts_, MakeDriverParts(daemon_sets_, std::move(revisions), cache_->DriverPods(driver_, ""), unbound));
  planner().SetDriver(parts_.facts, parts_.findings);
  const bool other = before.revisions != parts_.revisions || before.facts == nullptr ||
                     before.facts->daemon_sets != parts_.facts->daemon_sets;
  if (options_.restart_only && other) TouchManaged();
  driver_stale_ = false;
  return absl::OkStatus();
}

void CachePass::Forget(const std::string& node, AttemptLog& log) {
  if (const auto found = managed_.find(node); found != managed_.end()) {
    log.Forget(found->second);
    managed_.erase(found);
  }
  planner().Remove(node);
  views_.Forget(node);
  retries_.erase(node);
}

void CachePass::Refresh(const CallContext& context, const std::string& name, AttemptLog& log) {
  findings_.erase(name);
  const std::shared_ptr<const Node> node = cache_->FindNode(name);
  if (ledger_ != nullptr) ledger_->steps().NodeSeen(name, node.get());
  std::vector<Pod> driver_pods = cache_->DriverPods(driver_, name);
  if (node == nullptr) {
    if (!driver_pods.empty()) {
      findings_[name] = {NodeMissing(name, driver_pods.front())};
    }
    return Forget(name, log);
  }
  NodeParts parts{
      .node = *node, .driver_pods = std::move(driver_pods), .maintenances = cache_->Maintenances(driver_, name)};
  if (!views_.IsManaged(parts)) return Forget(name, log);
  std::string& uid = managed_[name];
  if (!uid.empty() && uid != node->uid) log.Forget(uid);
  uid = node->uid;
  std::vector<Finding> findings;
  NodeView view = views_.Make(context, std::move(parts), parts_, log, findings);
  if (auto pods = cache_->PodsOn(name)) {
    views_.AddPods(context, *std::move(pods), view, log, findings);
  } else {
    views_.DropOldAttempts(view, log);
  }
  if (!findings.empty()) findings_[name] = std::move(findings);
  if (!view.hook_errors.empty() || !view.restart_only_error.empty()) {
    LookAgain(name, now_);
  } else if (view.pods) {
    retries_.erase(name);
  }
  planner().Update(views_.Share(std::move(view)));
}

void CachePass::KeepManaged(AttemptLog& log) const {
  std::set<std::string> uids;
  for (const auto& [node, uid] : managed_) uids.insert(uid);
  log.KeepOnly(uids);
}

void CachePass::LookAgain(const std::string& node, absl::Time now) {
  Retry& retry = retries_[node];
  ++retry.failures;
  retry.due = now + Spread(Doubled(kRetryFirst, kRetryMax, retry.failures), node, retry.failures);
}

void CachePass::ReadPods(const CallContext& context, const UpgradePolicy& policy, const std::set<std::string>& wanted) {
  // A list that a cordon overtook is no trouble once nobody wants it any more.
  std::erase_if(retries_,
                [&](const auto& retry) { return retry.second.failures == 0 && !wanted.contains(retry.first); });
  std::set<std::string> nodes;
  for (const std::string& node : wanted) {
    const auto retry = retries_.find(node);
    if (retry != retries_.end() && retry->second.due) continue;
    if (!cache_->KnowsPodsOn(node) && reading_.insert(node).second) nodes.insert(node);
  }
  const auto submit = [&](std::function<std::map<std::string, absl::Status>(const CallContext&)> read) {
    executor_.Submit(context, [this, read = std::move(read)](const CallContext& bounded) {
      std::map<std::string, absl::Status> statuses = read(bounded);
      {
        const std::lock_guard lock(mutex_);
        for (auto& [node, status] : statuses) read_.insert_or_assign(node, std::move(status));
      }
      on_change_();
    });
  };
  if (ReadsAllPods(policy, nodes.size())) {
    return submit([this, nodes](const CallContext& bounded) { return cache_->ReadAllPods(bounded, nodes); });
  }
  for (const std::string& node : nodes) {
    submit([this, node](const CallContext& bounded) {
      return std::map<std::string, absl::Status>{{node, cache_->ReadPods(bounded, node)}};
    });
  }
}

bool CachePass::TakePods(const CallContext& context, absl::Time now, AttemptLog& log) {
  std::map<std::string, absl::Status> read;
  {
    const std::lock_guard lock(mutex_);
    read.swap(read_);
  }
  for (const auto& [node, status] : read) {
    reading_.erase(node);
    Refresh(context, node, log);
    if (status.ok() || !managed_.contains(node)) continue;
    // The cordon, or the watch, has changed while they were read: once more, at once.
    if (absl::IsAborted(status) && !retries_.contains(node)) {
      retries_[node].due = now;
      continue;
    }
    LookAgain(node, now);
    const FindingCode code = absl::IsDataLoss(status) ? FindingCode::kUnreadable : FindingCode::kReadFailed;
    findings_[node].push_back({.code = code, .node = node, .message = std::string(Message(status))});
  }
  return !read.empty();
}

}  // namespace driverupgrade::internal
