#include "driverupgrade/drain_manager.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "decide/attempt_log.h"
#include "decide/gate_subject.h"

namespace driverupgrade {
namespace {

constexpr std::size_t kPodsInText = 5;
// Usual size of a gate's detail, which is reserved in advance because each pass writes a gate for every node that is
// being drained.
constexpr std::size_t kDetailSize = 96;
// Time by which a terminating pod on a Ready node may exceed its grace period before it counts as stuck or, if only its
// ResourceClaims hold it, as gone.
constexpr absl::Duration kStuckAfter = absl::Minutes(1);

const PodAttempt* AttemptOn(const Pod& pod, const NodeView& view) {
  const auto found = view.attempts.pods.find(pod.ref.uid);
  return found == view.attempts.pods.end() ? nullptr : &found->second;
}

// Returns why the last eviction of the pod was refused; kNone if the pod is terminating, or if no response to an
// eviction has arrived.
Refusal RefusalOf(const Pod& pod, const PodAttempt* attempt) {
  return pod.deletion_timestamp || attempt == nullptr || !attempt->outcome ? Refusal::kNone : attempt->refusal;
}

GateReason ReasonFor(Refusal refusal) {
  switch (refusal) {
    case Refusal::kDisruptionBudget: return GateReason::kDisruptionBudget;
    case Refusal::kSeveralBudgets: return GateReason::kSeveralBudgets;
    case Refusal::kThrottled:
    case Refusal::kNamespaceTerminating:
    case Refusal::kOther: return GateReason::kEvictionRefused;
    case Refusal::kNone: break;
  }
  return GateReason::kPodsTerminating;
}

// Appends the finalizers that keep a terminating pod from being deleted, because an administrator may have to remove
// them.
void AppendFinalizers(const Pod& pod, std::string& text) {
  if (!pod.finalizers.empty()) absl::StrAppend(&text, ", held by finalizer ", absl::StrJoin(pod.finalizers, ", "));
}

// Appends the reason why the pod has not left yet, for gates and failure messages.
void AppendHoldup(const Pod& pod, const PodAttempt* attempt, std::string& text) {
  switch (RefusalOf(pod, attempt)) {
    case Refusal::kDisruptionBudget:
      absl::StrAppend(&text, "refused by disruption budget ",
                      attempt->budget.empty() ? absl::string_view("(unnamed)") : attempt->budget);
      return;
    case Refusal::kSeveralBudgets: text += "matched by several disruption budgets"; return;
    case Refusal::kThrottled:
      // Admission webhooks also use the status 429 (kubevirt#11532), so only the message shows the cause.
      text +=
          attempt->message.empty() ? "the API server is busy" : absl::StrCat("too many requests: ", attempt->message);
      return;
    case Refusal::kNamespaceTerminating: text += "its namespace is terminating"; return;
    case Refusal::kOther: absl::StrAppend(&text, "the request failed: ", attempt->message); return;
    case Refusal::kNone: break;
  }
  if (pod.deletion_timestamp) {
    text += "terminating";
    AppendFinalizers(pod, text);
  } else {
    text += attempt == nullptr || !attempt->outcome ? "eviction requested" : "eviction accepted";
  }
}

// A gate with a lower rank hides gates with a higher rank, so causes that need an administrator come first.
int Rank(GateReason reason) {
  constexpr std::array kForemost = {GateReason::kSeveralBudgets, GateReason::kDisruptionBudget,
                                    GateReason::kEvictionRefused};
  return static_cast<int>(std::find(kForemost.begin(), kForemost.end(), reason) - kForemost.begin());
}

// Only evictions can be refused for these reasons; a failed deletion has Refusal::kOther.
bool IsRefusedEviction(const PodAttempt& attempt) {
  return attempt.outcome && attempt.refusal != Refusal::kNone && attempt.refusal != Refusal::kOther;
}

// Returns the time from which the pod counts as gone although it still exists; InfiniteFuture if it must be deleted.
absl::Time GoneAt(const Pod& pod, const Node& node) {
  if (!pod.deletion_timestamp) return absl::InfiniteFuture();
  // Kueue keeps its finalizer on the ended pods of a group until the whole group ends (kueue#5130). A finished pod that
  // the kubelet has not released may still have a volume mounted over the device whose driver is about to be replaced.
  if (IsFinished(pod) && pod.released) return absl::InfinitePast();
  // The kubelet of a NotReady node is not expected to report that the pod has ended (dep-F11). Adds a second, because
  // the timestamp is truncated to whole seconds.
  if (!node.ready) return *pod.deletion_timestamp + absl::Seconds(1);
  // The DRA plugin, which releases the claims, may need the driver (k8s-driver-manager#213).
  if (pod.containers_ended && !pod.resource_claims.empty()) return *pod.deletion_timestamp + kStuckAfter;
  return absl::InfiniteFuture();
}

// The pods that still exist, and the reason to report.
struct RemainingPods {
  std::size_t count = 0;
  // The pod to report, and the last request for it; nullptr if no request was sent.
  const Pod* foremost = nullptr;
  const PodAttempt* attempt = nullptr;
  GateReason reason = GateReason::kPodsTerminating;

