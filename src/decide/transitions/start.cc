// Handles unknown, upgrade-done and upgrade-required: decides whether a node needs an upgrade, and whether it may
// start.
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "decide/gate_subject.h"
#include "decide/transitions/walk.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "model/cordon_names.h"
#include "model/node_service.h"

namespace driverupgrade {
namespace {

// Returns why the node needs an upgrade; empty if it does not (T1).
std::string UpgradeReason(const Walk& walk) {
  if (walk.driver.out_of_date) return "the driver pod is out of date";
  if (walk.AwaitsSafeLoad()) return "the driver waits to be loaded";
  if (walk.after().upgrade_requested.value()) return "an upgrade is requested";
  return {};
}

// Records in a mark whether an administrator cordoned the node before the upgrade (dep-F7).
void NoteInitialState(Walk& walk, const internal::Cordon& cordon) {
  if (walk.InRequestorMode()) return;  // the maintenance operator may have set the cordon
  if (cordon.kind == internal::CordonKind::kAdministrator) {
    walk.Write(&NodeMarks::initially_unschedulable, Flag{});
  } else {
    walk.Remove(&NodeMarks::initially_unschedulable);
  }
}

// Turns a request into "restart the pod with this UID", so that the request restarts exactly one pod (dep-F17). Also
// requests this restart if an administrator retries the node through its label while the driver pod is up to date but
// failing, because nothing else would replace the pod.
void NoteRequestedRestart(Walk& walk) {
  const bool requested = walk.Remove(&NodeMarks::upgrade_requested);
  if (!requested && walk.driver.failing == nullptr) return;
  if (!walk.driver.to_restart.empty()) return;  // a driver pod is replaced anyway
  const Pod* restart = walk.driver.failing;
  for (const Pod& pod : walk.view.driver_pods) {
    if (restart == nullptr && !pod.deletion_timestamp) restart = &pod;
  }
  if (restart == nullptr) return;
  walk.Write(&NodeMarks::restart_pod, restart->ref.uid);
  walk.AssessDriver();
}

// Records the labels that decide the node's engine, stage and group, except for the state label, which the upgrade
// changes.
void NoteRolloutLabels(Walk& walk) {
  const StringMap known = internal::RolloutLabels(walk.view.node, walk.before());
  std::set<std::string> keys(walk.in.policy.rollout_labels.begin(), walk.in.policy.rollout_labels.end());
  keys.insert(walk.in.options.selector_keys.begin(), walk.in.options.selector_keys.end());
  keys.erase(walk.in.identity.StateLabel());
  std::vector<std::string> labels;
  for (const std::string& key : keys) {
    const auto label = known.find(key);
    labels.push_back(label == known.end() ? key : fmt::format("{}={}", key, label->second));
  }
  if (labels.empty()) {
    walk.Remove(&NodeMarks::rollout_labels);
  } else {
    walk.Write(&NodeMarks::rollout_labels, fmt::format("{}", fmt::join(labels, ",")));
  }
}

// Returns the candidate for the node. The requirements of the candidate exclude slots and headroom that an earlier
// admission with an unknown outcome has already taken.
Candidate CandidateOf(const Walk& walk, const internal::Cordon& cordon) {
  const Tally& own = walk.verdict.tally;
  const bool outside =
      cordon.kind == internal::CordonKind::kAdministrator && walk.in.policy.cordoned_nodes == CordonedNodes::kProceed;
  const bool available = cordon.kind == internal::CordonKind::kNone;
  const bool out_of_use = internal::IsOutOfUse(walk.view, walk.in.policy);
  const bool admitted_before = available && !out_of_use && own.unavailable > 0;
  // If an administrator requests the upgrade of a node that is NotReady, the upgrade is a repair, and must not wait for
  // headroom that the node itself takes.
  const bool is_repair = !walk.view.node.ready && walk.after().upgrade_requested.value();
  return {
      .needs_slot = !outside && own.slots == 0,
      .needs_headroom = available && !admitted_before && !is_repair,
      .takes_headroom = available && own.unavailable == 0,
      .own_node = walk.view.node.name == walk.in.options.own_node,
  };
}

// Returns true if a patch that started the upgrade may have been applied. Such a node continues like any node in
// progress.
bool MayHaveStarted(const Walk& walk) {
  return walk.read_state() == UpgradeState::kUpgradeRequired && walk.verdict.tally.slots > 0;
}

// Returns true if a waiting node no longer needs an upgrade: its driver works and is up to date although its upgrade
// has not started. This happens if the DaemonSet was changed back to the old template, or if another replica labeled
// the node based on older data. A failed node keeps waiting for its next attempt.
bool IsUpToDate(const Walk& walk) {
  const NodeMarks& marks = walk.after();
  const bool has_failed = marks.failed_revision.present() || marks.failures.present();
  const bool is_cordoned_since = marks.unschedulable && !internal::WasInitiallyUnschedulable(marks);
  const bool has_begun = MayHaveStarted(walk) || is_cordoned_since || marks.cordoned_by.present() ||
                         walk.IsolatesDevices() || walk.InRequestorMode() || ClaimsMaintenance(walk);
  return walk.driver.ready && walk.driver.to_restart.empty() && UpgradeReason(walk).empty() && !has_failed &&
         !has_begun;
}

// Returns true if an attempt to load the driver that the node has failed, but no other attempt is needed: the driver is
// Ready, and has been validated.
bool HasReloaded(Walk& walk) {
  const NodeMarks& marks = walk.after();
  const bool has_failed = marks.reload_only.present() && marks.failures.present();
  if (!has_failed || marks.upgrade_requested.value() || walk.AwaitsSafeLoad() || MayHaveStarted(walk)) return false;
  if (!walk.driver.ready || !walk.driver.to_restart.empty()) return false;
  if (!walk.in.options.validation_selector) return true;
  const std::vector<Pod>* pods = walk.ReadPods();
  return pods != nullptr && Validate(walk, *pods).passed;
}

// Returns a candidate without requirements, because the maintenance operator has its own budgets (T10).
Candidate RequestorCandidate(const Walk& walk) {
  return {.needs_slot = false,
          .needs_headroom = false,
          .takes_headroom = false,
          .own_node = walk.view.node.name == walk.in.options.own_node};
}

// Returns true if the node's driver waits to be loaded, or an earlier attempt to load it has failed.
bool AwaitsLoad(const Walk& walk) { return walk.AwaitsSafeLoad() || walk.after().reload_only.present(); }

// Returns the taint that would keep the driver pod from being replaced; empty if there is no such taint.
std::string TaintAgainstDriver(const Walk& walk) {
  if (walk.view.node.taints.empty()) return "";
  std::vector<const DaemonSet*> daemon_sets;
  for (const auto& [uid, set] : walk.in.driver.daemon_sets) daemon_sets.push_back(&set.daemon_set);
  return internal::TaintAgainstAll(daemon_sets, walk.view.node);
}

// Returns the gate of a node that cannot start, regardless of the limits; nullopt if the node can start.
std::optional<Gate> WhyUnfit(const Walk& walk) {
  if (MayHaveStarted(walk)) return std::nullopt;
  const Node& node = walk.view.node;
  if (std::string why = internal::WhyLeaving(node); !why.empty()) {
    return Gate{.reason = GateReason::kNodeLeaves, .detail = std::move(why)};
  }
  // If the upgrade has already started, the driver may be the reason why the node is NotReady, and another attempt or
  // another revision can repair the node.
  const bool has_started =
      internal::IsIsolated(walk.before(), walk.in.identity) || walk.before().failed_revision.present();
  const bool is_repair = walk.after().upgrade_requested.value() || has_started;
  std::string why = internal::WhyNotReady(node);
  if (why.empty()) why = internal::WhyDegraded(node);
  if (!why.empty() && !is_repair) {
    std::string detail = fmt::format("{}; repair the node", why);
    // A request does not start a node that is about to be rebooted.
    if (internal::WhyMachineConfig(node).empty()) {
      detail +=
          fmt::format(", or start it anyway with the annotation {}=true", internal::KeyOfRequest(walk.in.identity));
    }
    return Gate{.reason = GateReason::kNodeNotReady, .detail = std::move(detail)};
  }
  // A driver that waits to be loaded needs no new pod.
  if (const std::string taint = TaintAgainstDriver(walk); !taint.empty() && !is_repair && !AwaitsLoad(walk)) {
    return Gate{.reason = GateReason::kNodeTainted,
                .detail = fmt::format("the driver's DaemonSet does not tolerate the taint {}; remove the taint, add a "
                                      "toleration, or start the node anyway with the annotation {}=true",
                                      taint, internal::KeyOfRequest(walk.in.identity))};
  }
  if (std::string work = internal::WhyMachineConfig(node); !work.empty()) {
    return Gate{.reason = GateReason::kMachineConfig, .detail = std::move(work)};
  }
  // These programs may need the driver: NVIDIA's network operator runs the daemon of the SR-IOV network operator only
  // while the OFED driver is Ready. A driver that waits to be loaded, or whose upgrade has failed, therefore must not
  // wait for them.
  if (const std::string work = internal::WhyReconfigured(node); !work.empty() && !is_repair && !walk.AwaitsSafeLoad()) {
    return Gate{.reason = GateReason::kOtherDriver,
                .detail = fmt::format("{}; wait until it has finished, or start the node anyway with the annotation "
                                      "{}=true",
                                      work, internal::KeyOfRequest(walk.in.identity))};
  }
  return std::nullopt;
}

// T8: returns false if the node must be evacuated in any case, for example because the upgrade was requested explicitly
// or the driver waits to be loaded.
bool MayRestartOnly(const Walk& walk) {
  return walk.driver.out_of_date && !walk.driver.orphaned && !walk.AwaitsSafeLoad() &&
         !walk.after().upgrade_requested.value();
}

Progress RestartOnly(Walk& walk) {
  walk.HoldCordon();
  walk.SetRestartsOnly();
  return walk.Enter(UpgradeState::kPodRestartRequired, "the driver pod needs only a restart");
}

// Keeps the driver pods of the node, so that they load the driver again after a reboot. This also fulfills an earlier
// request to restart a pod.
void KeepDriverPods(Walk& walk) {
  walk.Remove(&NodeMarks::restart_pod);
  std::set<std::string> revisions;
  for (const Pod& pod : walk.view.driver_pods) revisions.emplace(RevisionHash(pod));
  walk.Write(&NodeMarks::reload_only, fmt::format("{}", fmt::join(revisions, ",")));
  walk.AssessDriver();
}

// Returns true if the marks or claims on the node show that its upgrade was interrupted.
bool WasInterrupted(const Walk& walk) {
  const NodeMarks& marks = walk.after();
  return internal::IsIsolated(marks, walk.in.identity) || walk.InRequestorMode() || ClaimsMaintenance(walk) ||
         (marks.unschedulable && internal::WasInitiallyUnschedulable(marks));
}

// Keeps a node without a state label from entering upgrade-done after an interrupted upgrade until its driver is
// confirmed to work. Returns nullopt if the driver is confirmed to work, or if no upgrade was interrupted.
std::optional<Progress> WaitForProof(Walk& walk) {
  if (walk.driver.none || !WasInterrupted(walk)) return std::nullopt;
  if (const Pod* terminating = walk.driver.terminating) {
    return walk.Wait({.reason = GateReason::kDriverPodTerminating,
                      .detail = fmt::format("{} is terminating", terminating->ref.ToString()),
                      .subject = PodSubject(terminating->ref)});
  }
  // An orphaned pod that is Ready also confirms that the driver works, because such a pod alone is not a reason for an
  // upgrade (T2).
  if (const Pod* unready = internal::UnreadyDriverPod(walk.view)) {
    return walk.Wait({.reason = GateReason::kDriverPodNotReady,
                      .detail = fmt::format("{} is not ready", unready->ref.ToString()),
                      .subject = PodSubject(unready->ref)});
  }
  if (!walk.in.options.validation_selector) return std::nullopt;
  const std::vector<Pod>* pods = walk.ReadPods();
  if (pods == nullptr) return walk.WaitForPods(absl::InfiniteFuture());
  Validation validation = Validate(walk, *pods);
  if (validation.passed) return std::nullopt;
  const absl::Time due = RestartEarly(walk, validation);
  return walk.Wait(GateReason::kValidation, std::move(validation.missing), due);
}

}  // namespace

void NoteForeignCordon(Walk& walk) {
  const NodeMarks& marks = walk.before();
  if (marks.HasLabel() || !marks.unschedulable || walk.InRequestorMode() || !IsInProgress(walk.state())) return;
  if (internal::IsInCordonSet(marks, walk.in.identity)) return;
  const internal::Cordon cordon = internal::ReadCordon(walk.view.node, walk.in.identity);
  if (cordon.kind == internal::CordonKind::kAdministrator) walk.Write(&NodeMarks::initially_unschedulable, Flag{});
}

Progress RequireUpgrade(Walk& walk, std::string reason) {
  NoteInitialState(walk, internal::ReadCordon(walk.view.node, walk.in.identity));
  return walk.Enter(UpgradeState::kUpgradeRequired, std::move(reason));
}

// T1: unknown | done -> upgrade-required. T2: unknown -> done. T3: done -> done.
Progress LeaveUnknownOrDone(Walk& walk) {
  if (std::string reason = UpgradeReason(walk); !reason.empty()) {
    return RequireUpgrade(walk, std::move(reason));
  }
  if (walk.driver.unknown) return walk.Wait(GateReason::kRevisionUnknown, walk.driver.why_unknown);
  if (walk.state() == UpgradeState::kUnknown) {
    if (const auto unproved = WaitForProof(walk)) return *unproved;
  }
  // Releases a claim left by an interrupted upgrade (defect-D18).
  const std::optional<Progress> releasing = ReleaseMaintenance(walk);
  if (walk.state() == UpgradeState::kDone) {
    if (releasing) walk.Note(FindingCode::kClaimLeftBehind, walk.verdict.gate->detail);
    walk.verdict.gate.reset();
    return walk.Rest();
  }
  if (releasing) return *releasing;
  if (walk.driver.none) return walk.Wait(GateReason::kDriverPodMissing, walk.WhyNoDriverPod());
  return EnterDone(walk, "the driver pod is up to date");
}

// T4-T10: upgrade-required -> cordon-required | pod-restart-required with a slot, -> node-maintenance-required, or back
// to upgrade-done.
Progress LeaveUpgradeRequired(Walk& walk) {
  const DriverIdentity& identity = walk.in.identity;
  if (IsUpToDate(walk)) return EnterDone(walk, "the driver pod is up to date");
  if (HasReloaded(walk)) return EnterDone(walk, "the driver recovered");
  if (walk.after().skip_upgrade.value()) {
    return walk.Wait(GateReason::kSkipLabel, fmt::format("label {}=true", identity.SkipUpgradeLabel()));
  }
  if (std::optional<Gate> unfit = WhyUnfit(walk)) return walk.Wait(*std::move(unfit));
  if (walk.driver.none) return walk.Wait(GateReason::kDriverPodMissing, walk.WhyNoDriverPod());
  if (walk.driver.unknown) return walk.Wait(GateReason::kRevisionUnknown, walk.driver.why_unknown);
  const internal::Cordon cordon = internal::ReadCordon(walk.view.node, identity);
  const bool by_request = walk.requestor && walk.in.options.requestor->enabled;
  // A driver that waits to be loaded must not wait for an evacuated rival, whose pod may wait for this driver: a GPU
  // driver pod waits until the OFED driver is loaded (k8s-driver-manager#123).
  const bool rival_may_wait = walk.AwaitsSafeLoad() && !cordon.rival_evacuates;
  if (cordon.rival && !by_request && !rival_may_wait) {
    return walk.Wait({.reason = GateReason::kOtherDriver,
                      .detail = fmt::format("{} is being upgraded on the node", *cordon.rival),
                      .subject = GateSubject(GateSubjectKind::kDriver, "", *cordon.rival)});
  }
  if (cordon.stale_names_only) {
    walk.Note(FindingCode::kForeignCordon,
              "the cordon does not name a driver whose upgrade is in progress; it is treated as an administrator's");
  }
  if (!by_request) {
    if (const auto releasing = ReleaseMaintenance(walk)) return *releasing;  // if requestor mode was switched off (H16)
    walk.Remove(&NodeMarks::requestor_mode);
  }
  // The maintenance operator cordons nodes that we claim, even if our requestor-mode annotation was lost.
  const bool evacuated_for_us = walk.InRequestorMode() || ClaimsMaintenance(walk);
  if (cordon.kind == internal::CordonKind::kAdministrator && walk.in.policy.cordoned_nodes == CordonedNodes::kIgnore &&
      !evacuated_for_us) {
    const std::string_view owner = internal::ForeignCordonOwner(walk.view.node).value_or("an administrator");
    return walk.Wait(GateReason::kCordoned, fmt::format("{} cordoned the node", owner));
  }
  const bool may_restart_only = !by_request && MayRestartOnly(walk);
  if (may_restart_only && !walk.view.restart_only_error.empty()) {
    return walk.Wait(GateReason::kHook, walk.view.restart_only_error, NextRead(walk.in.now));
  }
  if (std::string why = by_request || (may_restart_only && walk.view.restart_only) ? "" : WhyUnfitForDevices(walk);
      !why.empty()) {
    return walk.Wait(GateReason::kDevicesUnfit, std::move(why));
  }
  const Candidate candidate = by_request ? RequestorCandidate(walk) : CandidateOf(walk, cordon);
  if (!walk.admitted) {
    walk.verdict.candidate = candidate;
    return walk.Rest();
  }
  walk.verdict.plan.needs_grant = candidate.needs_slot || candidate.needs_headroom;
  NoteInitialState(walk, cordon);
  // The pods are also kept if they could not be replaced.
  const bool is_tainted = AwaitsLoad(walk) && !walk.after().upgrade_requested.value() &&
                          !TaintAgainstDriver(walk).empty() && !walk.before().failed_revision.present();
  const bool keeps_pods = walk.reload_only || is_tainted;
  if (keeps_pods) {
    KeepDriverPods(walk);
  } else {
    // The failures of the driver that the node had do not count against the new driver.
    if (walk.Remove(&NodeMarks::reload_only)) {
      walk.Remove(&NodeMarks::failures);
      walk.AssessDriver();
    }
    NoteRequestedRestart(walk);
  }
  walk.Remove(&NodeMarks::drain_start);
  walk.Remove(&NodeMarks::failed_revision);
  walk.Remove(&NodeMarks::failure_class);
  walk.Remove(&NodeMarks::failure_cause);
  walk.Remove(&NodeMarks::restart_only);
  if (walk.unit.empty()) {
    walk.Remove(&NodeMarks::unit);
  } else {
    walk.Write(&NodeMarks::unit, std::string(walk.unit));
  }
  NoteRolloutLabels(walk);
  if (by_request) return RequestMaintenance(walk);
  if (may_restart_only && walk.view.restart_only) return RestartOnly(walk);
  ChooseScope(walk);
  return walk.Enter(UpgradeState::kCordonRequired, keeps_pods ? "admitted to load the driver that it has" : "admitted");
}

}  // namespace driverupgrade
