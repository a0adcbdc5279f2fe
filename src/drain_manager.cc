#include "driverupgrade/drain_manager.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "fmt/format.h"

namespace driverupgrade::inline v1 {
namespace {

constexpr std::size_t kPodsInText = 5;

// What holds up one pod, for the gate and for the failure text.
struct Holdup {
  GateReason reason = GateReason::kPodsTerminating;
  std::string why = {};
};

Holdup WhyWaiting(const Pod& pod, const PodAttempt* attempt) {
  if (pod.deletion_timestamp) return {GateReason::kPodsTerminating, "terminating"};
  if (attempt == nullptr || !attempt->outcome) return {GateReason::kPodsTerminating, "eviction requested"};
  switch (attempt->refusal) {
    case Refusal::kDisruptionBudget:
      return {GateReason::kDisruptionBudget,
              fmt::format("refused by disruption budget {}", attempt->budget.empty() ? "(unnamed)" : attempt->budget)};
    case Refusal::kSeveralBudgets: return {GateReason::kSeveralBudgets, "matched by several disruption budgets"};
    case Refusal::kThrottled: return {GateReason::kEvictionRefused, "the API server is busy"};
    case Refusal::kNamespaceTerminating: return {GateReason::kEvictionRefused, "its namespace is terminating"};
    case Refusal::kOther:
      return {GateReason::kEvictionRefused, fmt::format("the request failed: {}", attempt->message)};
    case Refusal::kNone: break;
  }
  return {GateReason::kPodsTerminating, "eviction accepted"};
}

// A gate of a lower rank hides one of a higher: what somebody must act on comes first.
int Rank(GateReason reason) {
  switch (reason) {
    case GateReason::kSeveralBudgets: return 0;
    case GateReason::kDisruptionBudget: return 1;
    case GateReason::kEvictionRefused: return 2;
    default: return 3;
  }
}

// Answers that only an eviction gets; a deletion that fails has Refusal::kOther.
bool IsRefusedEviction(const PodAttempt& attempt) {
  return attempt.outcome && attempt.refusal != Refusal::kNone && attempt.refusal != Refusal::kOther;
}

// When the kubelet of a node that is not ready will not report the end of a terminating pod any more (dep-F11). The
// timestamp is cut to a whole second.
absl::Time LostAt(const Pod& pod) { return *pod.deletion_timestamp + absl::Seconds(1); }

bool IsLost(const Pod& pod, const Node& node, absl::Time now) {
  return pod.deletion_timestamp && LostAt(pod) <= now && !node.ready;
}

// Adds one pod's part to the round; `count` pods have been added before.
void AddToRound(const Pod& pod, const Holdup& holdup, std::size_t count, EvictionRound& round) {
  if (count == kPodsInText) round.remaining += ", ...";
  if (count < kPodsInText) {
    round.remaining += fmt::format("{}{} ({})", round.remaining.empty() ? "" : ", ", pod.ref.ToString(), holdup.why);
  }
  if (count == 0 || Rank(holdup.reason) < Rank(round.gate.reason)) {
    round.gate.reason = holdup.reason;
    round.gate.detail = fmt::format("{}: {}", pod.ref.ToString(), holdup.why);
  }
}

void WakeAt(absl::Time due, EvictionRound& round) {
  if (due == absl::InfiniteFuture()) return;
  round.gate.not_before = std::min(due, round.gate.not_before.value_or(absl::InfiniteFuture()));
}

}  // namespace

bool DrainManager::IsOwn(const Pod& pod) const {
  return own_pod_ && pod.ref.ns == own_pod_->ns && pod.ref.name == own_pod_->name;
}

PodSelection DrainManager::Classify(const std::vector<const Pod*>& pods, bool force, bool delete_empty_dir) const {
  PodSelection selection;
  for (const Pod* pod : pods) {
    // The order of the filters is drain-D10's: the first that keeps a pod decides.
    if (IsOwn(*pod)) {
      selection.left_alone.push_back(pod);
    } else if (IsDaemonSetPod(*pod) && !IsFinished(*pod)) {
      selection.left_alone.push_back(pod);
    } else if (pod->mirror) {
      selection.left_alone.push_back(pod);
    } else if (pod->has_empty_dir && !IsFinished(*pod) && !delete_empty_dir) {
      selection.blocked.push_back({pod, "has emptyDir volumes, and deleteEmptyDir is off"});
    } else if (ControllerOf(*pod) == nullptr && !IsFinished(*pod) && !force) {
      selection.blocked.push_back({pod, "has no controller to replace it, and force is off"});
    } else {
      selection.evict.push_back(pod);
    }
  }
  return selection;
}

PodSelection DrainManager::Select(const std::vector<Pod>& pods, const DrainPolicy& policy) const {
  std::vector<const Pod*> selected;
  for (const Pod& pod : pods) {
    if (policy.pod_selector.Matches(pod.labels)) selected.push_back(&pod);
  }
  return Classify(selected, policy.force, policy.delete_empty_dir);
}

EvictionRound DrainManager::Pace(const std::vector<const Pod*>& pods, const NodeView& view, absl::Time now) const {
  EvictionRound round;
  std::size_t count = 0;
  for (const Pod* pod : pods) {
    if (IsLost(*pod, view.node, now)) continue;
    const auto found = view.attempts.pods.find(pod->ref.uid);
    const PodAttempt* attempt = found == view.attempts.pods.end() ? nullptr : &found->second;
    if (!pod->deletion_timestamp) {
      const absl::Time due = attempt == nullptr ? now : NextPodRequestDue(*attempt, pod->ref.uid);
      if (due <= now) {
        round.evict.push_back(pod->ref);
      } else {
        WakeAt(due, round);
      }
    } else if (!view.node.ready) {
      WakeAt(LostAt(*pod), round);
    }
    AddToRound(*pod, WhyWaiting(*pod, attempt), count++, round);
  }
  round.finished = count == 0;
  if (count > 1) round.gate.detail += fmt::format("; {} pods in all", count);
  std::sort(round.evict.begin(), round.evict.end());
  return round;
}

std::vector<PodRef> DrainManager::Overdue(const std::vector<const Pod*>& pods, const NodeView& view,
                                          absl::Time now) const {
  std::vector<PodRef> overdue;
  for (const Pod* pod : pods) {
    if (pod->deletion_timestamp) continue;
    const auto attempt = view.attempts.pods.find(pod->ref.uid);
    const bool due = attempt == view.attempts.pods.end() || IsRefusedEviction(attempt->second) ||
                     NextPodRequestDue(attempt->second, pod->ref.uid) <= now;
    if (due) overdue.push_back(pod->ref);
  }
  std::sort(overdue.begin(), overdue.end());
  return overdue;
}

}  // namespace driverupgrade::inline v1
