// Handles pod-restart-required and validation-required: replaces and validates the driver.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "decide/attempt_log.h"
#include "decide/gate_subject.h"
#include "decide/transitions/late_pods.h"
#include "decide/transitions/walk.h"
#include "fmt/format.h"
#include "model/container_trouble.h"

namespace driverupgrade {
namespace {

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

// Returns the time at which the last of the node's driver pods became ready. Validation pods that became ready earlier
// may have validated the old driver.
std::optional<absl::Time> DriverReadySince(const NodeView& view) {
  std::optional<absl::Time> since;
  for (const Pod& pod : view.driver_pods) since = std::max(since, pod.ready_since);
  return since;
}

}  // namespace

std::string WhyDriverNotReady(Walk& walk, std::string_view name) {
  const Pod* pod = walk.driver.not_ready;
  const std::string error = pod == nullptr ? "" : internal::StartError(*pod);
  if (error.empty()) return fmt::format("{} is not ready", name);
  walk.Note(FindingCode::kDriverPodCannotStart, fmt::format("driver pod {}: {}", pod->ref.ToString(), error));
  return fmt::format("{} is not ready: {}", name, error);
}

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
  std::string why = WhyDriverNotReady(walk, driver.not_ready->ref.ToString());
  if (const std::string crashing = internal::Crashing(*driver.not_ready); !crashing.empty()) why += ": " + crashing;
  return WaitForDriver(walk, GateReason::kDriverPodNotReady, std::move(why));
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