  void Add(const Pod& pod, const PodAttempt* tried) {
    ++count;
    const GateReason why = ReasonFor(RefusalOf(pod, tried));
    if (foremost != nullptr && Rank(why) >= Rank(reason)) return;
    foremost = &pod;
    attempt = tried;
    reason = why;
  }
};

// Sets the reason, subject and detail of `gate` to describe the pods for which the node waits. There must be at least
// one such pod.
void Explain(const RemainingPods& pods, Gate& gate) {
  gate.reason = pods.reason;
  gate.subject = PodSubject(pods.foremost->ref);
  gate.detail.reserve(kDetailSize);
  absl::StrAppend(&gate.detail, pods.foremost->ref.ns, "/", pods.foremost->ref.name, ": ");
  AppendHoldup(*pods.foremost, pods.attempt, gate.detail);
  if (pods.count > 1) absl::StrAppend(&gate.detail, "; ", pods.count, " pods in all");
}

void WakeAt(absl::Time due, EvictionRound& round) {
  if (due == absl::InfiniteFuture()) return;
  round.gate.not_before = std::min(due, round.gate.not_before.value_or(absl::InfiniteFuture()));
}

}  // namespace

bool DrainManager::IsOwn(const Pod& pod) const {
  return own_pod_ && pod.ref.ns == own_pod_->ns && pod.ref.name == own_pod_->name;
}

// The filters are applied in the order of drain-D10: the first filter that keeps a pod decides.
void DrainManager::Sort(const Pod& pod, bool force, bool delete_empty_dir, absl::Time began,
                        PodSelection& selection) const {
  const bool finished = IsFinished(pod);
  // A terminating pod was already deleted by another client, so the policy can no longer protect it.
  const bool leaves_anyway = finished || pod.deletion_timestamp;
  // A DaemonSet pod that is being deleted has its final phase before its volumes are unmounted.
  const bool has_ended = finished && (pod.released || !pod.deletion_timestamp);
  if (IsOwn(pod) || (IsDaemonSetPod(pod) && !has_ended) || pod.mirror) {
    selection.left_alone.push_back(&pod);
  } else if (pod.tolerates_cordon_since > began && !pod.deletion_timestamp) {
    selection.returned.push_back(&pod);
  } else if (pod.has_empty_dir && !leaves_anyway && !delete_empty_dir) {
    selection.blocked.push_back({&pod, "has emptyDir volumes, and deleteEmptyDir is off"});
  } else if (ControllerOf(pod) == nullptr && !leaves_anyway && !force) {
    selection.blocked.push_back({&pod, "has no controller to replace it, and force is off"});
  } else {
    selection.evict.push_back(&pod);
  }
}

PodSelection DrainManager::Classify(const std::vector<const Pod*>& pods, bool force, bool delete_empty_dir) const {
  PodSelection selection;
  for (const Pod* pod : pods) Sort(*pod, force, delete_empty_dir, /*began=*/absl::InfiniteFuture(), selection);
  return selection;
}

LabelSelector DrainablePods(const DriverIdentity& identity) {
  absl::StatusOr<LabelSelector> selector = LabelSelector::FromRequirements(
      {{.key = identity.SkipDrainPodLabel(), .op = LabelSelector::Operator::kNotIn, .values = {"true"}}});
  // The keys of an identity are always valid. If one were not, pods could not be excluded from the drain, so no pod
  // would be drained.
  return selector.ok() ? *std::move(selector) : LabelSelector::Nothing();
}

PodSelection DrainManager::Select(const std::vector<Pod>& pods, const DrainPolicy& policy, absl::Time began) const {
  PodSelection selection;
  selection.evict.reserve(pods.size());
  for (const Pod& pod : pods) {
    if (policy.pod_selector.Matches(pod.labels)) Sort(pod, policy.force, policy.delete_empty_dir, began, selection);
  }
  return selection;
}

bool DrainManager::IsGone(const Pod& pod, const Node& node, absl::Time now) { return GoneAt(pod, node) <= now; }

EvictionRound DrainManager::Pace(const std::vector<const Pod*>& pods, const NodeView& view, absl::Time now) const {
  EvictionRound round;
  RemainingPods remaining;
  for (const Pod* pod : pods) {
    if (IsGone(*pod, view.node, now)) continue;
    const PodAttempt* attempt = AttemptOn(*pod, view);
    remaining.Add(*pod, attempt);
    if (pod->deletion_timestamp) {
      WakeAt(GoneAt(*pod, view.node), round);
      continue;
    }
    const absl::Time due = attempt == nullptr ? now : internal::NextPodRequestDue(*attempt, pod->ref.uid);
    if (due <= now) {
      round.evict.push_back(pod->ref);
    } else {
      WakeAt(due, round);
    }
  }
  round.finished = remaining.count == 0;
  if (!round.finished) Explain(remaining, round.gate);
  std::sort(round.evict.begin(), round.evict.end());
  return round;
}

std::string DrainManager::Remaining(const std::vector<const Pod*>& pods, const NodeView& view, absl::Time now) const {
  std::string text;
  std::size_t count = 0;
  for (const Pod* pod : pods) {
    if (IsGone(*pod, view.node, now)) continue;
    if (++count > kPodsInText) return text + ", ...";
    absl::StrAppend(&text, count > 1 ? ", " : "", pod->ref.ns, "/", pod->ref.name, " (");
    AppendHoldup(*pod, AttemptOn(*pod, view), text);
    text += ")";
  }
  return text;
}

std::vector<PodRef> DrainManager::Overdue(const std::vector<const Pod*>& pods, const NodeView& view,
                                          OnTimeout on_timeout, absl::Time now) const {
  std::vector<PodRef> overdue;
  for (const Pod* pod : pods) {
    if (IsGone(*pod, view.node, now)) continue;
    if (pod->deletion_timestamp && on_timeout != OnTimeout::kForceDelete) continue;
    const auto attempt = view.attempts.pods.find(pod->ref.uid);
    const bool due = attempt == view.attempts.pods.end() || IsRefusedEviction(attempt->second) ||
                     internal::NextPodRequestDue(attempt->second, pod->ref.uid) <= now;
    if (due) overdue.push_back(pod->ref);
  }
  std::sort(overdue.begin(), overdue.end());
  return overdue;
}

absl::Time DrainManager::StuckAt(const std::vector<const Pod*>& pods, const NodeView& view, OnTimeout on_timeout,
                                 absl::Time deadline) const {
  absl::Time first = absl::InfiniteFuture();
  if (!view.node.ready) return first;
  for (const Pod* pod : pods) {
    if (!pod->deletion_timestamp || GoneAt(*pod, view.node) < absl::InfiniteFuture()) continue;
    const absl::Time due = *pod->deletion_timestamp;
    first = std::min(first, (on_timeout == OnTimeout::kForceDelete ? std::max(due, deadline) : due) + kStuckAfter);
  }
  return first;
}

}  // namespace driverupgrade
