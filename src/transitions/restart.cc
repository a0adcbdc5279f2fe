// pod-restart-required and upgrade-failed: replacing the driver pod, and what becomes of a node where that failed.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "transitions/walk.h"

namespace driverupgrade::inline v1 {
namespace {

// Whether the node is free of the pods that the policy protects. What is not is in `round`, or in `why` if nothing can
// be done about it.
struct Evacuation {
  bool done = false;
  EvictionRound round = {};
  GateReason reason = GateReason::kPodsUnknown;
  std::string why = {};
};

Evacuation Evacuate(Walk& walk) {
  if (!EvacuationTimeout(walk.in)) return {.done = true};
  const std::vector<Pod>* pods = walk.KnownPods();
  if (pods == nullptr) return {.why = "the node's pods have not been read since it was cordoned"};
  if (const auto deletion = PodDeletion(walk.in)) {
    // Those that may not be evicted have been reported when pod deletion gave up on them (T25).
    PodSelection selection = walk.pods.SelectForDeletion(walk.view, *deletion, walk.drains);
    Evacuation result{.round = walk.drains.Pace(selection.evict, walk.view, walk.in.now)};
    result.done = result.round.finished;
    return result;
  }
  PodSelection selection = walk.drains.Select(*pods, *walk.in.policy.drain);
  if (!selection.blocked.empty()) {
    return {.reason = GateReason::kUndeletablePods,
            .why = fmt::format("{} {}", selection.blocked.front().pod->ref.ToString(), selection.blocked.front().why)};
  }
  Evacuation result{.round = walk.drains.Pace(selection.evict, walk.view, walk.in.now)};
  result.done = result.round.finished;
  return result;
}

// Pods have come to the node since it was evacuated: they go too, under the evacuation's deadline (dep-F8).
Progress EvictNewcomers(Walk& walk, Evacuation evacuation) {
  const absl::Duration timeout = *EvacuationTimeout(walk.in);
  const absl::Time deadline = walk.Deadline(timeout);
  std::string remaining = evacuation.why.empty() ? evacuation.round.remaining : evacuation.why;
  if (walk.Expired(deadline)) {
    return walk.Fail("Failed to drain the node", fmt::format("pods are back on the node, and {} s were not enough: {}",
                                                             absl::ToInt64Seconds(timeout), remaining));
  }
  if (!evacuation.why.empty()) return walk.Wait(evacuation.reason, std::move(evacuation.why), deadline);
  walk.verdict.plan.evict = std::move(evacuation.round.evict);
  absl::Time due = deadline;
  if (evacuation.round.gate.not_before) due = std::min(due, *evacuation.round.gate.not_before);
  return walk.Wait(evacuation.round.gate.reason, std::move(evacuation.round.gate.detail), due);
}

Progress WaitForDriver(Walk& walk, GateReason reason, std::string detail, absl::Time due = absl::InfiniteFuture()) {
  const absl::Duration timeout = walk.in.policy.deadlines.pod_restart;
  const absl::Time deadline = walk.Deadline(timeout);
  if (walk.Expired(deadline)) {
    walk.verdict.plan.remove.clear();
    return walk.Fail("Failed to restart driver pod",
                     fmt::format("not ready after {} s: {}", absl::ToInt64Seconds(timeout), detail));
  }
  return walk.Wait(reason, std::move(detail), std::min(deadline, due));
}

// T37: deletes the driver pods that are to go, one request each until it is answered.
Progress RestartDriverPods(Walk& walk) {
  if (Evacuation evacuation = Evacuate(walk); !evacuation.done) return EvictNewcomers(walk, std::move(evacuation));
  absl::Time due = absl::InfiniteFuture();
  for (const Pod* pod : walk.driver.to_restart) {
    const auto attempt = walk.view.attempts.pods.find(pod->ref.uid);
    const bool tried = attempt != walk.view.attempts.pods.end();
    const absl::Time next = tried ? NextPodRequestDue(attempt->second, pod->ref.uid) : walk.in.now;
    if (next <= walk.in.now) {
      walk.verdict.plan.remove.push_back(pod->ref);
    } else {
      due = std::min(due, next);
    }
  }
  return WaitForDriver(walk, GateReason::kDriverPodTerminating,
                       fmt::format("{} is to be replaced", walk.driver.to_restart.front()->ref.ToString()), due);
}

void Unblock(Walk& walk) {
  NodePatch unblock;
  walk.safe_load.Unblock(unblock);
  walk.after = Patched(walk.after, unblock);
}

// T39, T43: the driver may be loaded once the node is evacuated. nullopt: nothing holds it back any more.
std::optional<Progress> UnblockSafeLoad(Walk& walk) {
  if (!walk.safe_load.IsWaiting(walk.after)) return std::nullopt;
  if (Evacuation evacuation = Evacuate(walk); !evacuation.done) return EvictNewcomers(walk, std::move(evacuation));
  Unblock(walk);
  return std::nullopt;
}

// dep-F3: a failed node's driver is not loaded under workloads, and nothing is evicted for it.
std::optional<Progress> UnblockSafeLoadOfFailed(Walk& walk) {
  if (!walk.safe_load.IsWaiting(walk.after)) return std::nullopt;
  if (!walk.after.unschedulable) return walk.Wait(GateReason::kSafeLoad, "the node is not cordoned");
  if (const Evacuation evacuation = Evacuate(walk); !evacuation.done) {
    return walk.Wait(GateReason::kSafeLoad, evacuation.why.empty() ? evacuation.round.remaining : evacuation.why);
  }
  Unblock(walk);
  return std::nullopt;
}

}  // namespace

// T37-T39: pod-restart-required -> validation-required | uncordon-required | upgrade-done | upgrade-failed.
Progress LeavePodRestart(Walk& walk) {
  walk.HoldCordon();
  const DriverPods& driver = walk.driver;
  if (driver.none) return WaitForDriver(walk, GateReason::kDriverPodMissing, "no driver pod on the node yet");
  if (driver.unknown) return WaitForDriver(walk, GateReason::kRevisionUnknown, driver.why_unknown);
  if (!driver.to_restart.empty()) return RestartDriverPods(walk);
  if (driver.terminating != nullptr) {
    return WaitForDriver(walk, GateReason::kDriverPodTerminating,
                         fmt::format("{} is terminating", driver.terminating->ref.ToString()));
  }
  if (const auto stopped = UnblockSafeLoad(walk)) return *stopped;
  if (driver.ready) {
    if (walk.in.options.validation_selector) return walk.Enter(UpgradeState::kValidationRequired, "the driver is ready");
    return FinishUpgrade(walk, "the driver is ready");
  }
  if (driver.failing != nullptr) {
    return walk.Fail("Failed to restart driver pod",
                     fmt::format("{} keeps restarting", driver.failing->ref.ToString()));
  }
  return WaitForDriver(walk, GateReason::kDriverPodNotReady,
                       fmt::format("{} is not ready", driver.not_ready->ref.ToString()));
}

// T40-T42 with dep-F2 and dep-F3: upgrade-failed -> upgrade-required with a new revision; -> validation-required |
// uncordon-required | upgrade-done once the driver is ready.
Progress LeaveFailed(Walk& walk) {
  const std::string key = walk.in.identity.FailedRevisionAnnotation();
  const std::string& wanted = walk.driver.wanted_revision;
  const auto failed = walk.after.annotations.find(key);
  if (!wanted.empty() && failed != walk.after.annotations.end() && failed->second != wanted) {
    return walk.Enter(UpgradeState::kUpgradeRequired, fmt::format("revision {} is new", wanted));
  }
  // A node that the Go library failed carries no revision: the present one is what it failed at, for all we can know.
  if (!wanted.empty()) walk.after.annotations[key] = wanted;
  if (!walk.driver.InSync()) {
    return walk.Wait(GateReason::kFailed,
                     walk.driver.unknown ? walk.driver.why_unknown : "the driver pod is missing or out of date");
  }
  if (const auto stopped = UnblockSafeLoadOfFailed(walk)) return *stopped;
  if (!walk.driver.ready) return walk.Wait(GateReason::kFailed, "the driver pod is not ready");
  if (walk.in.options.validation_selector) return walk.Enter(UpgradeState::kValidationRequired, "the driver recovered");
  return FinishUpgrade(walk, "the driver recovered");
}

// T43-T47: validation-required -> uncordon-required | upgrade-done | upgrade-failed.
Progress LeaveValidation(Walk& walk) {
  if (!walk.in.options.validation_selector) return FinishUpgrade(walk, "validation is off");
  walk.HoldCordon();
  const absl::Duration timeout = walk.in.policy.deadlines.validation;
  const absl::Time deadline = walk.Deadline(timeout);
  if (const auto stopped = UnblockSafeLoad(walk)) return *stopped;
  Validation validation{.missing = "the node's pods have not been read"};
  if (const std::vector<Pod>* pods = walk.KnownPods()) {
    validation = ValidationManager(*walk.in.options.validation_selector).Evaluate(*pods);
  }
  if (validation.passed) return FinishUpgrade(walk, "validated");
  if (walk.Expired(deadline)) {
    return walk.Fail("Failed to validate the driver", fmt::format("not valid after {} s: {}",
                                                                  absl::ToInt64Seconds(timeout), validation.missing));
  }
  return walk.Wait(GateReason::kValidation, std::move(validation.missing), deadline);
}

}  // namespace driverupgrade::inline v1
