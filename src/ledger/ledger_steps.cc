#include "ledger/ledger_steps.h"

#include <algorithm>
#include <utility>

#include "base/backoff.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

constexpr absl::Duration kLedgerRetryFirst = absl::Seconds(1);
constexpr absl::Duration kLedgerRetryMax = absl::Seconds(30);
// Time between two lists of all nodes. Such a list shows whether granted nodes exist that have never been in the cache.
constexpr absl::Duration kLooksApart = absl::Minutes(1);
// Time for which a confirmation that the record is current remains valid.
constexpr absl::Duration kConfirmedFor = absl::Seconds(30);

bool Fails(const NodePlan& node) { return !node.path.empty() && node.path.back() == UpgradeState::kFailed; }

}  // namespace

bool Starts(const NodePlan& node) {
  if (node.empty()) return false;
  if (node.from == UpgradeState::kUpgradeRequired || node.needs_grant) return true;
  const auto required = std::find(node.path.begin(), node.path.end(), UpgradeState::kUpgradeRequired);
  return required != node.path.end() && required + 1 != node.path.end();
}

void LedgerSteps::Begin(absl::Time now) {
  // A clock that was set back must not extend the wait.
  next_look_ = std::min(next_look_, now + kLooksApart);
  retry_at_ = std::min(retry_at_, now + kLedgerRetryMax);
  if (IsPending() || now < retry_at_) return;
  ledger_.Read();
  if (IsPending()) return;
  status_ = absl::OkStatus();
  nonsense_ = ledger_.error();
}

void LedgerSteps::Forget(absl::Time now) {
  ledger_.Forget();
  seen_.clear();
  uids_.clear();
  gone_.clear();
  look_is_stale_ = looked_for_.has_value();
  confirmed_at_.reset();
  retry_at_ = next_look_ = absl::InfinitePast();
  Begin(now);
}

// Unless the cluster is restored from a backup, UIDs are never reused, and the data in a cache never becomes older. A
// node that has disappeared from the cache was therefore deleted.
void LedgerSteps::NodeSeen(const std::string& name, const Node* node) {
  if (node != nullptr && node->uid.empty()) return;  // the node cannot be read, and may still be the known node
  const auto known = uids_.find(name);
  if (known != uids_.end() && (node == nullptr || node->uid != known->second)) {
    if (grants().contains(known->second)) gone_.insert(known->second);
    seen_.erase(known->second);
    uids_.erase(known);
  }
  if (node == nullptr) return;
  uids_[name] = node->uid;
  seen_[node->uid] = {.name = name, .resource_version = node->resource_version};
}

Grants LedgerSteps::Standing(const std::function<bool(const std::string&)>& is_managed, absl::Time now) {
  LookForUnseen(now);
  Grants standing;
  for (const auto& [uid, version] : grants()) {
    const auto seen = seen_.find(uid);
    if (gone_.contains(uid)) continue;
    if (seen == seen_.end() || is_managed(seen->second.name)) {
      standing.emplace(uid, version);
    } else if (auto kept = KeptGrant(grants(), {.uid = uid, .resource_version = seen->second.resource_version})) {
      standing.emplace(uid, *std::move(kept));
    }
  }
  return standing;
}

void LedgerSteps::LookForUnseen(absl::Time now) {
  if (looked_for_) return;
  std::set<std::string> unseen;
  if (status_.ok()) {
    for (const auto& [uid, version] : grants()) {
      if (!seen_.contains(uid) && !gone_.contains(uid)) unseen.insert(uid);
    }
  }
  any_unseen_ = !unseen.empty();
  if (!any_unseen_ || now < next_look_ || IsPending()) return;
  next_look_ = now + kLooksApart;
  looked_for_ = std::move(unseen);
}

// The grants were known before the list started, so a granted node that is missing from the list was deleted.
void LedgerSteps::TakeUids(const absl::StatusOr<std::vector<std::string>>& of_all_nodes) {
  if (!looked_for_) return;
  std::set<std::string> unseen = *std::exchange(looked_for_, std::nullopt);
  if (std::exchange(look_is_stale_, false) || !of_all_nodes.ok()) return;  // unseen grants count until the next list
  // A node whose UID cannot be read may be the node of any grant.
  if (std::find(of_all_nodes->begin(), of_all_nodes->end(), "") != of_all_nodes->end()) return;
  const std::size_t before = unseen.size();
  for (const std::string& uid : *of_all_nodes) unseen.erase(uid);
  any_unseen_ = unseen.size() < before;
  gone_.merge(unseen);
}

// Each list is complete, and therefore replaces the result of the previous list.
void LedgerSteps::NodesListed(const std::vector<std::string>& uids) {
  // A node whose UID cannot be read may be the node of any grant.
  if (std::find(uids.begin(), uids.end(), "") != uids.end()) return;
  const std::set<std::string> there(uids.begin(), uids.end());
  gone_.clear();
  for (const auto& [uid, version] : grants()) {
    if (!there.contains(uid)) gone_.insert(uid);
  }
}

void LedgerSteps::NoteFailures(const Plan& plan) {
  for (const NodePlan& node : plan.nodes) {
    if (node.from == UpgradeState::kFailed || Fails(node)) durations_.Failed(node.node);
  }
}

