// Implements the members of Core that maintain the view of each node.
#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/backoff.h"
#include "base/status_macros.h"
#include "core/core.h"
#include "model/unreadable.h"

namespace driverupgrade::internal {
namespace {

// First and longest pause before a failed action for a node is retried.
constexpr absl::Duration kRetryFirst = absl::Seconds(5);
constexpr absl::Duration kRetryMax = absl::Minutes(1);

}  // namespace

void Core::NoteTime(absl::Time now) {
  // If the clock was set back, times that were noted earlier may lie in the future.
  if (now < now_) {
    log_.SetBack(now);
    for (const auto& pool : pools_) {
      if (pool->active_since) pool->active_since = std::min(*pool->active_since, now);
    }
    TouchManaged();
    for (Retries* retries : {&reads_, &questions_}) {
      for (auto& [node, retry] : *retries) retry.due.reset();
    }
  }
  now_ = now;
  log_.PassBegan(now);
}

absl::Status Core::NoteChanges() {
  CacheChanges changes = objects_.Take();
  touched_.merge(changes.nodes);
  driver_stale_ |= changes.driver;
  // After a restore of the cluster from a backup, as after a restart of the engine, only the nodes show which of our
  // requests were carried out.
  if (changes.set_back) {
    log_.KeepOnly({});
    for (auto& [owner, ledger] : ledgers_) ledger.Forget(now_);
  }
  if (changes.everything) {
    TouchManaged();
    for (const auto& [name, findings] : findings_) touched_.insert(name);
    reads_.clear();
  }
  TouchDue(reads_);
  TouchDue(questions_);
  if (driver_stale_) DRIVERUPGRADE_RETURN_IF_ERROR(ReadDriver());
  RefreshTouched();
  if (log_.size() <= managed_.size()) return absl::OkStatus();
  // Drops responses that arrived after their node had been deleted.
  std::set<std::string> uids;
  for (const auto& [name, view] : managed_) uids.insert(view->node.uid);
  log_.KeepOnly(uids);
  return absl::OkStatus();
}

absl::Status Core::ReadDriver() {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(DriverObjects objects, objects_.Driver());
  const auto unbound = objects_.Maintenances("").value_or(std::vector<NodeMaintenance>());
  const DriverParts before = std::exchange(
      driver_, MakeDriverParts(objects.daemon_sets, std::move(objects.revisions), objects_.DriverPods(""), unbound));
  const bool is_other =
      before.revisions != driver_.revisions || before.facts->daemon_sets != driver_.facts->daemon_sets;
  if (scope_.asks_restart_only && is_other) TouchManaged();
  for (const auto& pool : pools_) pool->planner.SetDriver(driver_.facts, driver_.findings);
  driver_stale_ = false;
  return absl::OkStatus();
}

void Core::TouchManaged() {
  for (const auto& [node, view] : managed_) touched_.insert(node);
}

void Core::TouchDue(Retries& retries) {
  for (auto& [node, retry] : retries) {
    if (!retry.due || *retry.due > now_) continue;
    retry.due.reset();
    touched_.insert(node);
  }
}

void Core::RefreshTouched() {
  // The limit does not apply to nodes that were just written, because the planner evaluates such nodes in every pass
  // until they show the effect of the write.
  for (const std::string& node : std::exchange(written_, {})) {
    touched_.erase(node);
    Refresh(node);
  }
  if (touched_.size() <= nodes_per_pass_) {
    for (const std::string& node : std::exchange(touched_, {})) Refresh(node);
    return;
  }
  for (std::size_t i = 0; i < nodes_per_pass_; ++i) {
    auto next = touched_.upper_bound(touched_at_);
    if (next == touched_.end()) next = touched_.begin();
    touched_at_ = *next;
    Refresh(touched_.extract(next).value());
  }
}

void Core::Refresh(const std::string& name) {
  findings_.erase(name);
  std::optional<Node> node = objects_.FindNode(name);
  for (auto& [owner, ledger] : ledgers_) ledger.NodeSeen(name, node ? &*node : nullptr);
  NodeParts parts{.driver_pods = objects_.DriverPods(name)};
  if (!node) {
    if (!parts.driver_pods.empty()) findings_[name] = {NodeMissing(name, parts.driver_pods.front())};
    return Forget(name);
  }
  parts.node = *std::move(node);
  parts.maintenances = objects_.Maintenances(name);
  if (!scope_.devices.empty()) parts.devices = objects_.Devices(name);
  if (!views_.IsManaged(parts)) return Forget(name);
  const auto known = managed_.find(name);
  if (known != managed_.end() && known->second->node.uid != parts.node.uid) log_.Forget(known->second->node.uid);
  std::vector<Finding> findings;
  hooks_.Begin(name);
  NodeView view = views_.Make(hooks_, std::move(parts), driver_, log_, findings);
  if (auto pods = objects_.PodsOn(name)) {
    reads_.erase(name);
    views_.AddPods(hooks_, objects_, *std::move(pods), view, log_, findings);
  } else {
    views_.DropOldAttempts(view, log_);
    if (const absl::Status status = objects_.PodsStatus(name); !status.ok()) {
      findings.push_back(PodsNotRead(name, status));
    } else if (const auto read = reads_.find(name); read != reads_.end() && read->second.finding) {
      findings.push_back(*read->second.finding);
    }
  }
  if (!findings.empty()) findings_[name] = std::move(findings);
  NoteHooks(view);
  managed_[name] = views_.Share(std::move(view));
  ShowTo(name);
}

void Core::ShowTo(const std::string& node) {
  for (const auto& pool : pools_) {
    if (pool->has_all && pools_.size() == 1 && !pool_of_.contains(node)) return Move(node, *pool);
    if (pool->nodes.contains(node) || pool->guests.contains(node)) pool->planner.Update(managed_.at(node));
  }
}

void Core::Forget(const std::string& node) {
  reads_.erase(node);
  questions_.erase(node);
  if (const auto found = managed_.find(node); found != managed_.end()) {
    log_.Forget(found->second->node.uid);
    managed_.erase(found);
  }
  for (const auto& pool : pools_) {
    if (pool->guests.erase(node) > 0 || pool->nodes.erase(node) > 0) pool->planner.Remove(node);
  }
  pool_of_.erase(node);
  left_.erase(node);
  views_.Forget(node);
  hooks_.Forget(node);
}

// If no pool needs the node's pods, drops them and any finding that they could not be read.
void Core::ForgetPods(const std::string& node) {
  if (WantsPodsOf(node)) return;
  if (const auto read = reads_.find(node); read != reads_.end()) {
    const auto findings = findings_.find(node);
    if (findings != findings_.end() && read->second.finding) std::erase(findings->second, *read->second.finding);
    reads_.erase(read);
  }
  for (const auto& pool : pools_) pool->planner.ForgetPods(node);
  const auto found = managed_.find(node);
  if (found == managed_.end() || !found->second->pods) return;
  NodeView view = *found->second;
  view.pods.reset();
  view.pods_using_driver.clear();
  view.hook_errors.clear();
  view.unread_claims.clear();
  found->second = views_.Share(std::move(view));
}

void Core::NoteHooks(const NodeView& view) {
  const std::string& node = view.node.name;
  if (view.hook_errors.empty() && view.restart_only_error.empty() && view.unread_claims.empty()) {
    questions_.erase(node);
    return;
  }
  Retry& question = questions_[node];
  question.due.reset();
  if (!view.unread_claims.empty() || !hooks_.WillTell(view)) TryAgain(node, now_, question);
}

void Core::TryAgain(const std::string& node, absl::Time now, Retry& retry) {
  ++retry.failures;
  retry.due = now + Spread(Doubled(kRetryFirst, kRetryMax, retry.failures), node, retry.failures);
}

void Core::PodsRead(const std::string& node, const absl::Status& status, absl::Time now) {
  written_.insert(node);
  if (status.ok() || !WantsPodsOf(node)) return;
  // The cordon or the watch changed during the read, so the pods are read again immediately.
  if (absl::IsAborted(status) && !reads_.contains(node)) {
    reads_[node].due = now;
    return;
  }
  Retry& read = reads_[node];
  read.finding = PodsNotRead(node, status);
  TryAgain(node, now, read);
}

std::string Core::UidOf(const std::string& node) const {
  const auto found = managed_.find(node);
  return found == managed_.end() ? std::string() : found->second->node.uid;
}

}  // namespace driverupgrade::internal
