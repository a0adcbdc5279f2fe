// Handles cordon-required, wait-for-jobs-required, pod-deletion-required and drain-required, in which workloads leave
// the node.
#include <algorithm>
#include <string>
#include <utility>

#include "decide/gate_subject.h"
#include "decide/transitions/walk.h"
#include "fmt/format.h"

namespace driverupgrade {
namespace {

std::string Names(const std::vector<const Pod*>& pods) {
  std::string text = pods.front()->ref.ToString();
  if (pods.size() > 1) text += fmt::format(" and {} more", pods.size() - 1);
  return text;
}

std::string Names(const std::vector<PodSelection::Blocked>& pods) {
  std::string text = fmt::format("{} {}", pods.front().pod->ref.ToString(), pods.front().why);
  if (pods.size() > 1) text += fmt::format("; and {} more", pods.size() - 1);
  return text;
}

// Enters drain-required, and records the Event about the drain. No other function records it, so the Event appears only
// once.
Progress EnterDrain(Walk& walk, std::string reason) {
  walk.Enter(UpgradeState::kDrainRequired, std::move(reason));
  walk.Remove(&NodeMarks::drain_start);  // Forgets an earlier drain.
  if (walk.in.policy.drain) walk.Event(false, "Scheduling drain of the node");
  return Progress::kMoved;
}

// T25, T26: drains the node after pod deletion failed, if the policy contains a drain.
Progress FallBackToDrain(Walk& walk, OnFailure on_failure, std::string why) {
  if (!walk.in.policy.drain) {
    return walk.FailEvacuation(on_failure, "Failed to delete workload pods on the node for the driver upgrade",
                               std::move(why));
  }
  if (walk.IsolatesDevices()) walk.CordonInstead();
  walk.Event(true, fmt::format("Failed to delete workload pods on the node for the driver upgrade, {}", why));
  walk.Event(true, "Pod deletion failed but drain is enabled in spec. Will attempt a node drain");
  return EnterDrain(walk, std::move(why));
}

// Returns true if this process has deleted pods of the node. Deletions before the last restart of the process are
// unknown.
bool DeletedAny(const NodeView& view) {
  return std::any_of(view.attempts.pods.begin(), view.attempts.pods.end(),
                     [](const auto& pod) { return pod.second.outcome == Outcome::kApplied; });
}

std::string TimedOut(std::string_view what, absl::Duration timeout, std::string_view remaining) {
  return fmt::format("{} timed out after {} s: {}", what, absl::ToInt64Seconds(timeout),
                     remaining.empty() ? "the node's pods could not be read" : remaining);
}

}  // namespace

// T11: cordon-required -> wait-for-jobs-required.
Progress LeaveCordonRequired(Walk& walk) {
  if (DevicesAreOpen(walk)) {
    return walk.Wait(GateReason::kDevicesTainted, "the devices must be tainted first");
  }
  walk.HoldCordon();
  return walk.Enter(UpgradeState::kWaitForJobsRequired, walk.IsolatesDevices() ? "devices isolated" : "cordoned");
}

// T12-T20: wait-for-jobs-required -> pod-deletion-required; -> drain-required if there are no jobs to wait for and pod
// deletion is off.
Progress LeaveWaitForJobs(Walk& walk) {
  walk.HoldCordon();
  const auto& policy = walk.in.policy.wait_for_completion;
  if (!policy || policy->pod_selector.empty()) {
    if (!PodDeletion(walk.in)) return EnterDrain(walk, "no jobs to wait for");
    return walk.Enter(UpgradeState::kPodDeletionRequired, "no jobs to wait for");
  }
  const absl::Time deadline = walk.Deadline(policy->timeout);
  if (walk.Expired(deadline)) {
    return walk.Enter(UpgradeState::kPodDeletionRequired,
                      fmt::format("waited {} s for jobs", absl::ToInt64Seconds(policy->timeout)));
  }
  const std::vector<Pod>* pods = walk.KnownPods();
  if (pods == nullptr) return walk.WaitForPods(deadline);
  const std::vector<const Pod*> awaited = walk.pods.AwaitedPods(*pods, *policy);
  if (!awaited.empty()) {
    return walk.Wait(
        {.reason = GateReason::kJobs, .detail = Names(awaited), .subject = PodSubject(awaited.front()->ref)}, deadline);
  }
  return walk.Enter(UpgradeState::kPodDeletionRequired, "the jobs have ended");
}

// T21-T28: pod-deletion-required -> pod-restart-required, or -> drain-required | upgrade-failed if the deletion fails.
Progress LeavePodDeletion(Walk& walk) {
  walk.HoldCordon();
  const std::optional<PodDeletionPolicy> policy = PodDeletion(walk.in);
  if (!policy) return EnterDrain(walk, "pod deletion is off");
  const absl::Time deadline = walk.Deadline(policy->timeout);
  if (walk.KnownPods() == nullptr) {
    if (walk.Expired(deadline)) {
      return FallBackToDrain(walk, policy->on_failure, TimedOut("pod deletion", policy->timeout, ""));
    }
    return walk.WaitForPods(deadline);
  }
  const PodSelection selection = walk.pods.SelectForDeletion(walk.view, *policy, walk.drains);
  if (!selection.left_alone.empty()) {
    walk.Note(FindingCode::kPodLeftAlone,
              fmt::format("{}: uses the driver but belongs to a DaemonSet, to the node or to this operator, and stays",
                          Names(selection.left_alone)));
  }
  if (!selection.blocked.empty()) return FallBackToDrain(walk, policy->on_failure, Names(selection.blocked));
  EvictionRound round = walk.drains.Pace(selection.evict, walk.view, walk.in.now);
  absl::Time due = absl::InfiniteFuture();
  std::optional<Gate> in_use = round.finished ? WhyDevicesInUse(walk, due) : std::nullopt;
  if (round.finished && !in_use && walk.view.hook_errors.empty()) {
    if (DeletedAny(walk.view)) walk.Event(false, "Deleted workload pods on the node for the driver upgrade");
    return walk.Enter(UpgradeState::kPodRestartRequired, "no pod on the node uses the driver");
  }
  const bool expired = walk.Expired(deadline);
  if (expired && !round.finished && walk.DeletesOverdue(policy->on_timeout, selection.evict, deadline)) {
    return walk.DeleteOverdue(policy->on_timeout, selection.evict, std::move(round), deadline);
  }
  if (!round.finished) {
    if (expired) {
      const std::string remaining = walk.drains.Remaining(selection.evict, walk.view, walk.in.now);
      return FallBackToDrain(walk, policy->on_failure, TimedOut("pod deletion", policy->timeout, remaining));
    }
    const bool fails = policy->on_timeout == OnTimeout::kFail && !walk.in.policy.drain;
    return walk.Evict(std::move(round), deadline, fails ? deadline : absl::InfiniteFuture());
  }
  if (in_use) {
    if (expired)
      return FallBackToDrain(walk, policy->on_failure, TimedOut("pod deletion", policy->timeout, in_use->detail));
    return walk.Wait(*std::move(in_use), std::min(deadline, due));
  }
  const auto& [pod, error] = *walk.view.hook_errors.begin();
  std::string unknown = fmt::format("{}: {}", pod, error);
  if (expired) return FallBackToDrain(walk, policy->on_failure, TimedOut("pod deletion", policy->timeout, unknown));
  return walk.Wait(GateReason::kHook, std::move(unknown), std::min(deadline, NextRead(walk.in.now)));
}

// T29-T33: drain-required -> pod-restart-required | upgrade-failed.
Progress LeaveDrain(Walk& walk) {
  walk.HoldCordon();
  const std::optional<DrainPolicy>& policy = walk.in.policy.drain;
  if (!policy) return walk.Enter(UpgradeState::kPodRestartRequired, "drain is off");
  // Only another client can have set this state on a node whose devices are isolated.
  if (walk.IsolatesDevices()) return walk.Enter(UpgradeState::kPodRestartRequired, "only devices are isolated");
  const absl::Time deadline = walk.Deadline(policy->timeout);
  const std::vector<Pod>* pods = walk.KnownPods();
  if (pods == nullptr) {
    if (walk.Expired(deadline)) {
      return walk.FailEvacuation(policy->on_failure, "Failed to drain the node",
                                 TimedOut("drain", policy->timeout, ""));
    }
    return walk.WaitForPods(deadline);
  }
  const PodSelection selection = walk.SelectForDrain(*pods);
  if (!selection.returned.empty()) {
    walk.Note(FindingCode::kPodLeftAlone,
              fmt::format("{}: tolerates the cordon, arrived during the drain, and stays", Names(selection.returned)));
  }
  if (!selection.blocked.empty()) {
    return walk.FailEvacuation(policy->on_failure, "Failed to drain the node", Names(selection.blocked));
  }
  walk.NoteDrainStart(selection.evict);
  EvictionRound round = walk.drains.Pace(selection.evict, walk.view, walk.in.now);
  if (round.finished) {
    walk.Event(false, "Successfully drained the node");
    return walk.Enter(UpgradeState::kPodRestartRequired, "drained");
  }
  if (walk.Expired(deadline)) {
    if (walk.DeletesOverdue(policy->on_timeout, selection.evict, deadline)) {
      return walk.DeleteOverdue(policy->on_timeout, selection.evict, std::move(round), deadline);
    }
    const std::string remaining = walk.drains.Remaining(selection.evict, walk.view, walk.in.now);
    return walk.FailEvacuation(policy->on_failure, "Failed to drain the node",
                               TimedOut("drain", policy->timeout, remaining));
  }
  const bool fails = policy->on_timeout == OnTimeout::kFail;
  return walk.Evict(std::move(round), deadline, fails ? deadline : absl::InfiniteFuture());
}

}  // namespace driverupgrade