std::map<std::string, Gate> LedgerSteps::Settle(const Plan& plan, absl::Time now) {
  record_stored_ = false;
  if (status_.ok() && !IsPending()) SettleGrants(plan, now);
  const bool stands = status_.ok() && !IsPending();
  std::map<std::string, Gate> withheld;
  for (const NodePlan& node : plan.nodes) {
    const bool has_grant = !node.needs_grant || (stands && MayStart(node));
    const bool record_stands = !plan.rollout || stands || !Starts(node);
    const bool is_withheld = !has_grant || !record_stands;
    if (is_withheld) withheld.emplace(node.node, WhyNot(node));
    if (plan.rollout) durations_.Planned(node.node, !is_withheld && Starts(node) && !Fails(node));
  }
  return withheld;
}

void LedgerSteps::SettleGrants(const Plan& plan, absl::Time now) {
  std::vector<std::string> wanted;
  for (const NodePlan& node : plan.nodes) {
    if (node.needs_grant) wanted.push_back(node.uid);
  }
  const std::optional<std::string> record = plan.rollout ? plan.rollout->record : std::nullopt;
  const absl::Status settled = ledger_.Settle(plan.readings, wanted, record).status();
  if (!settled.ok()) return Note(settled, now);
  if (IsPending()) {
    storing_ = Storing{.has_record = record.has_value(), .told = record ? std::exchange(told_, 0) : 0};
    return;
  }
  if (record) RecordStored(std::exchange(told_, 0));
  const std::optional<absl::Time> confirmed_at = std::exchange(confirmed_at_, std::nullopt);
  const bool is_confirmed = confirmed_at && *confirmed_at <= now && now < *confirmed_at + kConfirmedFor;
  if (!is_confirmed && plan.rollout && std::any_of(plan.nodes.begin(), plan.nodes.end(), Starts)) {
    return Note(ledger_.Confirm(), now);
  }
  std::erase_if(gone_, [&](const std::string& uid) { return !grants().contains(uid); });
}

void LedgerSteps::RecordStored(std::size_t told) {
  record_stored_ = true;
  durations_.Stored(told);
}

const LedgerRequest* LedgerSteps::Next() const {
  if (const LedgerRequest* request = ledger_.Next()) return request;
  return looked_for_ ? &look_ : nullptr;
}

void LedgerSteps::Take(const absl::StatusOr<ConfigMap>& answer, absl::Time now) {
  if (!IsPending()) return;
  const std::optional<Storing> storing = std::exchange(storing_, std::nullopt);
  confirmed_at_.reset();  // the next read may return a different record
  const bool was_read = ledger_.IsRead();
  const absl::Status taken = ledger_.Take(answer);
  if (was_read) nonsense_ = ledger_.error();
  if (was_read && taken.ok()) {
    status_ = taken;  // keeps failures_, so that the pause after the next failure is longer
    return;
  }
  Note(taken, now);
  if (!taken.ok()) return;
  if (storing && storing->has_record) RecordStored(storing->told);
  confirmed_at_ = now;
}

void LedgerSteps::Note(const absl::Status& status, absl::Time now) {
  status_ = status;
  failures_ = status.ok() ? 0 : failures_ + 1;
  retry_at_ = status.ok() ? absl::InfinitePast() : now + Doubled(kLedgerRetryFirst, kLedgerRetryMax, failures_);
}

// arch-A12: the grant is stored before the patch is sent, and names the version that is the precondition of the patch.
bool LedgerSteps::MayStart(const NodePlan& node) const { return ledger_.Granted(node.uid) == node.resource_version; }

Gate LedgerSteps::WhyNot(const NodePlan& node) const {
  if (!status_.ok()) {
    return {.reason = GateReason::kLedger,
            .detail = fmt::format("the ledger of grants: {}", Message(status_)),
            .not_before = retry_at_};
  }
  if (IsPending()) {
    return {.reason = GateReason::kLedger,
            .detail = fmt::format("the ledger of grants: config map {}/{} is being read or written",
                                  ledger_.options().ns, ledger_.options().name)};
  }
  if (const auto version = ledger_.Granted(node.uid)) {
    return {.reason = GateReason::kLedger,
            .detail = fmt::format("the grant is for version {}, but the node was read at version {}", *version,
                                  node.resource_version)};
  }
  return {.reason = GateReason::kLedger,
          .detail = fmt::format("the ledger is full: {} nodes have a grant", grants().size())};
}

void LedgerSteps::Report(Plan& plan, absl::Time now) const {
  absl::Time wake = plan.wake_at.value_or(absl::InfiniteFuture());
  if (!status_.ok()) {
    plan.findings.push_back({.code = FindingCode::kLedger,
                             .message = fmt::format("no node starts: the ledger of grants: {}", Message(status_))});
    wake = std::min(wake, retry_at_);
  }
  if (!nonsense_.empty()) plan.findings.push_back({.code = FindingCode::kLedger, .message = nonsense_});
  // A stored record may allow further nodes to start.
  if (record_stored_) wake = std::min(wake, now);
  if (any_unseen_) wake = std::min(wake, next_look_);
  if (wake < absl::InfiniteFuture()) plan.wake_at = wake;
}

}  // namespace driverupgrade::internal
