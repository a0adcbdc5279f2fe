#include "host/host_engine.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/backoff.h"
#include "base/status_macros.h"
#include "fmt/format.h"
#include "host/object_documents.h"
#include "model/node_marks.h"
#include "model/unreadable.h"
#include "tell/withheld_plan.h"
#include "write/refusal_event.h"
#include "write/transition_events.h"

namespace driverupgrade::internal {
namespace {

absl::Status CheckPolicy(const UpgradePolicy& policy, bool has_ledger) {
  DRIVERUPGRADE_RETURN_IF_ERROR(Validate(policy));
  if (policy.rollout && !has_ledger) {
    return absl::FailedPreconditionError(
        "policy: rollout: the engine has no ledger (option `ledger`), where the record of a rollout is kept");
  }
  return absl::OkStatus();
}

// How soon a host whose answer was an error is asked again.
constexpr absl::Duration kAskAgainFirst = absl::Seconds(5);
constexpr absl::Duration kAskAgainMax = absl::Minutes(1);

// What may be ours and cannot be given back, for it cannot be read; OK if there is nothing.
absl::Status CheckReadable(const NodeView& view, bool requestor) {
  if (IsUnreadable(view.node)) return absl::UnavailableError(CannotBeRead("Node", view.node));
  if (requestor && !view.maintenances) {
    return absl::UnavailableError(fmt::format("the NodeMaintenances of node {} are not known", view.node.name));
  }
  return absl::OkStatus();
}

// Returns true if every kind of objects has been listed that an engine needs.
bool HasAllKinds(const ObjectStore& store) {
  return store.IsListed<Node>(kHostDriver) && store.IsListed<Pod>(kHostDriver) &&
         store.IsListed<DaemonSet>(kHostDriver) && store.IsListed<ControllerRevision>(kHostDriver);
}

}  // namespace

HostEngine::HostEngine(const DriverIdentity& identity, HostOptions options)
    : machine_(identity, std::move(options.machine)),
      scope_(std::move(options.scope)),
      encoder_(options.field_manager, options.field_manager),
      views_(identity, scope_) {
  if (options.ledger) ledger_.emplace(*std::move(options.ledger));
}

// ----- what is known of nodes

void HostEngine::NoteTime(absl::Time now) {
  if (now < now_) {
    log_.SetBack(now);
    for (const auto& part : parts_) {
      if (part->active_since) part->active_since = std::min(*part->active_since, now);
    }
    for (const auto& [name, view] : managed_) touched_.insert(name);
    for (auto& [name, question] : unanswered_) question.ask_again = std::min(question.ask_again, now);
  }
  now_ = now;
  log_.PassBegan(now);
}

void HostEngine::NoteChanges() {
  CacheChanges changes = store_.Take(kHostDriver);
  touched_.merge(changes.nodes);
  // As after a restart: whether our requests have been carried out is seen on the nodes as they are now.
  if (changes.set_back) {
    log_.KeepOnly({});
    if (ledger_) ledger_->steps().Forget(now_);
  }
  if (changes.everything) {
    for (const auto& [name, view] : managed_) touched_.insert(name);
    for (const auto& [name, findings] : findings_) touched_.insert(name);
  }
  if (changes.driver) {
    const DriverParts before = std::exchange(
        driver_, MakeDriverParts(store_.DaemonSets(kHostDriver), store_.Revisions(kHostDriver),
                                 store_.DriverPods(kHostDriver, ""),
                                 store_.Maintenances(kHostDriver, "").value_or(std::vector<NodeMaintenance>())));
    if (scope_.asks_restart_only) {
      for (const auto& [name, view] : managed_) touched_.insert(name);
    }
    for (const auto& part : parts_) part->planner.SetDriver(driver_.facts, driver_.findings);
  }
  for (const auto& [name, question] : unanswered_) {
    if (question.ask_again <= now_) touched_.insert(name);
  }
  for (const std::string& node : std::exchange(touched_, {})) Refresh(node);
  if (log_.size() <= managed_.size()) return;
  std::set<std::string> uids;
  for (const auto& [name, view] : managed_) uids.insert(view->node.uid);
  log_.KeepOnly(uids);
}

// While the host has not answered nothing is due: Tell will touch the node.
void HostEngine::NoteAnswer(const NodeView& view) {
  const std::string& node = view.node.name;
  if (view.restart_only_error.empty()) {
    unanswered_.erase(node);
    return;
  }
  Unanswered& question = unanswered_[node];
  question.ask_again = absl::InfiniteFuture();
  if (hooks_.Asks(node)) return;
  ++question.failures;
  question.ask_again = now_ + Spread(Doubled(kAskAgainFirst, kAskAgainMax, question.failures), node, question.failures);
}

void HostEngine::Forget(const std::string& node) {
  unanswered_.erase(node);
  if (const auto found = managed_.find(node); found != managed_.end()) {
    log_.Forget(found->second->node.uid);
    managed_.erase(found);
  }
  for (const auto& part : parts_) {
    if (part->guests.erase(node) > 0 || part->nodes.erase(node) > 0) part->planner.Remove(node);
  }
  part_of_.erase(node);
  left_.erase(node);
  views_.Forget(node);
  hooks_.Forget(node);
}

void HostEngine::Refresh(const std::string& name) {
  findings_.erase(name);
  std::optional<Node> node = store_.FindNode(name);
  if (ledger_) ledger_->steps().NodeSeen(name, node ? &*node : nullptr);
  NodeParts parts{.driver_pods = store_.DriverPods(kHostDriver, name),
                  .maintenances = store_.Maintenances(kHostDriver, name)};
  if (!node) {
    if (!parts.driver_pods.empty()) {
      findings_[name] = {NodeMissing(name, parts.driver_pods.front())};
    }
    return Forget(name);
  }
  parts.node = *std::move(node);
  if (!views_.IsManaged(parts)) return Forget(name);
  const auto known = managed_.find(name);
  if (known != managed_.end() && known->second->node.uid != parts.node.uid) log_.Forget(known->second->node.uid);
  std::vector<Finding> findings;
  hooks_.Begin(name);
  NodeView view = views_.Make(hooks_, std::move(parts), driver_, log_, findings);
  if (auto pods = store_.PodsOn(name)) {
    views_.AddPods(hooks_, *std::move(pods), view, log_, findings);
  } else {
    views_.DropOldAttempts(view, log_);
    if (const std::string why = store_.WhyNoPods(name); !why.empty()) {
      findings.push_back({.code = FindingCode::kReadFailed, .node = name, .message = why});
    }
  }
  if (!findings.empty()) findings_[name] = std::move(findings);
  NoteAnswer(view);
  const std::shared_ptr<const NodeView> shared = views_.Share(std::move(view));
  managed_[name] = shared;
  for (const auto& part : parts_) {
    if (part->has_all && parts_.size() == 1 && !part_of_.contains(name)) return Move(name, *part);
    if (part->nodes.contains(name) || part->guests.contains(name)) part->planner.Update(shared);
  }
}

std::vector<ManagedNode> HostEngine::Read(absl::Time now) {
  NoteTime(now);
  NoteChanges();
  std::vector<ManagedNode> nodes;
  for (const auto& [name, view] : managed_) {
    nodes.push_back({.name = name, .uid = view->node.uid, .state_label = StateText(view->node, machine_.identity())});
    for (const Pod& pod : view->driver_pods) nodes.back().driver_pods.push_back(pod.ref.ToString());
  }
  return nodes;
}

void HostEngine::Tell(const std::string& id, absl::StatusOr<bool> answer) {
  if (std::string node = hooks_.Tell(id, std::move(answer)); !node.empty()) touched_.insert(std::move(node));
}

// ----- passes

absl::StatusOr<HostPass> HostEngine::Apply(const std::optional<std::set<std::string>>& nodes,
                                           const UpgradePolicy& policy, absl::Time now) {
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckPolicy(policy, ledger_.has_value()));
  if (!HasAllKinds(store_)) return absl::UnavailableError("not every kind of objects has been put yet");
  NoteTime(now);
  NoteChanges();
  Part& part = PartFor(nodes);
  Assign(part, nodes);
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckLedgerPart(part));
  if (!policy.auto_upgrade) {
    part.active_since.reset();
  } else if (!part.active_since) {
    part.active_since = now;
  }
  part.planner.SetPolicy(policy);
  part.planner.SetActiveSince(part.active_since.value_or(absl::InfinitePast()));
  part.rollout_since = policy.rollout ? part.active_since.value_or(absl::InfiniteFuture()) : absl::InfiniteFuture();
  SetLedgerFacts(part, policy, now);
  Plan plan = IncompletePlan(part.planner.Advance(now), part.planner);
  std::set<std::string> withheld = part.guests;
  std::set<std::string> unread;
  std::vector<std::string> wanted = WantedPods(part, unread);
  withheld.insert(unread.begin(), unread.end());
  Withhold(part, policy, withheld, now, plan);
  std::vector<Finding> findings = FindingsOf(part);
  std::move(findings.begin(), findings.end(), std::back_inserter(plan.findings));
  std::erase_if(plan.gates, [&](const NodeGate& gate) {
    return exchanges_.contains(gate.node) || part.guests.contains(gate.node);
  });
  for (RecordEventParams& event : part.finding_events.Follow(
           plan, [this](const std::string& node) { return UidOf(node); }, now)) {
    events_.push_back(std::move(event));
  }
  HostPass pass = Begin(std::move(plan), withheld, now);
  pass.wanted_pods = std::move(wanted);
  pass.pod_interest = PodInterest();
  pass.ledger_begins = ledger_ && ledger_->Announce();
  for (std::string& node : store_.SetInterest(kHostDriver, pass.pod_interest)) touched_.insert(std::move(node));
  const auto wake_by = [&](absl::Time at) { pass.plan.wake_at = std::min(pass.plan.wake_at.value_or(at), at); };
  if (const auto reminder = part.finding_events.NextReminder()) wake_by(*reminder);
  for (const auto& [node, question] : unanswered_) {
    if (part.nodes.contains(node) && question.ask_again != absl::InfiniteFuture()) wake_by(question.ask_again);
  }
  return pass;
}

