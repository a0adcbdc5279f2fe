#include "driverupgrade/state_machine.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decide/admission/grants.h"
#include "decide/admission/queue.h"
#include "decide/admission/rollout_round.h"
#include "decide/marks_of_view.h"
#include "decide/rollout/failures.h"
#include "decide/step_parts.h"
#include "decide/transitions/walk.h"
#include "fmt/format.h"
#include "model/foreign_state.h"
#include "model/node_service.h"
#include "model/unreadable.h"

namespace driverupgrade {
namespace {

// One transition from the present state.
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
      return walk.Wait(GateReason::kUnhandledState, "another controller has to move the node on");
  }
  return Progress::kStopped;
}

// An upgrade that ends or fails is reported before another one begins, so a walk does not go on from there.
bool EndsWalk(UpgradeState state) { return state == UpgradeState::kDone || state == UpgradeState::kFailed; }

// Whether the node may be written to at all; stops the walk with a gate if not.
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
    const absl::Time due = NextPatchDue(*patch, walk.view.node);
    if (due > walk.in.now) {
      // What is known of the pods is soon needed again, and would have to be read anew.
      walk.verdict.pod_interest = walk.view.pods.has_value();
      walk.Wait(GateReason::kUnsettled,
                patch->outcome ? fmt::format("the last patch of the node: {}",
                                             patch->message.empty() ? "not seen yet" : patch->message)
                               : "a patch of the node is not answered yet",
                due);
      return false;
    }
  }
  return true;
}

// Reports driver pods that cannot be scheduled, and a driver pod that is not Ready on a node that is done.
void NoteDriverPods(Walk& walk) {
  for (const Pod& pod : walk.view.unscheduled_driver_pods) {
    if (pod.unscheduled_message.empty()) continue;
    walk.Note(FindingCode::kDriverPodUnscheduled,
              fmt::format("driver pod {} cannot be scheduled: {}", pod.ref.ToString(), pod.unscheduled_message));
  }
  if (walk.verdict.tally.not_ready == 0) return;
  const Pod& pod = *internal::UnreadyDriverPod(walk.view);
  // An unreadable or unbound pod has a finding of its own.
  if (!pod.unreadable.empty() || pod.node_name.empty() || IsStarting(pod)) return;
  walk.Note(FindingCode::kDriverPodNotReady,
            fmt::format("the node is done, but {}; remove the cause, and restart the pod with the annotation {}=true",
                        internal::WhyPodNotReady(pod), internal::KeyOfRequest(walk.in.identity)));
}

// Judge, into a fresh `verdict`: that is 1.2 kB, which Step would otherwise move about for each node.
void JudgeInto(const JudgeContext& in, const NodeView& view, const Admission& admission, Verdict& verdict) {
  Walk walk(in, view, admission, verdict);
  verdict.tally = internal::TallyByMarks(view, walk.before(), in.identity, in.policy);
  NoteDriverPods(walk);
  // A failed node that holds no slot takes none on its way back: it goes back at once (I1).
  const bool holds_no_slot = !in.policy.failed_hold_slots || internal::IsGivenBack(walk.before(), in.identity);
  const bool recovers = holds_no_slot && walk.state() == UpgradeState::kFailed;
  // Without a label, a state that leaves no other mark would be entered again and again.
  const bool is_resumed = !walk.before().HasLabel() && (IsInProgress(walk.state()) || view.attempts.label_loss);
  const bool acts = MayAct(walk);
  if (acts) NoteForeignCordon(walk);
  if (acts && !ReleaseUnwanted(walk)) {
    while (Advance(walk) == Progress::kMoved) {
      if (EndsWalk(walk.state())) break;
      if (in.policy.pacing == Pacing::kChained || recovers || is_resumed) continue;
      if (walk.state() == UpgradeState::kPodRestartRequired) RestartOnEntry(walk);
      break;
    }
    if (walk.state() == UpgradeState::kFailed && walk.InRequestorMode()) ReportFailedMaintenance(walk);
  }
  // The other nodes of the unit may not be cordoned yet.
  if (walk.admitted && !walk.unit.empty()) {
    verdict.plan.evict.clear();
    verdict.plan.remove.clear();
  }
  walk.Finish(acts);
  // A failed node that somebody has uncordoned asks for nothing when it recovers, and is cordoned all the same: whoever
  // starts in the same pass has to reckon with it.
  if (verdict.plan.from == UpgradeState::kFailed && !verdict.candidate && verdict.plan.patch) {
    verdict.tally = WithPatch(verdict.tally, view, *verdict.plan.patch, in.identity, in.policy);
  }
}

