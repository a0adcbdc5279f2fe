#include "driverupgrade/state_machine.h"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "decide/admission/upgrade_budget.h"
#include "decide/attempt_log.h"
#include "decide/devices/rules.h"
#include "decide/incremental_planner.h"
#include "decide/marks_of_view.h"
#include "decide/rollout/failures.h"
#include "decide/transitions/walk.h"
#include "fmt/format.h"
#include "model/foreign_state.h"
#include "model/node_service.h"
#include "model/unreadable.h"

namespace driverupgrade {
namespace {

// Makes one transition from the current state.
Progress Advance(Walk& walk) {
  switch (walk.state()) {
    case UpgradeState::kUnknown:
    case UpgradeState::kDone: return LeaveUnknownOrDone(walk);
    case UpgradeState::kUpgradeRequired: return LeaveUpgradeRequired(walk);
    case UpgradeState::kCordonRequired: return LeaveCordonRequired(walk);
    case UpgradeState::kWaitForJobsRequired: return LeaveWaitForJobs(walk);
    case UpgradeState::kPodDeletionRequired: return LeavePodDeletion(walk);
    case UpgradeState::kDrainRequired: return LeaveDrain(walk);
    case UpgradeState::kNodeMaintenanceRequired: return LeaveNodeMaintenance(walk);
    case UpgradeState::kPodRestartRequired: return LeavePodRestart(walk);
    case UpgradeState::kFailed: return LeaveFailed(walk);
    case UpgradeState::kValidationRequired: return LeaveValidation(walk);
    case UpgradeState::kUncordonRequired: return LeaveUncordon(walk);
    case UpgradeState::kPostMaintenanceRequired:
      walk.Note(FindingCode::kUnhandledState, fmt::format("state {} is not handled", ToString(walk.state())));
      return walk.Wait(GateReason::kUnhandledState, "another controller must advance the node to its next state");
  }
  return Progress::kStopped;
}

// Returns true if the walk must end in `state`: the end of an upgrade is reported before another upgrade starts.
bool EndsWalk(UpgradeState state) { return state == UpgradeState::kDone || state == UpgradeState::kFailed; }

// Returns true if the node may be written to. Otherwise stops the walk with a gate.
bool MayAct(Walk& walk) {
  const DriverIdentity& identity = walk.in.identity;
  if (internal::IsUnreadable(walk.view.node)) {
    walk.Note(FindingCode::kUnreadable, fmt::format("{}; it is left alone, holds a slot and counts as unavailable",
                                                    internal::CannotBeRead("Node", walk.view.node)));
    walk.Wait(GateReason::kUnreadable, walk.view.node.unreadable);
    return false;
  }
  if (!walk.read_state()) {
    const std::string_view value = walk.before().state.text().value_or("");
    walk.Note(FindingCode::kUnknownState,
              fmt::format("label {} has the value `{}`, which is {}; the node is left alone and holds a slot",
                          identity.StateLabel(), value, internal::WhoseState(value)));
    walk.Wait(GateReason::kUnknownState, fmt::format("label {}={}", identity.StateLabel(), value));
    return false;
  }
  if (!walk.in.policy.auto_upgrade) {
    const std::string& why = walk.in.policy.frozen_because;
    if (walk.state() != UpgradeState::kDone) walk.Wait(GateReason::kFrozen, why.empty() ? "autoUpgrade is off" : why);
    return false;
  }
  if (const auto& patch = walk.view.attempts.patch) {
    const absl::Time due = internal::NextPatchDue(*patch, walk.view.node);
    if (due > walk.in.now) {
      // Keeps the known pods, because they will soon be needed and would otherwise have to be read again.
      walk.verdict.pod_interest = walk.view.pods.has_value();
      walk.Wait(GateReason::kUnsettled,
                patch->outcome ? fmt::format("the last patch of the node: {}",
                                             patch->message.empty() ? "not seen yet" : patch->message)
                               : "a patch of the node has no response yet",
                due);
      return false;
    }
  }
  return true;
}

// Reports driver pods that cannot be scheduled, and a driver pod that is not Ready on a node that is done. Pods that can
// be scheduled once an upgrade has replaced an orphaned pod are not reported.
void NoteDriverPods(Walk& walk) {
  const std::vector<Pod>& bound = walk.view.driver_pods;
  const bool has_orphan =
      std::any_of(bound.begin(), bound.end(), [](const Pod& pod) { return ControllerOf(pod) == nullptr; });
  for (const Pod& pod : walk.view.unscheduled_driver_pods) {
    if (pod.unscheduled_message.empty() || has_orphan) continue;
    walk.Note(FindingCode::kDriverPodUnscheduled,
              fmt::format("driver pod {} cannot be scheduled: {}", pod.ref.ToString(), pod.unscheduled_message));
  }
  if (walk.verdict.tally.not_ready == 0) return;
  const Pod& pod = *internal::UnreadyDriverPod(walk.view);
  // An unreadable or unbound pod has its own finding.
  if (!pod.unreadable.empty() || pod.node_name.empty() || IsStarting(pod)) return;
  walk.Note(FindingCode::kDriverPodNotReady,
            fmt::format("the node is done, but {}; remove the cause, and restart the pod with the annotation {}=true",
                        internal::WhyPodNotReady(pod), internal::KeyOfRequest(walk.in.identity)));
}

}  // namespace

void JudgeInto(const JudgeContext& in, const NodeView& view, const Admission& admission,
               const internal::ShownWait* shown_wait, Verdict& verdict) {
  Walk walk(in, view, admission, verdict);
  verdict.tally = internal::TallyByMarks(view, walk.before(), in.identity, in.policy);
  NoteDriverPods(walk);
  // A failed node without a slot does not take one when it recovers, because it returns to service immediately (I1).
  const bool holds_no_slot = !in.policy.failed_hold_slots || internal::IsGivenBack(walk.before(), in.identity);
  const bool recovers = holds_no_slot && walk.state() == UpgradeState::kFailed;
  // If the label is missing, the walk continues through several states even with Pacing::kEveryState. Otherwise, a
  // state that leaves no other mark would be entered again in every pass.
  const bool is_resumed = !walk.before().HasLabel() && (IsInProgress(walk.state()) || view.attempts.label_loss);
  const bool acts = MayAct(walk);
  if (acts) NoteForeignCordon(walk);
  if (acts) RemoveOldRules(walk);
  if (acts && !ReleaseUnwanted(walk, shown_wait) && !HoldDevices(walk)) {
    while (Advance(walk) == Progress::kMoved) {
      if (EndsWalk(walk.state())) break;
      if (in.policy.pacing == Pacing::kChained || recovers || is_resumed) continue;
      if (walk.state() == UpgradeState::kPodRestartRequired) RestartOnEntry(walk);
      break;
    }
    if (walk.state() == UpgradeState::kFailed && walk.InRequestorMode()) {
      ReportFailedMaintenance(walk);
      ForgetLiftedCordon(walk);
    }
  }
  // No pod may be evicted yet, because other nodes of the unit might not have been cordoned yet.
  if (walk.admitted && !walk.unit.empty()) {
    verdict.plan.evict.clear();
    verdict.plan.remove.clear();
  }
  walk.Finish(acts, shown_wait);
  // If another client uncordoned a node that recovers, or whose driver must be restarted after all, the node is
  // cordoned again without being admitted. The tally must include this cordon, so that it limits the admission of other
  // nodes in the same pass.
  const bool may_cordon_again =
      verdict.plan.from == UpgradeState::kFailed || verdict.plan.from == UpgradeState::kUncordonRequired;
  if (may_cordon_again && !verdict.candidate && verdict.plan.patch) {
    verdict.tally = internal::WithPatch(verdict.tally, view, *verdict.plan.patch, in.identity, in.policy);
  }
}

StateMachine::StateMachine(DriverIdentity identity, StateMachineOptions options, bool pod_deletion)
    : identity_(std::move(identity)), options_(std::move(options)), pod_deletion_(pod_deletion) {}

Verdict StateMachine::Judge(const NodeView& view, const DriverFacts& driver, const NodeRules& rules, absl::Time now,
                            absl::Time active_since, bool admitted, const std::string& unit, bool reload_only) const {
  Verdict verdict;
  JudgeInto(JudgeContext(*this, rules, driver, now, active_since), view,
            {.admitted = admitted, .reload_only = reload_only, .unit = unit},
            /*shown_wait=*/nullptr, verdict);
  return verdict;
}

NodePlan StateMachine::Release(const NodeView& view, absl::Time now) const {
  const internal::MarksOfView marks(view, identity_);
  NodePlan plan{.node = view.node.name,
                .uid = view.node.uid,
                .resource_version = view.node.resource_version,
                .from = marks->State().value_or(UpgradeState::kUnknown),
                .reason = "the NodeMaintenance is released"};
  if (internal::IsUnreadable(view.node)) return plan;  // our marks on the node cannot be read
  if (options_.requestor) {
    if (!view.maintenances) return plan;  // claims that could not be read must not be forgotten
    const internal::MaintenanceRequestor requestor(*options_.requestor);
    for (const NodeMaintenance* object : requestor.ClaimsOn(view)) {
      if (auto call = requestor.Release(*object, now)) plan.maintenance.push_back(*std::move(call));
    }
    if (!plan.maintenance.empty()) return plan;
  }
  // The mark shows that rules may exist, so the mark is removed only after the rules.
  plan.devices = internal::ReleaseAtOnce(view, identity_);
  if (!plan.devices.empty()) return plan;
  if (plan.from != UpgradeState::kUnknown) plan.path = {UpgradeState::kUnknown};
  NodeMarks after = *marks;
  plan.reason = GiveBack(view.node, identity_, after);
  if (PatchNodeParams patch = PatchBetween(view.node, *marks, after, identity_); !patch.empty())
    plan.patch = std::move(patch);
  return plan;
}

Plan StateMachine::Step(const ClusterSnapshot& snapshot, const UpgradePolicy& policy, absl::Time now) const {
  internal::IncrementalPlanner planner(*this);
  planner.SetPolicy(policy);
  planner.SetDriver(snapshot.driver, snapshot.findings);
  planner.SetActiveSince(snapshot.active_since);
  planner.SetGrants(snapshot.grants);
  planner.SetSharedSlots(snapshot.shared_slots);
  planner.SetRollout(snapshot.rollout);
  for (const std::shared_ptr<const NodeView>& view : snapshot.nodes) planner.Update(view);
  // Reports no gates here, because the published plan contains all gates.
  static_cast<void>(planner.Advance(now, {.told = 0}));
  return planner.Publish()->Full();
}

}  // namespace driverupgrade
