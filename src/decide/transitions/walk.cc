#include "decide/transitions/walk.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/utf8.h"
#include "decide/rollout/failures.h"
#include "fmt/format.h"
#include "model/cordon_names.h"

namespace driverupgrade {
namespace {

// Interval between attempts to read data after a failure.
constexpr absl::Duration kReadRetry = absl::Seconds(5);
// The engine never writes a larger count. A larger count on the node is reduced to this number, which can still be
// incremented.
constexpr int kFailuresCounted = 1'000'000;

}  // namespace

PatchNodeParams PatchBetween(const Node& node, const NodeMarks& from, const NodeMarks& to,
                             const DriverIdentity& identity) {
  internal::MarkChanges changes = internal::ChangesBetween(from, to, identity);
  PatchNodeParams patch{.labels = std::move(changes.labels),
                        .annotations = std::move(changes.annotations),
                        .unschedulable = changes.unschedulable};
  if (changes.steers) patch.taints = internal::WithSteering(node, identity, *changes.steers);
  return patch;
}

std::optional<absl::Time> Finite(absl::Time time) {
  return time == absl::InfiniteFuture() ? std::nullopt : std::optional(time);
}

absl::Time NextRead(absl::Time now) {
  return absl::UnixEpoch() + absl::Floor(now - absl::UnixEpoch(), kReadRetry) + kReadRetry;
}

std::optional<PodDeletionPolicy> PodDeletion(bool known, const NodeRules& rules) {
  const bool selects = rules.pod_deletion && !rules.pod_deletion->pod_selector.empty();
  // With device isolation, claims show which pods use the driver.
  const bool knows_holders = rules.isolation.scope != IsolationScope::kNode;
  if (!known && !selects && !knows_holders) return std::nullopt;
  return rules.pod_deletion.value_or(PodDeletionPolicy{});
}

std::optional<PodDeletionPolicy> PodDeletion(const JudgeContext& in) { return PodDeletion(in.pod_deletion, in.policy); }

std::optional<absl::Duration> EvacuationTimeout(const JudgeContext& in) {
  if (const auto deletion = PodDeletion(in)) return deletion->timeout;
  if (in.policy.drain) return in.policy.drain->timeout;
  return std::nullopt;
}

Walk::Walk(const JudgeContext& context, const NodeView& node_view, const Admission& admission, Verdict& judged)
    : in(context),
      view(node_view),
      admitted(admission.admitted),
      reload_only(admission.reload_only),
      unit(admission.unit),
      drains(context.drains),
      requestor(context.requestor),
      verdict(judged),
      read_(node_view, context.identity),
      // If the label is invalid, MayAct (state_machine.cc) stops the walk.
      state_(read_->State().value_or(UpgradeState::kUnknown)) {
  AssessDriver();
  Resume();
  if (!before().HasLabel() && before().reload_only.present()) AssessDriver();
  verdict.plan.from = state_;
  verdict.findings = driver.findings;
}

NodeMarks& Walk::Edit() {
  if (!edited_) edited_ = before();
  return *edited_;
}

void Walk::AssessDriver() {
  const auto text = [](const std::optional<std::string>& mark) { return mark ? std::string_view(*mark) : ""; };
  // After the upgrade, the mark has no effect, even if another client keeps it from being removed.
  const bool keeps = IsInProgress(state_) || state_ == UpgradeState::kUpgradeRequired;
  const std::string_view kept = keeps ? text(after().reload_only.value()) : "";
  driver = pods.Assess(view, in.driver, text(after().restart_pod.value()), in.options.driver_restart_count_max, kept);
}

std::string Walk::WhyNoDriverPod(std::string_view until) const {
  const auto unscheduled = std::find_if(view.unscheduled_driver_pods.begin(), view.unscheduled_driver_pods.end(),
                                        [](const Pod& pod) { return !pod.unscheduled_message.empty(); });
  if (unscheduled == view.unscheduled_driver_pods.end()) return fmt::format("no driver pod on the node{}", until);
  return fmt::format("driver pod {} cannot be scheduled: {}", unscheduled->ref.ToString(),
                     unscheduled->unscheduled_message);
}

void Walk::SetRestartsOnly() {
  std::set<std::string> compared;
  for (const Pod* pod : driver.to_restart) compared.emplace(RevisionHash(*pod));
  Write(&NodeMarks::restart_only,
        {.compared = fmt::format("{}", fmt::join(compared, ",")), .target = driver.wanted_revision});
}

// Every pod to restart must have a revision that was compared with the target. A pod can have another revision if the
// template changed while the previous pod was missing.
bool Walk::RestartsOnly() const {
  const std::optional<internal::RestartOnly>& mark = after().restart_only.value();
  if (driver.wanted_revision.empty() || !mark || mark->target != driver.wanted_revision) return false;
  return std::all_of(driver.to_restart.begin(), driver.to_restart.end(),
                     [&](const Pod* pod) { return mark->Covers(RevisionHash(*pod)); });
}

Progress Walk::Enter(UpgradeState next, std::string reason) {
  DropStage();
  Remove(&NodeMarks::waiting_for);
  // A failed node must not delay the nodes that started with it.
  if (next == UpgradeState::kFailed) Remove(&NodeMarks::unit);
  verdict.wake_at.reset();
  state_ = next;
  entered_ = true;
  Edit().state.Write(next);
  verdict.plan.path.push_back(next);
  verdict.plan.reason = std::move(reason);
  Event(false, fmt::format("Successfully updated node state label to {}", ToLabelValue(next)));
  return Progress::kMoved;
}

void Walk::Release(std::string reason) {
  state_ = UpgradeState::kUnknown;
  verdict.plan.path.push_back(state_);
  Event(false, fmt::format("Released the node from the driver upgrade: {}", reason));
  verdict.plan.reason = std::move(reason);
}

// Returns the class of a failure that occurs in `state`; nullopt if the state has no class.
std::optional<FailureClass> ClassOfFailure(UpgradeState state, const NodeView& view) {
  const auto any_fails = [](const std::vector<ContainerStatus>& statuses) {
    return std::any_of(statuses.begin(), statuses.end(), [](const auto& status) { return status.image_pull_fails; });
  };
  const bool image_pull_fails = std::any_of(view.driver_pods.begin(), view.driver_pods.end(), [&](const Pod& pod) {
    return any_fails(pod.init_container_statuses) || any_fails(pod.container_statuses);
  });
  return internal::ClassOf({.failed_in = state, .node_ready = view.node.ready, .image_pull_fails = image_pull_fails});
}

Progress Walk::Fail(std::string_view what, std::string why) {
  // The Warning is recorded before the transition, so that the Event about the cause precedes the Event about the
  // effect.
  std::string cause = fmt::format("{}, {}", what, why);
  // The annotation is truncated; the Event contains the entire message.
  Write(&NodeMarks::failure_cause, std::string(internal::CutUtf8(cause, internal::kMarkTextMax)));
  Event(true, std::move(cause));
  const std::string revision = TargetRevision();
  if (in.policy.classify_failures) {
    if (const auto failure = ClassOfFailure(state_, view)) {
      Write(&NodeMarks::failure_class, std::string(ToString(*failure)));
    }
  }
  Enter(UpgradeState::kFailed, std::move(why));
  // If the driver that could not be loaded is up to date, the failure counts as a failure of the upgrade. In the patch
  // that starts the node, the mark stays, because it explains the start.
  const bool has_started = read_state() && IsInProgress(*read_state());
  const bool is_outdated = pods.Assess(view, in.driver, "", in.options.driver_restart_count_max, "").out_of_date;
  if (has_started && !is_outdated) Remove(&NodeMarks::reload_only);
  if (!revision.empty()) Write(&NodeMarks::failed_revision, revision);
  WriteFailures({.count = PastFailures().count + 1, .last = in.now});
  return Progress::kMoved;
}

// A driver that waits to be loaded, or whose pod is being deleted, no longer counts as running.
bool Walk::RunsOldDriver() const {
  return !driver.none && !driver.to_restart.empty() && driver.terminating == nullptr && !AwaitsSafeLoad();
}

Progress Walk::FailEvacuation(OnFailure on_failure, std::string_view what, std::string why) {
  const bool gives_back = on_failure == OnFailure::kGiveBack && RunsOldDriver() && !InRequestorMode();
  const std::optional<std::string> kept = after().reload_only.value();
  Fail(what, std::move(why));
  if (kept) Write(&NodeMarks::reload_only, *kept);  // such a failure shows nothing about the driver
  if (gives_back) ReturnToService(*this);
  return Progress::kMoved;
}

Failures Walk::PastFailures() const {
  const std::optional<Failures>& mark = after().failures.value();
  if (!mark || mark->last > in.now + kClockSkewMax) return {};
  return {.count = std::min(mark->count, kFailuresCounted), .last = mark->last};
}

void Walk::WriteFailures(const Failures& failures) {
  Write(&NodeMarks::failures, {.count = failures.count, .last = WholeSecond(failures.last)});
}

Progress Walk::Evict(EvictionRound round, absl::Time deadline, absl::Time fails_at) {
  verdict.plan.evict = std::move(round.evict);
  round.gate.fails_at = Finite(fails_at);
  const absl::Time due = std::min(deadline, round.gate.not_before.value_or(absl::InfiniteFuture()));
  return Wait(std::move(round.gate), due);
}

PodSelection Walk::SelectForDrain(const std::vector<Pod>& on_node) const {
  const DrainPolicy& policy = *in.policy.drain;
  PodSelection selection = drains.Select(on_node, policy, after().drain_start.value().value_or(absl::InfiniteFuture()));
  const std::optional<PodDeletionPolicy> deletion = PodDeletion(in);
  if (!deletion) return selection;
  std::vector<const Pod*>& returned = selection.returned;
  const auto users = std::stable_partition(returned.begin(), returned.end(), [&](const Pod* pod) {
    return view.hook_errors.empty() && !pods.UsesDriver(*pod, view, *deletion);
  });
  const PodSelection to_leave = drains.Classify({users, returned.end()}, policy.force, policy.delete_empty_dir);
  returned.erase(users, returned.end());
  selection.evict.insert(selection.evict.end(), to_leave.evict.begin(), to_leave.evict.end());
  selection.blocked.insert(selection.blocked.end(), to_leave.blocked.begin(), to_leave.blocked.end());
  return selection;
}

void Walk::NoteDrainStart(const std::vector<const Pod*>& evict) {
  if (after().drain_start.value()) return;
  std::optional<absl::Time> newest;
  for (const Pod* pod : evict) newest = std::max(newest, pod->tolerates_cordon_since);
  if (newest) Write(&NodeMarks::drain_start, WholeSecond(*newest));
}

bool Walk::DeletesOverdue(OnTimeout on_timeout, const std::vector<const Pod*>& overdue_pods,
                          absl::Time deadline) const {
  return on_timeout != OnTimeout::kFail && !Expired(drains.StuckAt(overdue_pods, view, on_timeout, deadline));
}

Progress Walk::DeleteOverdue(OnTimeout on_timeout, const std::vector<const Pod*>& overdue_pods, EvictionRound round,
                             absl::Time deadline) {
  verdict.plan.remove = drains.Overdue(overdue_pods, view, on_timeout, in.now);
  verdict.plan.force_remove = on_timeout == OnTimeout::kForceDelete && !verdict.plan.remove.empty();
  // No disruption budget protects pods from a deletion, so the deletions require that the node has not changed.
  if (!verdict.plan.remove.empty()) ConfirmNode();
  round.gate.detail =
      fmt::format("the evictions timed out, so the pods are deleted: {}", drains.Remaining(overdue_pods, view, in.now));
  return Wait(std::move(round.gate), std::min(round.gate.not_before.value_or(absl::InfiniteFuture()),
                                              drains.StuckAt(overdue_pods, view, on_timeout, deadline)));
}

Progress Walk::Wait(GateReason reason, std::string detail, absl::Time not_before) {
  return Wait(Gate{.reason = reason, .detail = std::move(detail)}, not_before);
}

Progress Walk::Wait(Gate gate, absl::Time not_before) {
  verdict.gate = std::move(gate);
  verdict.gate->not_before.reset();
  if (not_before != absl::InfiniteFuture()) verdict.gate->not_before = not_before;
  WakeAt(not_before);
  return Progress::kStopped;
}

void Walk::WakeAt(absl::Time time) {
  if (time == absl::InfiniteFuture()) return;
  verdict.wake_at = std::min(time, verdict.wake_at.value_or(absl::InfiniteFuture()));
}

void Walk::Note(FindingCode code, std::string message) {
  verdict.findings.push_back({.code = code, .node = view.node.name, .message = std::move(message)});
}

void Walk::Event(bool warning, std::string message) {
  verdict.plan.events.push_back({.warning = warning, .message = std::move(message)});
}

void Walk::HoldCordon() {
  if (after().unschedulable || IsolatesDevices()) return;
  Edit().unschedulable = true;
  Remove(&NodeMarks::initially_unschedulable);
}

void Walk::CordonInstead() {
  Remove(&NodeMarks::isolated_devices);
  HoldCordon();
}

const std::vector<Pod>* Walk::KnownPods() {
  // A list from before the cordon is useless, because the node accepted new pods until then. If devices are isolated
  // instead, claims show the relevant pods.
  return view.node.unschedulable || IsolatesDevices() ? ReadPods() : nullptr;
}

const std::vector<Pod>* Walk::ReadPods() {
  verdict.pod_interest = true;
  return view.pods ? &*view.pods : nullptr;
}

Progress Walk::WaitForPods(absl::Time deadline) {
  return Wait(GateReason::kPodsUnknown, "the node's pods have not been read since it was cordoned",
              std::min(deadline, NextRead(in.now)));
}

// Updates the set of drivers that rely on the node's cordon after this patch (dep-F7). The set contains the other
// drivers whose upgrades are in progress and, from cordon-required on, our driver. While the node waits for a slot, our
// name stays if it is already in the set, and replaces stale names, because no other driver would ever lift that
// cordon. In requestor mode, the maintenance operator lifts its own cordon, so our name is added only if the engine set
// the cordon because the maintenance operator's cordon had been lifted too early (H13).
void Walk::UpdateCordonSet() {
  std::set<std::string> names = internal::LiveCordonNames(view.node, in.identity.Name());
  bool ours = after().unschedulable && !internal::WasInitiallyUnschedulable(after());
  if (InRequestorMode()) {
    ours = ours && (!view.node.unschedulable || internal::IsInCordonSet(before(), in.identity));
  } else if (state_ == UpgradeState::kUpgradeRequired) {
    const internal::Cordon cordon = internal::ReadCordon(view.node, in.identity);
    ours = ours && cordon.kind == internal::CordonKind::kUpgrade && !cordon.rival_lifts &&
           (names.empty() || internal::IsInCordonSet(before(), in.identity));
  } else if (!IsInProgress(state_) || internal::IsGivenBack(after(), in.identity)) {
    ours = false;
  }
  if (ours) names.insert(in.identity.Name());
  // The timer shows that the node still waits. Without it, our name would make the node look admitted if another client
  // then removed the label.
  if (ours && entered_ && state_ == UpgradeState::kUpgradeRequired) WriteStage(in.now);
  internal::SetCordonNames(std::move(names), Edit());
}

bool Walk::AwaitsUpgrade() const {
  return state_ == UpgradeState::kUpgradeRequired || (IsInProgress(state_) && state_ != UpgradeState::kFailed);
}

// Adds the taint only to patches that are sent anyway. A node with the skip label is not tainted: it keeps its driver,
// so gangs on it are safe.
void Walk::Steer() {
  const bool steers =
      in.policy.steer_gangs && AwaitsUpgrade() && !after().skip_upgrade.value() && internal::CanWriteTaints(view.node);
  if (steers != after().steers) Edit().steers = steers;
}

// Removes a taint that was left when another engine finished the upgrade.
void Walk::RemoveOldTaint() {
  if (!before().steers || AwaitsUpgrade()) return;
  Edit().steers = false;
  if (verdict.plan.path.empty()) verdict.plan.reason = "removes a taint that was left on the node";
}

void Walk::Finish(bool acts, const internal::ShownWait* shown_wait) {
  if (const auto timeout = StageTimeout(); entered_ && timeout) WriteStage(in.now);
  if (acts && IsInProgress(state_) && !after().HasLabel()) Edit().state.Write(state_);
  if (acts && shown_wait != nullptr) ShowWait(*shown_wait);
  if (acts) RemoveOldTaint();
  if (edited_) {
    if (!PatchBetween(view.node, before(), *edited_, in.identity).empty()) {
      UpdateCordonSet();
      Steer();
      verdict.plan.patch = PatchBetween(view.node, before(), *edited_, in.identity);
    }
  }
  // A gang may have been restarted on this node after another replica upgraded the node. If the node watch lags, or if
  // this replica was suspended, the new pods are known before the new state of the node. The empty patch fails if the
  // node has changed.
  if (in.policy.keep_gangs && !verdict.plan.evict.empty() && !verdict.plan.patch) ConfirmNode();
  CountPods(*this);
  NoteLabelLoss();
  if (acts && !before().HasLabel()) PaceLabel();
  if (!verdict.plan.empty()) {
    verdict.plan.node = view.node.name;
    verdict.plan.uid = view.node.uid;
    verdict.plan.resource_version = view.node.resource_version;
  }
}

}  // namespace driverupgrade