std::vector<Finding> HostEngine::FindingsOf(const Part& part) const {
  std::vector<Finding> all;
  for (const auto& [node, findings] : findings_) {
    const bool is_ours = part.nodes.contains(node) || (part.has_all && !part_of_.contains(node));
    if (is_ours) all.insert(all.end(), findings.begin(), findings.end());
  }
  return all;
}

std::string HostEngine::UidOf(const std::string& node) const {
  const auto found = managed_.find(node);
  return found == managed_.end() ? std::string() : found->second->node.uid;
}

std::vector<std::string> HostEngine::WantedPods(const Part& part, std::set<std::string>& withheld) const {
  std::vector<std::string> wanted;
  for (const std::string& node : part.planner.pod_interest()) {
    if (part.guests.contains(node) || exchanges_.contains(node) || store_.KnowsPodsOn(node)) continue;
    wanted.push_back(node);
    // Where the host has tried in vain, what needs no pods goes on.
    if (store_.WhyNoPods(node).empty()) withheld.insert(node);
  }
  return wanted;
}

std::set<std::string> HostEngine::PodInterest() const {
  std::set<std::string> all;
  for (const auto& part : parts_) {
    const std::set<std::string>& interest = part->planner.pod_interest();
    all.insert(interest.begin(), interest.end());
  }
  return all;
}

