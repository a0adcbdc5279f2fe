#include "decide/transitions/late_pods.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "decide/gate_subject.h"
#include "fmt/format.h"

namespace driverupgrade {
namespace {

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

}  // namespace

Evacuation Evacuate(Walk& walk, bool spares_pending) {
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

}  // namespace driverupgrade
