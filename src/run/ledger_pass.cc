#include "run/ledger_pass.h"

#include <algorithm>
#include <utility>

#include "base/backoff.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

constexpr absl::Duration kLedgerRetryFirst = absl::Seconds(1);
constexpr absl::Duration kLedgerRetryMax = absl::Seconds(30);
// Between two lists of all nodes for the sake of grants whose nodes the cache has never had.
constexpr absl::Duration kLooksApart = absl::Minutes(1);

bool Fails(const NodePlan& node) { return !node.path.empty() && node.path.back() == UpgradeState::kFailed; }

}  // namespace

bool Starts(const NodePlan& node) {
  if (node.empty()) return false;
  if (node.from == UpgradeState::kUpgradeRequired || node.needs_grant) return true;
  const auto required = std::find(node.path.begin(), node.path.end(), UpgradeState::kUpgradeRequired);
  return required != node.path.end() && required + 1 != node.path.end();
}

LedgerPass::LedgerPass(AdmissionLedger ledger, std::shared_ptr<ClusterReader> cluster, std::shared_ptr<Clock> clock,
                       absl::Duration call_timeout)
    : ledger_(std::move(ledger)), cluster_(std::move(cluster)), clock_(std::move(clock)), call_timeout_(call_timeout) {}

void LedgerPass::Begin(const CallContext& context) {
  const absl::Time now = clock_->Now();
  // A clock that was set back does not make us wait for longer.
  next_look_ = std::min(next_look_, now + kLooksApart);
  retry_at_ = std::min(retry_at_, now + kLedgerRetryMax);
  if (now < retry_at_) return;
  status_ = ledger_.Read(Bounded(context));
  if (!status_.ok()) Note(status_);
  nonsense_ = ledger_.error();
}

void LedgerPass::Forget(const CallContext& context) {
  ledger_.Forget();
  seen_.clear();
  uids_.clear();
  gone_.clear();
  retry_at_ = next_look_ = absl::InfinitePast();
  Begin(context);
}