absl::StatusOr<HostPass> HostEngine::Release(const std::optional<std::set<std::string>>& nodes, absl::Time now) {
  if (!HasAllKinds(store_)) return absl::UnavailableError("not every kind of objects has been put yet");
  NoteTime(now);
  NoteChanges();
  Plan plan;
  absl::Status unread = absl::OkStatus();
  for (const auto& [name, view] : managed_) {
    if (nodes && !nodes->contains(name)) continue;
    if (unread.ok()) unread = CheckReadable(*view, scope_.requestor.has_value());
    NodePlan release = machine_.Release(*view, now);
    if (!release.empty()) plan.nodes.push_back(std::move(release));
  }
  log_.LabelsRemoved();
  HostPass pass = Begin(std::move(plan), {}, now);
  // Once all else is given back: without this the host would take itself for finished.
  if (exchanges_.empty() && !unread.ok()) return unread;
  return pass;
}

HostPass HostEngine::Begin(Plan plan, const std::set<std::string>& withheld, absl::Time now) {
  LeaveOut(withheld, plan);
  for (const NodePlan& node : plan.nodes) {
    exchanges_.emplace(node.node, NodeExchange(encoder_, under_way_.Begin(node, log_, now)));
    touched_.insert(node.node);
  }
  return {.plan = std::move(plan)};
}