// Lets the rollout of the policy decide who starts, as AdmitAmong otherwise.
template <typename Start>
void AdmitByRollout(const ClusterSnapshot& snapshot, const internal::RolloutInput& input,
                    internal::RolloutMembers& members, const Sums& sums, std::size_t elsewhere, const Start& start,
                    std::vector<internal::KeptVerdict>& verdicts, Plan& plan) {
  internal::RolloutRound round = internal::AdmitByRollout(input, members, sums, elsewhere);
  for (const internal::RolloutDecision& decision : round.decisions) {
    internal::KeptVerdict& verdict = verdicts[decision.index];
    if (decision.gate == internal::RolloutAnswer::kStarts) {
      verdict = start(*snapshot.nodes[decision.index], members.UnitOf(decision.index));
    } else {
      verdict.gate = AtPlace(round.gates[static_cast<std::size_t>(decision.gate)], decision.place);
    }
  }
  for (const std::size_t i : round.pod_interest) verdicts[i].pod_interest = true;
  plan.budget = round.budget;
  plan.rollout = std::move(round.status);
  plan.wake_at = round.wake_at;
  plan.findings.insert(plan.findings.end(), round.findings.begin(), round.findings.end());
}

// Lets the limits decide who starts. Those that do are judged again by `start`, the others are told why not.
template <typename Start>
void AdmitAmong(const ClusterSnapshot& snapshot, Limits limits, const Start& start,
                std::vector<internal::KeptVerdict>& verdicts) {
  std::vector<WaitingNode> waiting;
  std::vector<std::size_t> nodes;  // of those that wait
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (!verdicts[i].candidate) continue;
    nodes.push_back(i);
    waiting.push_back({.node = snapshot.nodes[i]->node.name, .candidate = *verdicts[i].candidate});
  }
  for (AdmissionDecision& decision : Admit(std::move(limits), waiting)) {
    const std::size_t i = nodes[decision.index];
    if (decision.gate) {
      verdicts[i].gate = std::move(decision.gate);
    } else {
      verdicts[i] = start(*snapshot.nodes[i]);
    }
  }
}

// Of the nodes that have a grant or need one; `elsewhere` are the grants of other nodes.
std::vector<NodeReading> ReadingsOf(const ClusterSnapshot& snapshot, const std::vector<internal::KeptVerdict>& verdicts,
                                    const Grants& elsewhere) {
  std::vector<NodeReading> readings;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const Node& node = snapshot.nodes[i]->node;
    if (!verdicts[i].needs_grant && (snapshot.grants.empty() || !snapshot.grants.contains(node.uid))) continue;
    readings.push_back(
        {.uid = node.uid, .resource_version = node.resource_version, .holds_slot = verdicts[i].holds_slot});
  }
  for (const auto& [uid, version] : elsewhere) readings.push_back(ReadingElsewhere(uid, version));
  return readings;
}

// Returns UpgradeBudget::unavailable_nodes, whatever the order of the views.
std::vector<std::string> NameFirst(std::vector<const NodeView*> views, const DriverIdentity& identity,
                                   const NodeRules& rules) {
  const std::size_t named = std::min(views.size(), internal::kUnavailableNamed);
  std::partial_sort(views.begin(), views.begin() + static_cast<std::ptrdiff_t>(named), views.end(),
                    [](const NodeView* a, const NodeView* b) { return a->node.name < b->node.name; });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < named; ++i) names.push_back(internal::UnavailableNode(*views[i], identity, rules));
  return names;
}

}  // namespace

StateMachine::StateMachine(DriverIdentity identity, StateMachineOptions options)
    : identity_(std::move(identity)), options_(std::move(options)) {}

Verdict StateMachine::Judge(const NodeView& view, const DriverFacts& driver, const NodeRules& rules, absl::Time now,
                            absl::Time active_since, bool admitted, const std::string& unit) const {
  Verdict verdict;
  JudgeInto(JudgeContext(*this, rules, driver, now, active_since), view, {.admitted = admitted, .unit = unit}, verdict);
  return verdict;
}