// Until the cluster is set back, a UID never comes back, and a cache never goes back before a node that it has had:
// what it has no more is gone.
void LedgerPass::NodeSeen(const std::string& name, const Node* node) {
  if (node != nullptr && node->uid.empty()) return;  // it cannot be read, and may still be the one that was seen
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

Grants LedgerPass::Standing(const CallContext& context, const std::map<std::string, std::string>& managed) {
  LookForUnseen(context);
  Grants standing;
  for (const auto& [uid, version] : grants()) {
    const auto seen = seen_.find(uid);
    if (gone_.contains(uid)) continue;
    if (seen == seen_.end() || managed.contains(seen->second.name)) {
      standing.emplace(uid, version);
    } else if (auto kept = KeptGrant(grants(), {.uid = uid, .resource_version = seen->second.resource_version})) {
      standing.emplace(uid, *std::move(kept));
    }
  }
  return standing;
}

// The grants are known, so a list that begins now has every node that has one, or the node is gone.
void LedgerPass::LookForUnseen(const CallContext& context) {
  any_unseen_ = false;
  if (!status_.ok()) return;
  std::set<std::string> unseen;
  for (const auto& [uid, version] : grants()) {
    if (!seen_.contains(uid) && !gone_.contains(uid)) unseen.insert(uid);
  }
  any_unseen_ = !unseen.empty();
  if (!any_unseen_ || clock_->Now() < next_look_) return;
  next_look_ = clock_->Now() + kLooksApart;
  const absl::StatusOr<std::vector<Node>> nodes =
      cluster_->ListNodes(Bounded(context), {.on_unreadable = OnUnreadable::kMark});
  if (!nodes.ok()) return;  // they count until the next look
  // The UID that cannot be read may be that of any grant.
  if (std::any_of(nodes->begin(), nodes->end(), [](const Node& node) { return node.uid.empty(); })) return;
  const std::size_t before = unseen.size();
  for (const Node& node : *nodes) unseen.erase(node.uid);
  any_unseen_ = unseen.size() < before;
  gone_.merge(unseen);
}

void LedgerPass::NoteFailures(const Plan& plan) {
  for (const NodePlan& node : plan.nodes) {
    if (node.from == UpgradeState::kFailed || Fails(node)) durations_.Failed(node.node);
  }
}

std::map<std::string, Gate> LedgerPass::Settle(const CallContext& context, const Plan& plan) {
  record_stored_ = false;
  if (status_.ok()) SettleGrants(context, plan);
  std::map<std::string, Gate> withheld;
  for (const NodePlan& node : plan.nodes) {
    const bool has_grant = !node.needs_grant || MayStart(node);
    const bool record_stands = !plan.rollout || status_.ok() || !Starts(node);
    const bool is_withheld = !has_grant || !record_stands;
    if (is_withheld) withheld.emplace(node.node, WhyNot(node));
    if (plan.rollout) durations_.Planned(node.node, !is_withheld && Starts(node) && !Fails(node));
  }
  return withheld;
}

void LedgerPass::SettleGrants(const CallContext& context, const Plan& plan) {
  std::vector<std::string> wanted;
  for (const NodePlan& node : plan.nodes) {
    if (node.needs_grant) wanted.push_back(node.uid);
  }
  const int stores = ledger_.stores();
  const std::optional<std::string> record = plan.rollout ? plan.rollout->record : std::nullopt;
  absl::Status settled = ledger_.Settle(Bounded(context), plan.readings, wanted, record).status();
  const bool is_stored = ledger_.stores() > stores;
  if (settled.ok() && !is_stored && plan.rollout && std::any_of(plan.nodes.begin(), plan.nodes.end(), Starts)) {
    settled = ledger_.Confirm(Bounded(context));
  }
  Note(settled);
  record_stored_ = settled.ok() && record.has_value();
  if (record_stored_) durations_.Stored(std::exchange(told_, 0));
  std::erase_if(gone_, [&](const std::string& uid) { return !grants().contains(uid); });
}

void LedgerPass::Note(const absl::Status& status) {
  status_ = status;
  failures_ = status.ok() ? 0 : failures_ + 1;
  retry_at_ = status.ok() ? absl::InfinitePast() : clock_->Now() + Doubled(kLedgerRetryFirst, kLedgerRetryMax, failures_);
}

// arch-A12: the grant is stored before the patch is sent, and is for the version that is the patch's precondition.
bool LedgerPass::MayStart(const NodePlan& node) const {
  return status_.ok() && ledger_.Granted(node.uid) == node.resource_version;
}

Gate LedgerPass::WhyNot(const NodePlan& node) const {
  if (!status_.ok()) {
    return {.reason = GateReason::kLedger,
            .detail = fmt::format("the ledger of grants: {}", Message(status_)),
            .not_before = retry_at_};
  }
  if (const auto version = ledger_.Granted(node.uid)) {
    return {
        .reason = GateReason::kLedger,
        .detail = fmt::format("the grant is for version {}, the node was read at {}", *version, node.resource_version)};
  }
  return {.reason = GateReason::kLedger,
          .detail = fmt::format("the ledger is full: {} nodes have a grant", grants().size())};
}

void LedgerPass::Report(Plan& plan) const {
  absl::Time wake = plan.wake_at.value_or(absl::InfiniteFuture());
  if (!status_.ok()) {
    plan.findings.push_back({.code = FindingCode::kLedger,
                             .message = fmt::format("no node is started: the ledger of grants: {}", Message(status_))});
    wake = std::min(wake, retry_at_);
  }
  if (!nonsense_.empty()) plan.findings.push_back({.code = FindingCode::kLedger, .message = nonsense_});
  // What has been stored may let further nodes start.
  if (record_stored_) wake = std::min(wake, clock_->Now());
  if (any_unseen_) wake = std::min(wake, next_look_);
  if (wake < absl::InfiniteFuture()) plan.wake_at = wake;
}

CallContext LedgerPass::Bounded(const CallContext& context) const {
  return {.deadline = std::min(context.deadline, clock_->Now() + call_timeout_), .stop = context.stop};
}

}  // namespace driverupgrade::internal
