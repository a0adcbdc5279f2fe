// Checks commits: whether a change to a node is allowed (I6-I8, I10, I13).
#include <algorithm>
#include <utility>

#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "testing/invariants/checker_impl.h"
#include "testing/invariants/tries.h"
#include "testing/transition_table.h"

namespace driverupgrade::testing {

using internal::Maker;
using internal::NodeTruth;
using internal::StateOf;

namespace {

// Tolerance for timers that a replica with a slow clock has written.
constexpr absl::Duration kTimerSkewMax = absl::Minutes(5);

std::string_view NameOf(const std::optional<UpgradeState>& state) { return state ? ToString(*state) : "no state"; }

}  // namespace

void InvariantChecker::Impl::OnChange(const Change& change) {
  if (violation && violation->revision == 0) violation->revision = change.revision;
  const bool had = violation.has_value();
  if (change.node.before != nullptr || change.node.after != nullptr) OnNode(change);
  if (change.pod.before != nullptr || change.pod.after != nullptr) OnPod(change);
  OnMaintenance(change);
  OnOther(change);
  JudgeStartedGroups();
  if (violation && !had) {
    violation->time = change.time;
    violation->revision = change.revision;
  }
  if (listener) listener(change);
}

void InvariantChecker::Impl::OnPod(const Change& change) {
  NoteDriverPod(change);
  const Pod* after = change.pod.after;
  const auto is_on_node = [&](const Pod* pod) {
    return pod != nullptr && !pod->node_name.empty() && IsDriverPod(*pod);
  };
  if (is_on_node(after)) driver_pods_[after->node_name].emplace(RevisionHash(*after));
  if (const Pod* before = change.pod.before; is_on_node(before)) {
    auto& revisions = driver_pods_[before->node_name];
    revisions.erase(revisions.find(RevisionHash(*before)));
    if (revisions.empty()) driver_pods_.erase(before->node_name);
  }
  for (const Pod* pod : {change.pod.before, after}) {
    if (pod != nullptr && IsDriverPod(*pod)) CountDriverNode(pod->node_name, change.revision);
  }
  if (after == nullptr) {
    bound_.erase(change.pod.before->ref.uid);
    relabelled_.erase(change.pod.before->ref.uid);
  } else if (!after->node_name.empty()) {
    bound_.try_emplace(after->ref.uid, change.revision);
    // From this revision on, an orphaned or relabeled pod counts as a new pod.
    const Pod* before = change.pod.before;
    const bool orphaned = before != nullptr && !before->owners.empty() && after->owners.empty();
    const bool relabelled = before != nullptr && before->labels != after->labels;
    if (relabelled) relabelled_.insert(after->ref.uid);
    if (orphaned || relabelled) bound_[after->ref.uid] = change.revision;
  }
}

void InvariantChecker::Impl::NoteRevision(const ControllerRevision& revision) {
  if (revision.ns != options.driver_ns || !options.driver_labels.Matches(revision.labels)) return;
  const auto hash = revision.labels.find("controller-revision-hash");
  if (hash != revision.labels.end()) revisions_.insert_or_assign(hash->second, revision);
}

// Handles changes to the Lease, the ledger, the driver's DaemonSets, and the target revision of the driver pods.
void InvariantChecker::Impl::OnOther(const Change& change) {
  const bool lease = change.lease.before != nullptr || change.lease.after != nullptr;
  const ConfigMap* config_map = change.config_map.after != nullptr ? change.config_map.after : change.config_map.before;
  if (!lease && config_map == nullptr) revision_ = change.revision;
  if (change.lease.after != nullptr)
    OnLease(change.lease.before != nullptr ? *change.lease.before : Lease(), *change.lease.after);
  if (config_map != nullptr && config_map->ns == options.driver_ns) {
    OnLedger(change.config_map.after);
    OnGrants(change.config_map.after);
  }
  const DaemonSet* daemon_set = change.daemon_set.after;
  if (daemon_set != nullptr && daemon_set->ns == options.driver_ns &&
      options.driver_labels.Matches(daemon_set->labels)) {
    NoteApprovals(*daemon_set);
  }
  const DaemonSet* removed = daemon_set == nullptr ? change.daemon_set.before : nullptr;
  if (removed != nullptr && removed->ns == options.driver_ns && options.driver_labels.Matches(removed->labels)) {
    NoteDriverRemoved();
  }
  const ControllerRevision* made = change.controller_revision.after;
  if (made == nullptr || made->ns != options.driver_ns || !options.driver_labels.Matches(made->labels)) return;
  NoteRevision(*made);
  if (made->owner_uid.empty() || (made->owner_uid == newest_owner_ && made->revision < newest_)) return;
  ++templates_;
  newest_owner_ = made->owner_uid;
  newest_ = made->revision;
  const auto hash = made->labels.find("controller-revision-hash");
  if (hash != made->labels.end()) newest_hash_ = hash->second;
}

// Once the grants are lost, only a client that has read a node can know that the node has a slot.
void InvariantChecker::Impl::OnLedgerLost() {
  for (auto& [name, truth] : nodes) {
    truth.slot_by_engine = truth.unavailable_by_engine = false;
    if (!truth.driver_taken) LetGo(truth);
  }
}

// arch-A12: the ledger limits the number of grants.
void InvariantChecker::Impl::OnGrants(const ConfigMap* ledger) {
  granted_.clear();
  if (ledger == nullptr) return OnLedgerLost();
  for (const auto& [key, value] : ledger->data) {
    if (key.starts_with('_')) continue;  // the record of a rollout
    const std::set<std::string> lines = absl::StrSplit(value, '\n', absl::SkipEmpty());
    if (options.grants_max > 0 && static_cast<int>(lines.size()) > options.grants_max) {
      Fail("I1", fmt::format("the ledger has {} grants, but at most {} are allowed", lines.size(), options.grants_max));
    }
    granted_.insert(lines.begin(), lines.end());
  }
  for (const std::string& line : granted_) granted_ever_.try_emplace(line, revision_);
}

// I9: a replica takes over a Lease only after the Lease has expired. Clocks may run up to a third slower or faster.
void InvariantChecker::Impl::OnLease(const Lease& before, const Lease& after) {
  if (after.ns != options.driver_ns) return;
  const absl::Time written = std::exchange(lease_written_, cluster->Now());
  if (before.holder.empty() || before.holder == after.holder || after.holder.empty() || !options.check_pacing) return;
  const absl::Duration held = cluster->Now() - written;
  if (held >= before.duration * 2 / 3) return;
  Fail("I9", fmt::format("{} took the lease of {} over {} after it was renewed for {}", after.holder, before.holder,
                         absl::FormatDuration(held), absl::FormatDuration(before.duration)));
}

void InvariantChecker::Impl::OnNode(const Change& change) {
  const Node* before = change.node.before;
  const Node* after = change.node.after;
  if (after == nullptr) {
    const auto gone = nodes.find(before->name);
    slots_ -= gone->second.slot;
    in_hands_ -= gone->second.in_hand;
    CountNode(gone->second, -1);
    paths_.erase(before->uid);
    if (const auto member = members_.find(before->name); member != members_.end()) member->second.gone = change.time;
    nodes.erase(gone);
    CountDriverNode(before->name, change.revision);
    return;
  }
  const bool by_peer = change.actor == Actor::kClient && options.shares_nodes && writer == nullptr;
  const bool by_engine = change.actor == Actor::kClient && !by_peer;
  const Maker maker = by_engine                         ? Maker::kEngine
                      : by_peer                         ? Maker::kPeer
                      : change.actor == Actor::kCluster ? Maker::kOperator
                      : rival_acts                      ? Maker::kRival
                                                        : Maker::kAdministrator;
  NodeTruth& truth = nodes[after->name];
  if (truth.uid != after->uid) {
    slots_ -= truth.slot;
    in_hands_ -= truth.in_hand;
    CountNode(truth, -1);
    truth = {.uid = after->uid, .created = change.time};
    // NodeMaintenances of an earlier node with this name still exist.
    if (claims_.contains(after->name)) truth.claimed_until = absl::InfiniteFuture();
    if (after->unschedulable) {
      truth.cordon = Maker::kAdministrator;
      truth.cordoned_at = change.revision;
    }
  }
  if (!by_engine && before != nullptr) ++truth.meddled;
  if (before != nullptr) {
    const internal::TryChange try_change{
        .before = *before, .after = *after, .by_engine = by_engine, .is_new_template = truth.templates < templates_};
    if (internal::BeginsAnotherTry(try_change, keys, options.identity)) {
      truth.writes = truth.pods_gone = truth.refusals = truth.meddled = 0;
    }
  }
  if (before != nullptr && by_engine) JudgeCordon(*before, *after, truth);
  NoteCordon(before, *after, maker, truth);
  if (before != nullptr && !before->unschedulable && after->unschedulable) truth.cordoned_at = change.revision;
  if (before != nullptr && !before->ready && after->ready) truth.ready_at = change.revision;
  truth.selected = options.node_selector.Matches(after->labels);
  Node counted = *after;
  // The label has no meaning on a node that the operator does not select.
  if (!truth.selected) {
    counted.labels.erase(keys.state);
    counted.annotations.clear();
  }
  NoteShares(counted, maker, change.revision, change.time, truth);
  if (truth.state == UpgradeState::kDone) truth.tolerant_evicted = absl::InfiniteFuture();
  CountDriverNode(after->name, change.revision);
  if (before != nullptr && by_engine) Judge(*before, *after, truth);
  if (before != nullptr) NoteHands(*before, *after, maker, truth);
  if (before != nullptr && by_engine) NoteTry(*before, *after);
  NoteMember(*after);
}

void InvariantChecker::Impl::Judge(const Node& before, const Node& after, NodeTruth& truth) {
  if (!truth.selected) Fail("I6", fmt::format("node {} was changed, but the operator does not select it", after.name));
  if (std::string key = internal::ForeignChange(before, after, keys); !key.empty()) {
    Fail("I6", fmt::format("node {}: {} was changed, but is not ours", after.name, key));
  }
  JudgePath(before, after);
  const bool goes_on = internal::MayGoOn(before, keys);
  if (!goes_on && !internal::IsBusy(StateOf(before, keys)) && internal::IsBusy(StateOf(after, keys))) {
    JudgeStart(before, after);
  }
  if (StateOf(before, keys) != StateOf(after, keys)) JudgeEnd(before, after, truth);
  JudgeMaintenance(before, after, truth);
  const auto began = internal::StageBegan(after, keys);
  if (began && *began + kTimerSkewMax < truth.created) {
    Fail("I10", fmt::format("node {} has a timer that is older than the node", after.name));
  }
}

// I7: the labels before and after the patch must be the start and the end of a path of transitions that a plan
// announced for this version.
void InvariantChecker::Impl::JudgePath(const Node& before, const Node& after) {
  const auto from = StateOf(before, keys);
  const auto to = StateOf(after, keys);
  if (from == to) return;
  // Release removes the label in any state; apart from Release, the engine removes the label only from nodes without a
  // driver pod.
  if (to == UpgradeState::kUnknown && writer != nullptr && (writer->releases || !driver_pods_.contains(after.name)))
    return;
  // The engine restores a label that another client removed. The state may then also depend on the driver pods.
  const bool has_label = internal::HasLabel(before, keys);
  const auto bad = [&](const char* why) {
    Fail("I7", fmt::format("node {}: {} -> {}: {}", after.name, NameOf(from), NameOf(to), why));
  };
  if (!to) return bad("the label is not a state");
  if (!from) return bad("the operator must not change a label that is not a state");
  // A node can be evaluated again under another policy while its version stays the same, so any of the recent plans may
  // explain the label. An engine that restores a removed label may pass through several states in one patch.
  const bool is_paced = has_label;
  const bool one_state = PolicyOf(writer).pacing == Pacing::kEveryState && *from != UpgradeState::kFailed && is_paced;
  const Path* announced = nullptr;
  for (const Path& path : paths_[before.uid]) {
    if (path.resource_version != before.resource_version || path.path.back() != *to) continue;
    if (has_label && path.from != *from) continue;
    if (announced == nullptr || (one_state && path.path.size() == 1)) announced = &path;
  }
  if (announced == nullptr && !has_label && internal::IsBusy(to)) return;
  if (announced == nullptr) return bad("no plan for this version of the node announced this change");
  UpgradeState at = announced->from;
  for (const UpgradeState next : announced->path) {
    if (!IsLegalEdge(at, next)) return bad("not by legal transitions");
    ++edges[{at, next}];
    at = next;
  }
  if (one_state && announced->path.size() > 1) bad("several states in one write, although the policy allows one");
}

// Checks the start of a node that was not in progress.
void InvariantChecker::Impl::JudgeStart(const Node& before, const Node& after) {
  const UpgradePolicy& its_policy = PolicyOf(writer);
  const auto skip = before.labels.find(keys.skip);
  if (skip != before.labels.end() && skip->second == "true") {
    Fail("I8", fmt::format("node {} was started although it has the skip label", after.name));
  }
  if (its_policy.paused) Fail("I8", fmt::format("node {} was started although the policy is paused", after.name));
  JudgeGrant(before);
  if (options.check_budget) JudgeBudget(before, after);
  // A rebooted node loads the driver that it has, whatever the rollout and the failures of the new driver allow
  // (network-operator#600).
  if (after.annotations.contains(keys.reload_only)) return;
  JudgeFailures(before);
  JudgeRollout(before);
}

// arch-A12: the version that is patched must be the version that was granted. If an earlier patch with an unknown
// outcome may have started the node, the engine requests no other grant.
void InvariantChecker::Impl::JudgeGrant(const Node& before) {
  if (options.grants_max == 0 || !options.requestor_id.empty()) return;
  if (granted_ever_.contains(before.uid + " " + before.resource_version)) return;
  // The node needs no grant if the current policy or the policy of the first attempt exempts the node, because the
  // first attempt may have been carried out.
  const Attempt* first = FirstAttempt(before);
  const bool may_be_outside = PolicyOf(writer).cordoned_nodes == CordonedNodes::kProceed ||
                              (first != nullptr && first->policy->cordoned_nodes == CordonedNodes::kProceed);
  if (before.unschedulable && may_be_outside) return;
  Fail("I1", fmt::format("node {} was started without a grant in the ledger", before.name));
}

// Returns true if the patch takes the node out of upgrade-required, according to the announced paths.
bool InvariantChecker::Impl::Starts(const Node& before, const Node& after) const {
  const auto from = StateOf(before, keys);
  const auto to = StateOf(after, keys);
  // A node that is released in upgrade-required does not start.
  if (from == UpgradeState::kUpgradeRequired) return to != UpgradeState::kUnknown;
  const auto announced = paths_.find(before.uid);
  if (announced == paths_.end()) return false;
  return std::any_of(announced->second.begin(), announced->second.end(), [&](const Path& one) {
    if (one.resource_version != before.resource_version || one.from != from || one.path.back() != to) return false;
    const auto last = one.path.end() - 1;
    return std::find(one.path.begin(), last, UpgradeState::kUpgradeRequired) != last;
  });
}

}  // namespace driverupgrade::testing
