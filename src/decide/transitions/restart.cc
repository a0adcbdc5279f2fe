// Handles pod-restart-required, validation-required and upgrade-failed: replaces and validates the driver, and handles
// nodes on which the upgrade failed.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/backoff.h"
#include "decide/attempt_log.h"
#include "decide/gate_subject.h"
#include "decide/rollout/failures.h"
#include "decide/transitions/walk.h"
#include "fmt/format.h"
#include "model/container_trouble.h"

namespace driverupgrade {
namespace {

constexpr absl::Duration kRetryBackoffMax = absl::Hours(24);

// The progress of a node's evacuation, and the treatment of pods that must still leave.
struct Evacuation {
  enum class Status { kDone, kEvicting, kUnread, kStuck };
  Status status = Status::kDone;
  std::vector<const Pod*> pods = {};
  EvictionRound round = {};
  OnTimeout on_timeout = OnTimeout::kFail;
  OnFailure on_failure = OnFailure::kFail;
  // Set if `status` is kStuck: the obstacle that the engine cannot remove itself.
  Gate stuck = {};
  bool done() const { return status == Status::kDone; }
  std::string Remaining(const Walk& walk) const {
    return status == Status::kStuck ? stuck.detail : walk.drains.Remaining(pods, walk.view, walk.in.now);
  }
};

Evacuation Stuck(Gate gate, OnFailure on_failure) {
  return {.status = Evacuation::Status::kStuck, .on_failure = on_failure, .stuck = std::move(gate)};
}

// Returns the onFailure setting that applies to the node. If the policy contains a drain, the drain's setting applies,
// because the drain comes last.
OnFailure OnFailureOf(const JudgeContext& in) {
  if (in.policy.drain) return in.policy.drain->on_failure;
  const std::optional<PodDeletionPolicy> deletion = PodDeletion(in);
  return deletion ? deletion->on_failure : OnFailure::kFail;
}

// Evicts the pods that must leave before the driver is replaced, under the same rules as in the evacuation: pod
// deletion, or the drain as its fallback (T25). `spares_pending`: leaves pods in the phase Pending on the node.
Evacuation Evacuate(Walk& walk, bool spares_pending = false) {
  if (!EvacuationTimeout(walk.in)) return {};
  const std::vector<Pod>* pods = walk.KnownPods();
  if (pods == nullptr) return {.status = Evacuation::Status::kUnread};
  if (!walk.view.hook_errors.empty()) {
    const auto& [pod, error] = *walk.view.hook_errors.begin();
    return Stuck({.reason = GateReason::kHook, .detail = fmt::format("{}: {}", pod, error)}, OnFailureOf(walk.in));
  }
  Evacuation result;
  result.on_failure = OnFailureOf(walk.in);
  PodSelection selection;
  const std::optional<PodDeletionPolicy> deletion = PodDeletion(walk.in);
  if (deletion) {
    selection = walk.pods.SelectForDeletion(walk.view, *deletion, walk.drains);
    result.on_timeout = deletion->on_timeout;
  }
  if (walk.in.policy.drain && !walk.IsolatesDevices() && (!deletion || !selection.blocked.empty())) {
    selection = walk.SelectForDrain(*pods);
    result.on_timeout = walk.in.policy.drain->on_timeout;
  }
  if (walk.InRequestorMode()) {
    std::erase_if(selection.evict, [](const Pod* pod) { return internal::IsMaintenanceOperator(*pod); });
    std::erase_if(selection.blocked, [](const auto& blocked) { return internal::IsMaintenanceOperator(*blocked.pod); });
  }
  if (spares_pending) {
    std::erase_if(selection.evict, [](const Pod* pod) { return pod->phase == PodPhase::kPending; });
    std::erase_if(selection.blocked, [](const auto& blocked) { return blocked.pod->phase == PodPhase::kPending; });
  }
  if (!selection.blocked.empty()) {
    const PodSelection::Blocked& blocked = selection.blocked.front();
    return Stuck({.reason = GateReason::kUndeletablePods,
                  .detail = fmt::format("{} {}", blocked.pod->ref.ToString(), blocked.why),
                  .subject = PodSubject(blocked.pod->ref)},
                 result.on_failure);
  }
  result.pods = std::move(selection.evict);
  result.round = walk.drains.Pace(result.pods, walk.view, walk.in.now);
  std::erase_if(result.pods, [&](const Pod* pod) { return DrainManager::IsGone(*pod, walk.view.node, walk.in.now); });
  result.status = result.round.finished ? Evacuation::Status::kDone : Evacuation::Status::kEvicting;
  absl::Time due = absl::InfiniteFuture();
  if (!result.done() || spares_pending) return result;
  if (std::optional<Gate> in_use = WhyDevicesInUse(walk, due)) return Stuck(*std::move(in_use), result.on_failure);
  return result;
}

// Returns true if the pods arrived after the node was evacuated; the evacuation deadline does not apply to such pods.
// Returns false once the eviction of a pod has been requested, or if all pods have exceeded their grace period. A pod
// that never leaves thus cannot block the node indefinitely.
bool AreNewcomers(const Walk& walk, const std::vector<const Pod*>& pods) {
  const auto tried = [&](const Pod* pod) { return walk.view.attempts.pods.contains(pod->ref.uid); };
  const auto overstays = [&](const Pod* pod) {
    return pod->deletion_timestamp && *pod->deletion_timestamp <= walk.in.now;
  };
  return std::none_of(pods.begin(), pods.end(), tried) && !std::all_of(pods.begin(), pods.end(), overstays);
}

// Evicts pods that arrived on the node after the evacuation. The evacuation timeout applies (dep-F8), but starts when
// the pods arrive, because the node may have entered pod-restart-required long ago.
Progress EvictNewcomers(Walk& walk, Evacuation evacuation) {
  const absl::Duration timeout = *EvacuationTimeout(walk.in);
  if (evacuation.status == Evacuation::Status::kUnread) return walk.WaitForPods(absl::InfiniteFuture());
  absl::Time deadline = walk.Deadline(timeout);
  const bool evicting = evacuation.status == Evacuation::Status::kEvicting;
  // For pods whose eviction is requested in this pass, the timeout starts now, unless the engine has just become
  // active, because it may have requested the evictions before its restart.
  const auto leaves = [](const Pod* pod) { return pod->deletion_timestamp.has_value(); };
  const bool asked_now =
      walk.in.now > walk.in.active_since && !std::all_of(evacuation.pods.begin(), evacuation.pods.end(), leaves);
  if (evicting && AreNewcomers(walk, evacuation.pods) && (asked_now || walk.Expired(deadline))) {
    walk.RestartStage(timeout);
    deadline = walk.Deadline(timeout);
  }
  if (walk.Expired(deadline)) {
    if (evicting && walk.DeletesOverdue(evacuation.on_timeout, evacuation.pods, deadline)) {
      return walk.DeleteOverdue(evacuation.on_timeout, evacuation.pods, std::move(evacuation.round), deadline);
    }
    return walk.FailEvacuation(evacuation.on_failure, "Failed to drain the node",
                               fmt::format("pods returned to the node and did not leave within {} s: {}",
                                           absl::ToInt64Seconds(timeout), evacuation.Remaining(walk)));
  }
  const bool fails = evacuation.on_timeout == OnTimeout::kFail;
  if (evicting && walk.in.policy.drain) walk.NoteDrainStart(evacuation.pods);
  if (evicting) return walk.Evict(std::move(evacuation.round), deadline, fails ? deadline : absl::InfiniteFuture());
  evacuation.stuck.fails_at = Finite(deadline);
  return walk.Wait(std::move(evacuation.stuck), std::min(deadline, NextRead(walk.in.now)));
}

// Returns the driver pod for which the node waits: a pod that must be replaced, is terminating, or is not ready.
// Returns nullptr if there is no such pod.
const Pod* PodInQuestion(const DriverPods& driver) {
  if (!driver.to_restart.empty()) return driver.to_restart.front();
  return driver.terminating != nullptr ? driver.terminating : driver.not_ready;
}

Progress WaitForDriver(Walk& walk, GateReason reason, std::string detail, absl::Time due = absl::InfiniteFuture()) {
  const absl::Duration timeout = walk.in.policy.deadlines.pod_restart.value_or(absl::InfiniteDuration());
  const absl::Time deadline = walk.Deadline(timeout);
  if (walk.Expired(deadline)) {
    walk.verdict.plan.remove.clear();
    return walk.Fail("Failed to restart driver pod",
                     fmt::format("not ready after {} s: {}", absl::ToInt64Seconds(timeout), detail));
  }
  Gate gate{.reason = reason, .detail = std::move(detail)};
  gate.fails_at = Finite(deadline);
  if (const Pod* pod = PodInQuestion(walk.driver)) gate.subject = PodSubject(pod->ref);
  return walk.Wait(std::move(gate), std::min(deadline, due));
}

bool IsToBeEvacuated(const Walk& walk) { return !walk.RestartsOnly() && EvacuationTimeout(walk.in); }

// Plans the deletions that are due, without repeating a deletion in flight. Sets `detail` to the message of a failed
// deletion. Returns the time at which the next deletion is due.
absl::Time DeletePods(Walk& walk, const std::vector<const Pod*>& pods, std::string& detail) {
  absl::Time due = absl::InfiniteFuture();
  for (const Pod* pod : pods) {
    const auto attempt = walk.view.attempts.pods.find(pod->ref.uid);
    const bool tried = attempt != walk.view.attempts.pods.end();
    const absl::Time next = tried ? internal::NextPodRequestDue(attempt->second, pod->ref.uid) : walk.in.now;
    if (next <= walk.in.now) {
      walk.verdict.plan.remove.push_back(pod->ref);
    } else {
      due = std::min(due, next);
      if (!attempt->second.message.empty())
        detail = fmt::format("{}: {}", pod->ref.ToString(), attempt->second.message);
    }
  }
  return due;
}

// Plans the deletions of the driver pods. Returns the gate's detail, and the time at which the next deletion is due.
std::pair<std::string, absl::Time> DeleteDriverPods(Walk& walk) {
  std::string detail = fmt::format("{} must be replaced", walk.driver.to_restart.front()->ref.ToString());
  const absl::Time due = DeletePods(walk, walk.driver.to_restart, detail);
  // A deletion has no precondition on the node, so the patch confirms that the node is still cordoned and, if pods
  // count as lost, still NotReady.
  if (IsToBeEvacuated(walk) && !walk.verdict.plan.remove.empty()) walk.ConfirmNode();
  return {std::move(detail), due};
}

// T37: evacuates the node if necessary, and then deletes the driver pods.
Progress RestartDriverPods(Walk& walk) {
  if (IsToBeEvacuated(walk)) {
    if (Evacuation evacuation = Evacuate(walk); !evacuation.done()) return EvictNewcomers(walk, std::move(evacuation));
  }
  auto [detail, due] = DeleteDriverPods(walk);
  return WaitForDriver(walk, GateReason::kDriverPodTerminating, std::move(detail), due);
}

// T39, T43: lets the driver load once the node is evacuated. Returns nullopt if the driver no longer waits.
std::optional<Progress> UnblockSafeLoad(Walk& walk) {
  if (!walk.AwaitsSafeLoad()) return std::nullopt;
  if (Evacuation evacuation = Evacuate(walk); !evacuation.done()) return EvictNewcomers(walk, std::move(evacuation));
  SafeLoadManager::Unblock(walk.Edit());
  return std::nullopt;
}

// Evicts pods that have started to use a device since the driver pod was deleted, because the new driver pod waits for
// them to leave. Spares pods that have not started, because they are waiting for the device plugin. Returns nullopt if
// no pod must be evicted.
std::optional<Progress> EvictLateHolders(Walk& walk) {
  if (!walk.IsolatesDevices()) return std::nullopt;
  Evacuation late = Evacuate(walk, /*spares_pending=*/true);
  if (late.done() || late.status == Evacuation::Status::kUnread) return std::nullopt;
  return EvictNewcomers(walk, std::move(late));
}

// dep-F3: the driver of a failed node is not loaded while workloads run, and no pod is evicted to allow the driver to
// load.
std::optional<Progress> UnblockSafeLoadOfFailed(Walk& walk) {
  if (!walk.AwaitsSafeLoad()) return std::nullopt;
  if (!walk.after().unschedulable && !walk.IsolatesDevices()) {
    return walk.Wait(GateReason::kSafeLoad, "the node is not cordoned");
  }
  if (const Evacuation evacuation = Evacuate(walk); !evacuation.done()) {
    if (evacuation.status == Evacuation::Status::kStuck)
      return walk.Wait(
          {.reason = GateReason::kSafeLoad, .detail = evacuation.stuck.detail, .subject = evacuation.stuck.subject});
    if (evacuation.pods.empty())
      return walk.Wait(GateReason::kSafeLoad, "its pods have not been read", NextRead(walk.in.now));
    const PodRef& pod = evacuation.pods.front()->ref;
    return walk.Wait({.reason = GateReason::kSafeLoad,
                      .detail = fmt::format("{} pods must still leave the node, for example {}", evacuation.pods.size(),
                                            pod.ToString()),
                      .subject = PodSubject(pod)},
                     evacuation.round.gate.not_before.value_or(absl::InfiniteFuture()));
  }
  SafeLoadManager::Unblock(walk.Edit());
  return std::nullopt;
}

// Returns the time at which the last of the node's driver pods became ready. Validation pods that became ready earlier
// may have validated the old driver.
std::optional<absl::Time> DriverReadySince(const NodeView& view) {
  std::optional<absl::Time> since;
  for (const Pod& pod : view.driver_pods) since = std::max(since, pod.ready_since);
  return since;
}

// Returns why the driver pod `name` is not ready. Reports a finding if the pod cannot start.
std::string WhyNotReady(Walk& walk, std::string_view name) {
  const Pod* pod = walk.driver.not_ready;
  const std::string error = pod == nullptr ? "" : internal::StartError(*pod);
  if (error.empty()) return fmt::format("{} is not ready", name);
  walk.Note(FindingCode::kDriverPodCannotStart, fmt::format("driver pod {}: {}", pod->ref.ToString(), error));
  return fmt::format("{} is not ready: {}", name, error);
}

}  // namespace

Validation Validate(const Walk& walk, const std::vector<Pod>& pods) {
  return ValidationManager(*walk.in.options.validation_selector, walk.in.options.early_validation)
      .Evaluate(pods, DriverReadySince(walk.view));
}

absl::Time RestartEarly(Walk& walk, Validation& validation) {
  if (walk.in.options.early_validation != EarlyValidation::kRestart) return absl::InfiniteFuture();
  std::erase_if(validation.early, [](const Pod* pod) { return ControllerOf(*pod) == nullptr; });
  return DeletePods(walk, validation.early, validation.missing);
}

void RestartOnEntry(Walk& walk) {
  if (walk.driver.none || walk.driver.unknown || walk.driver.to_restart.empty()) return;
  walk.HoldCordon();
  if (DevicesAreOpen(walk)) return;
  if (!IsToBeEvacuated(walk) || Evacuate(walk).done()) DeleteDriverPods(walk);
}

// T37-T39: pod-restart-required -> validation-required | uncordon-required | upgrade-done | upgrade-failed.
Progress LeavePodRestart(Walk& walk) {
  walk.HoldCordon();
  const DriverPods& driver = walk.driver;
  // The mark was set for another target or for other pods. It is removed, because it would apply again if the target
  // changed back.
  if (!driver.wanted_revision.empty() && !walk.RestartsOnly()) {
    walk.Remove(&NodeMarks::restart_only);
  }
  if (driver.none) return WaitForDriver(walk, GateReason::kDriverPodMissing, walk.WhyNoDriverPod(" yet"));
  if (driver.unknown) return WaitForDriver(walk, GateReason::kRevisionUnknown, driver.why_unknown);
  if (!driver.to_restart.empty()) {
    if (DevicesAreOpen(walk)) return walk.Wait(GateReason::kDevicesTainted, "the devices must be tainted first");
    return RestartDriverPods(walk);
  }
  if (driver.terminating != nullptr) {
    return WaitForDriver(walk, GateReason::kDriverPodTerminating,
                         fmt::format("{} is terminating", driver.terminating->ref.ToString()));
  }
  if (const auto stopped = UnblockSafeLoad(walk)) return *stopped;
  if (!driver.ready) {
    if (const auto stopped = EvictLateHolders(walk)) return *stopped;
  }
  if (driver.ready) {
    absl::Time due = absl::InfiniteFuture();
    if (std::string why = WhyDevicesMissing(walk, due); !why.empty()) {
      return WaitForDriver(walk, GateReason::kDevicesMissing, std::move(why), due);
    }
    if (walk.in.options.validation_selector)
      return walk.Enter(UpgradeState::kValidationRequired, "the driver is ready");
    return FinishUpgrade(walk, "the driver is ready");
  }
  if (driver.failing != nullptr) {
    return walk.Fail("Failed to restart driver pod",
                     fmt::format("{} keeps restarting", driver.failing->ref.ToString()));
  }
  std::string why = WhyNotReady(walk, driver.not_ready->ref.ToString());
  if (const std::string crashing = internal::Crashing(*driver.not_ready); !crashing.empty()) why += ": " + crashing;
  return WaitForDriver(walk, GateReason::kDriverPodNotReady, std::move(why));
}

// Retries a failed node that has not recovered, after a pause and as often as the policy allows (`retry`).
Progress RetryOrWait(Walk& walk, std::string why) {
  const RetryPolicy& retry = walk.in.policy.retry;
  const Failures failures = walk.PastFailures();
  if (failures.count == 0 || failures.count > retry.max_attempts) {
    return walk.Wait(GateReason::kFailed, std::move(why));
  }
  const absl::Duration backoff = internal::Doubled(retry.backoff, kRetryBackoffMax, failures.count);
  const absl::Time due = failures.last + backoff;
  std::string detail = fmt::format("retry {} of {}", failures.count, retry.max_attempts);
  if (walk.Expired(due)) return RequireUpgrade(walk, std::move(detail));
  return walk.Wait(GateReason::kFailed, fmt::format("{}; {} follows", why, detail), due);
}

// Returns true if another attempt of a node that could not load its driver is due. The rollout may admit the upgrade of
// the node by now. The pauses grow.
bool IsReloadDue(Walk& walk) {
  const Failures failures = walk.PastFailures();
  if (!walk.after().reload_only.present() || failures.count == 0) return false;
  const absl::Time due =
      failures.last + internal::Doubled(walk.in.policy.retry.backoff, kRetryBackoffMax, failures.count);
  if (walk.Expired(due)) return true;
  walk.WakeAt(due);
  return false;
}

// T40-T42 with dep-F2 and dep-F3: upgrade-failed -> upgrade-required with a new revision or for a retry; ->
// validation-required | uncordon-required | upgrade-done once the driver is ready.
Progress LeaveFailed(Walk& walk) {
  const std::string& wanted = walk.driver.wanted_revision;
  const std::optional<std::string>& failed = walk.after().failed_revision.value();
  if (!wanted.empty() && failed && *failed != wanted) {
    walk.Remove(&NodeMarks::failures);
    return RequireUpgrade(walk, fmt::format("revision {} is new", wanted));
  }
  if (IsReloadDue(walk)) return RequireUpgrade(walk, "the driver that the node has must still be loaded");
  // A node that the Go library set to upgrade-failed has neither a failed revision nor a count of failures, so the
  // engine assumes that the node has just failed at this revision.
  if (!wanted.empty()) walk.Write(&NodeMarks::failed_revision, wanted);
  if (walk.PastFailures().count == 0) {
    if (const std::optional<std::string_view> text = walk.after().failures.text()) {
      walk.Note(FindingCode::kTimerRestarted,
                fmt::format("the count of failures starts again: `{}` is not a valid count", *text));
    }
    walk.WriteFailures({.count = 1, .last = walk.in.now});
  }
  if (!walk.driver.InSync()) {
    std::string why = walk.driver.unknown ? walk.driver.why_unknown : "the driver pod is missing or out of date";
    if (internal::IsGivenBack(walk.before(), walk.in.identity)) {
      why = "the node could not be evacuated, and is in service with its old driver";
    }
    return RetryOrWait(walk, std::move(why));
  }
  if (const auto stopped = UnblockSafeLoadOfFailed(walk)) return *stopped;
  if (!walk.driver.ready) return RetryOrWait(walk, WhyNotReady(walk, "the driver pod"));
  // A failed node may be without a slot, so it must not leave this state while it still has to wait for something.
  if (walk.IsolatesDevices()) {
    if (const auto releasing = ReleaseRules(walk)) return *releasing;
  }
  if (!walk.in.options.validation_selector) return FinishUpgrade(walk, "the driver recovered");
  // The node enters validation-required only when its validation pods are ready. Without this check, a node whose
  // validation failed would fail again and again.
  const std::vector<Pod>* pods = walk.ReadPods();
  if (pods == nullptr) return walk.WaitForPods(absl::InfiniteFuture());
  Validation validation = Validate(walk, *pods);
  if (!validation.passed) return RetryOrWait(walk, std::move(validation.missing));
  return walk.Enter(UpgradeState::kValidationRequired, "the driver recovered");
}

// T43-T47: validation-required -> uncordon-required | upgrade-done | upgrade-failed.
Progress LeaveValidation(Walk& walk) {
  if (!walk.in.options.validation_selector) return FinishUpgrade(walk, "validation is off");
  // Validation pods claim devices, so the taint would stop them.
  if (walk.IsolatesDevices() && !walk.in.policy.isolation.validator_tolerates) walk.CordonInstead();
  walk.HoldCordon();
  const absl::Duration timeout = walk.in.policy.deadlines.validation;
  const absl::Time deadline = walk.Deadline(timeout);
  if (const auto stopped = UnblockSafeLoad(walk)) return *stopped;
  if (!walk.IsolatesDevices()) {
    if (const auto releasing = ReleaseRules(walk)) return *releasing;
  }
  Validation validation{.missing = "the node's pods have not been read"};
  if (const std::vector<Pod>* pods = walk.KnownPods()) validation = Validate(walk, *pods);
  if (validation.passed) return FinishUpgrade(walk, "validated");
  if (walk.Expired(deadline)) {
    return walk.Fail("Failed to validate the driver",
                     fmt::format("not valid after {} s: {}", absl::ToInt64Seconds(timeout), validation.missing));
  }
  const absl::Time due = RestartEarly(walk, validation);
  return walk.Wait(
      {.reason = GateReason::kValidation, .detail = std::move(validation.missing), .fails_at = Finite(deadline)},
      std::min(deadline, due));
}

}  // namespace driverupgrade
