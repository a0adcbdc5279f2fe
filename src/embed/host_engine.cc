#include "embed/host_engine.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "fmt/format.h"
#include "model/node_marks.h"
#include "model/unreadable.h"
#include "write/refusal_event.h"
#include "write/transition_events.h"

namespace driverupgrade::internal {

HostEngine::HostEngine(const DriverIdentity& identity, HostOptions options)
    : encoder_(options.field_manager, options.field_manager),
      objects_(options.core.scope.devices),
      core_(identity, std::move(options.core), objects_, hooks_) {
  if (core_.ledger() != nullptr) ledger_.emplace(core_.ledgers());
}

absl::StatusOr<std::vector<ManagedNode>> HostEngine::Read(absl::Time now) {
  DRIVERUPGRADE_RETURN_IF_ERROR(core_.Look(now));
  std::vector<ManagedNode> nodes;
  for (const auto& [name, view] : core_.managed()) {
    nodes.push_back(
        {.name = name, .uid = view->node.uid, .state_label = StateText(view->node, core_.machine().identity())});
    for (const Pod& pod : view->driver_pods) nodes.back().driver_pods.push_back(pod.ref.ToString());
  }
  return nodes;
}

void HostEngine::Tell(const std::string& id, absl::StatusOr<bool> answer) {
  if (const std::string node = hooks_.Tell(id, std::move(answer)); !node.empty()) core_.LookAt(node);
}

absl::StatusOr<HostPass> HostEngine::Apply(const Part& part, const UpgradePolicy& policy, const PassFacts& facts,
                                           absl::Time now) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(CorePass pass, core_.Apply(part, policy, facts, now));
  core_.Settle(pass, now);
  core_.Withhold(pass, now);
  std::vector<RecordEventParams> events = core_.EventsOf(pass, now);
  std::move(events.begin(), events.end(), std::back_inserter(events_));
  histories_.Follow(pass.plan, now);
  histories_.Trim(core_.managed().size());
  last_pass_ = now;
  Begin(pass.plan, now);
  return HostPass{.plan = std::move(pass.plan),
                  .wanted_pods = {pass.wanted_pods.begin(), pass.wanted_pods.end()},
                  .pod_interest = core_.PodInterest(),
                  .ledger_begins = ledger_ && ledger_->Announce()};
}

absl::StatusOr<HostPass> HostEngine::Release(const std::optional<std::set<std::string>>& nodes, absl::Time now) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(Plan plan, core_.Release(nodes, now));
  Begin(plan, now);
  return HostPass{.plan = std::move(plan)};
}

void HostEngine::Begin(const Plan& plan, absl::Time now) {
  for (NodeRequests& requests : core_.Begin(plan, now)) {
    const std::string node = requests.plan().node;
    exchanges_.emplace(node, NodeExchange(encoder_, std::move(requests)));
  }
}

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
    return ledger_->IsPending();
  }
  const auto exchange = exchanges_.find(node);
  if (exchange == exchanges_.end() || !exchange->second.IsAsked()) {
    return absl::FailedPreconditionError(fmt::format("response for node {}: no request is pending", Shown(node)));
  }
  exchange->second.Answer(response, now);
  EndIfOver(node, now);
  return exchanges_.contains(node);
}

void HostEngine::EndIfOver(const std::string& node, absl::Time now) {
  const auto exchange = exchanges_.find(node);
  const NodeRequests& requests = exchange->second.requests();
  if (requests.Next() != nullptr) return;
  const std::string reason = core_.machine().identity().EventReason();
  for (RecordEventParams& event : EventsOfTransitions(requests, reason, now)) events_.push_back(std::move(event));
  if (auto refusal = EventOfRefusal(requests, reason, now)) events_.push_back(*std::move(refusal));
  outcomes_.push_back(core_.End(requests, now));
  histories_.Follow(requests.plan(), outcomes_.back(), now);
  exchanges_.erase(exchange);
}

std::string HostEngine::Rollout(RolloutReport facts, absl::Time now) {
  facts.last_pass = last_pass_;
  std::vector<std::string_view> all;
  for (auto& [owner, status] : core_.Statuses()) {
    const std::vector<std::string_view> nodes = NamesOf(status);
    all.insert(all.end(), nodes.begin(), nodes.end());
    // Only pools with owners have names, so the other pools are numbered.
    const std::string number = facts.pools.empty() ? "" : fmt::format("-{}", facts.pools.size() + 1);
    const std::string name = owner.empty() ? "policy" + number : owner;
    facts.pools.push_back({.name = name, .status = std::move(status), .histories = histories_.Of(nodes)});
  }
  std::sort(all.begin(), all.end());
  histories_.Keep(all);
  return AtTime(FormatRolloutDocument(facts), now);
}

Settled HostEngine::Settle() {
  return {.outcomes = std::exchange(outcomes_, {}), .events = std::exchange(events_, {})};
}

}  // namespace driverupgrade::internal