// ----- requests

const HttpRequest* HostEngine::Next(const std::string& node, absl::Time now) {
  if (node == kLedger) return ledger_ ? ledger_->Next(encoder_, now) : nullptr;
  const auto exchange = exchanges_.find(node);
  if (exchange == exchanges_.end()) return nullptr;
  if (const HttpRequest* request = exchange->second.Next(now)) return request;
  EndIfOver(node, now);
  return nullptr;
}

absl::StatusOr<bool> HostEngine::Answer(const std::string& node, const absl::StatusOr<HttpResponse>& response,
                                        absl::Time now) {
  if (node == kLedger && ledger_ && ledger_->IsAsked()) {
    ledger_->Answer(response, now);
    return ledger_->steps().Next() != nullptr;
  }
  const auto exchange = exchanges_.find(node);
  if (exchange == exchanges_.end() || !exchange->second.IsAsked()) {
    return absl::FailedPreconditionError(fmt::format("answer for node {}: nothing was asked", Shown(node)));
  }
  exchange->second.Answer(response, now);
  EndIfOver(node, now);
  return exchanges_.contains(node);
}

void HostEngine::EndIfOver(const std::string& node, absl::Time now) {
  const auto exchange = exchanges_.find(node);
  const NodeRequests& requests = exchange->second.requests();
  if (requests.Next() != nullptr) return;
  const std::string reason = machine_.identity().EventReason();
  for (RecordEventParams& event : EventsOfTransitions(requests, reason, now)) events_.push_back(std::move(event));
  if (auto refusal = EventOfRefusal(requests, reason, now)) events_.push_back(*std::move(refusal));
  NodeOutcome outcome = under_way_.End(requests, log_);
  if (outcome.node_after) store_.NodeWritten(*outcome.node_after);
  touched_.insert(node);
  if (const auto part = part_of_.find(node); ledger_ && part != part_of_.end()) {
    ledger_->steps().NoteOutcomes({outcome}, machine_.identity(), part->second->rollout_since, now);
  }
  outcomes_.push_back(std::move(outcome));
  exchanges_.erase(exchange);
}

Settled HostEngine::Settle() {
  return {.outcomes = std::exchange(outcomes_, {}), .events = std::exchange(events_, {})};
}

// ----- what was found

std::optional<Gate> HostEngine::Explain(const std::string& node) const {
  const auto part = part_of_.find(node);
  if (part == part_of_.end()) return std::nullopt;
  return part->second->planner.Publish()->Explain(node);
}

Plan HostEngine::Everything() const {
  Plan all;
  for (const auto& part : parts_) {
    Plan plan = part->planner.Publish()->Full();
    std::erase_if(plan.gates, [&](const NodeGate& gate) { return part->guests.contains(gate.node); });
    std::move(plan.gates.begin(), plan.gates.end(), std::back_inserter(all.gates));
    if (parts_.size() == 1) all.findings = std::move(plan.findings);
    if (plan.rollout) all.rollout = std::move(plan.rollout);
    all.totals += plan.totals;
  }
  std::sort(all.gates.begin(), all.gates.end(), [](const auto& a, const auto& b) { return a.node < b.node; });
  return all;
}

}  // namespace driverupgrade::internal