NodePlan StateMachine::Release(const NodeView& view, absl::Time now) const {
  const internal::MarksOfView marks(view, identity_);
  NodePlan plan{.node = view.node.name,
                .uid = view.node.uid,
                .resource_version = view.node.resource_version,
                .from = marks->State().value_or(UpgradeState::kUnknown),
                .reason = "the NodeMaintenance is given back"};
  if (internal::IsUnreadable(view.node)) return plan;  // what is ours on it cannot be seen
  if (options_.requestor) {
    if (!view.maintenances) return plan;  // a claim that cannot be seen must not be forgotten
    const MaintenanceRequestor requestor(*options_.requestor);
    for (const NodeMaintenance* object : requestor.ClaimsOn(view)) {
      if (auto call = requestor.Release(*object, now)) plan.maintenance.push_back(*std::move(call));
    }
    if (!plan.maintenance.empty()) return plan;
  }
  if (plan.from != UpgradeState::kUnknown) plan.path = {UpgradeState::kUnknown};
  NodeMarks after = *marks;
  plan.reason = GiveBack(view.node, identity_, after);
  if (PatchNodeParams patch = PatchBetween(*marks, after, identity_); !patch.empty()) plan.patch = std::move(patch);
  return plan;
}

Plan StateMachine::Step(const ClusterSnapshot& snapshot, const UpgradePolicy& policy, absl::Time now) const {
  const NodeRules rules = policy;
  const AdmissionLimits limits = policy;
  const JudgeContext context(*this, rules, *snapshot.driver, now, snapshot.active_since);
  const auto start = [&](const NodeView& view, const std::string& unit = "") {
    Verdict verdict;
    JudgeInto(context, view, {.admitted = true, .unit = unit}, verdict);
    return internal::Keep(std::move(verdict));
  };
  std::optional<internal::RolloutRules> rollout;
  if (limits.rollout && rules.auto_upgrade) rollout = internal::RulesOf(*limits.rollout, limits.failures_by_class);
  std::optional<internal::RolloutInput> by_rollout;
  if (rollout) {
    by_rollout.emplace(internal::RolloutInput{.rules = *rollout,
                                              .facts = snapshot.rollout,
                                              .driver = *snapshot.driver,
                                              .machine = *this,
                                              .node_rules = rules,
                                              .limits = limits,
                                              .shared_slots = snapshot.shared_slots,
                                              .now = now});
  }
  internal::RolloutMembers members;
  std::vector<const NodeView*> unavailable_views;
  Sums sums;
  Grants elsewhere = snapshot.grants;
  std::vector<internal::KeptVerdict> verdicts;
  verdicts.reserve(snapshot.nodes.size());
  for (const std::shared_ptr<const NodeView>& view : snapshot.nodes) {
    Verdict verdict;
    JudgeInto(context, *view, {}, verdict);
    const GrantShare share = ShareOf(snapshot.grants, *view, verdict);
    elsewhere.erase(view->node.uid);
    sums.Add(verdict.tally, share);
    if (CountsAsUnavailable(verdict.tally, share)) unavailable_views.push_back(view.get());
    if (verdict.candidate) verdict.candidate->has_grant = share.first;
    verdicts.push_back(internal::Keep(std::move(verdict)));
    if (by_rollout) members.Add(*view, verdicts.back(), share, *by_rollout);
  }
  sums = sums.AndElsewhere(elsewhere.size());
  std::vector<std::string> unavailable;
  if (limits.max_unavailable) unavailable = NameFirst(std::move(unavailable_views), identity_, rules);
  if (by_rollout) by_rollout->unavailable_nodes = unavailable;
  const Budgets budgets = sums.Against(limits, snapshot.shared_slots, std::move(unavailable));
  Plan plan{.totals = sums.with, .budget = budgets.all, .findings = snapshot.findings};
  if (by_rollout) {
    AdmitByRollout(snapshot, *by_rollout, members, sums, elsewhere.size(), start, verdicts, plan);
  } else {
    AdmitAmong(snapshot, Limits::Of(budgets, limits.paused), start, verdicts);
  }
  plan.readings = ReadingsOf(snapshot, verdicts, elsewhere);
  plan.gates.reserve(static_cast<std::size_t>(
      std::count_if(verdicts.begin(), verdicts.end(), [](const auto& kept) { return kept.gate.has_value(); })));
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    internal::AddVerdict(snapshot.nodes[i]->node.name, std::move(verdicts[i]), plan);
  }
  return plan;
}

}  // namespace driverupgrade
