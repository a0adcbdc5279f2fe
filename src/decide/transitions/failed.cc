// Handles upgrade-failed: retries the upgrade, and notices a driver that recovers.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/backoff.h"
#include "decide/gate_subject.h"
#include "decide/rollout/failures.h"
#include "decide/transitions/late_pods.h"
#include "decide/transitions/walk.h"
#include "fmt/format.h"

namespace driverupgrade {
namespace {

constexpr absl::Duration kRetryBackoffMax = absl::Hours(24);

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

Progress LoadAgain(Walk& walk) { return RequireUpgrade(walk, "the driver that the node has must still be loaded"); }

}  // namespace

// T40-T42 with dep-F2 and dep-F3: upgrade-failed -> upgrade-required with a new revision or for a retry; ->
// validation-required | uncordon-required | upgrade-done once the driver is ready.
Progress LeaveFailed(Walk& walk) {
  const std::string& wanted = walk.driver.wanted_revision;
  const std::optional<std::string>& failed = walk.after().failed_revision.value();
  if (!wanted.empty() && failed && *failed != wanted) {
    walk.Remove(&NodeMarks::failures);
    return RequireUpgrade(walk, fmt::format("revision {} is new", wanted));
  }
  const bool is_loaded = walk.driver.ready && !walk.AwaitsSafeLoad();
  if (!is_loaded && IsReloadDue(walk)) return LoadAgain(walk);
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
  if (!walk.driver.ready) return RetryOrWait(walk, WhyDriverNotReady(walk, "the driver pod"));
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
  if (!validation.passed) {
    return IsReloadDue(walk) ? LoadAgain(walk) : RetryOrWait(walk, std::move(validation.missing));
  }
  return walk.Enter(UpgradeState::kValidationRequired, "the driver recovered");
}

}  // namespace driverupgrade
