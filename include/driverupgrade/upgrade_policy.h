/// How an administrator wants a driver to be rolled.
///
/// Defines UpgradePolicy, its sections but for `rollout` (rollout_policy.h), and the two parts that decisions are made by:
/// NodeRules and AdmissionLimits.
///
///     UpgradePolicy policy{.auto_upgrade = true, .max_parallel = 2, .max_unavailable = Percent{25}};
///     policy.drain = DrainPolicy{.timeout = absl::Minutes(5)};
///
/// There are no sentinels here: "0 = no limit" and "0 = for ever" exist only in the documents that
/// policy_codec.h reads and writes; here they are nullopt and absl::InfiniteDuration(). An absent section
/// (nullopt) is switched off. Field meanings are those of the custom resources of NVIDIA's GPU Operator and
/// Network Operator. Values.
#ifndef DRIVERUPGRADE_UPGRADE_POLICY_H_
#define DRIVERUPGRADE_UPGRADE_POLICY_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/count_or_percent.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/rollout_policy.h"

namespace driverupgrade {

/// waitForCompletion: pods to let finish before the node is evacuated.
struct WaitForCompletionPolicy {
  /// Selects nothing to wait for when empty.
  LabelSelector pod_selector = {};
  /// From entering wait-for-jobs-required; then the upgrade goes on.
  absl::Duration timeout = absl::InfiniteDuration();
  friend bool operator==(const WaitForCompletionPolicy&, const WaitForCompletionPolicy&) = default;
};

/// What becomes of pods that are still on the node when the time for their eviction is over.
enum class OnTimeout : std::uint8_t {
  kFail,    ///< They stay; the upgrade of the node fails, or pod deletion falls back to a drain.
  kDelete,  ///< They are deleted, disruption budgets or not, with their own grace period and their UID as precondition.
};

/// podDeletion: evicts the pods that use the driver. Which those are, the embedding operator says (PodFilter), and
/// `pod_selector`.
struct PodDeletionPolicy {
  /// Also pods that no controller will replace.
  bool force = false;
  /// Also pods with emptyDir volumes, whose data are lost.
  bool delete_empty_dir = false;
  /// Pods that use the driver beside those that the operator's PodFilter names; none when empty. For pods that hold the
  /// driver without asking for a resource.
  LabelSelector pod_selector = {};
  /// From entering pod-deletion-required; then drain-required if there is a drain policy, else upgrade-failed.
  absl::Duration timeout = absl::Seconds(300);
  OnTimeout on_timeout = OnTimeout::kFail;
  friend bool operator==(const PodDeletionPolicy&, const PodDeletionPolicy&) = default;
};

/// drain: evicts all pods but those of DaemonSets, static ones, and those the selector leaves out.
struct DrainPolicy {
  /// Also pods that no controller will replace.
  bool force = false;
  /// Also pods with emptyDir volumes, whose data are lost.
  bool delete_empty_dir = false;
  /// Which pods to drain; the default selects all.
  LabelSelector pod_selector = {};
  /// From entering drain-required; then upgrade-failed.
  absl::Duration timeout = absl::Seconds(300);
  OnTimeout on_timeout = OnTimeout::kFail;
  friend bool operator==(const DrainPolicy&, const DrainPolicy&) = default;
};

/// How far one pass may carry a node.
enum class Pacing : std::uint8_t {
  kChained,     ///< Through every state that waits for nothing, in one write.
  kEveryState,  ///< One state per write, as the Go library does.
};

/// What becomes of nodes that an administrator had cordoned before the upgrade.
enum class CordonedNodes : std::uint8_t {
  kProceed,       ///< They start at once, outside the maxParallel count. The Go library's behaviour.
  kWithinBudget,  ///< They take a maxParallel slot like any other.
  kIgnore,        ///< They wait until somebody uncordons them.
};

struct DeadlinePolicy {
  /// For the new driver pod to become ready; then upgrade-failed. The Go library has no such limit.
  absl::Duration pod_restart = absl::InfiniteDuration();
  /// For the validation pods to become ready; then upgrade-failed.
  absl::Duration validation = absl::Seconds(600);
  friend bool operator==(const DeadlinePolicy&, const DeadlinePolicy&) = default;
};

/// failurePolicy: without it a failed node holds its slot, so that failures bring the rollout to a stop one by one.
struct FailurePolicy {
  /// Failed nodes hold no slot; when there are so many, no further node starts. Percentages round down, to 1 at least.
  CountOrPercent max_failures = Count{1};
  /// Budgets beside `max_failures`: whichever is used up first stops the rollout.
  FailureBudgets by_class = {};
  friend bool operator==(const FailurePolicy&, const FailurePolicy&) = default;
};

/// retry: takes failed nodes back to upgrade-required by themselves.
struct RetryPolicy {
  /// Retries of one node at one target revision; 0: none.
  int max_attempts = 0;
  /// From the first failure to the first retry; doubles with each, up to 24 h.
  absl::Duration backoff = absl::Minutes(1);
  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

/// Driver pods that are bound to no node.
enum class OnUnscheduledPods : std::uint8_t {
  kCountUnavailable,  ///< Each counts as one unavailable node.
  kIgnore,
};

struct UpgradePolicy {
  /// False freezes every node where it stands.
  bool auto_upgrade = false;
  /// Why autoUpgrade is off, if the author of the policy did not say so: nodes wait with these words. In no document.
  std::string frozen_because = {};
  /// True admits no further node; those in progress finish.
  bool paused = false;
  /// Nodes in progress at once; nullopt: no limit.
  std::optional<int> max_parallel = 1;
  /// Unavailable nodes up to which an upgrade may start on an available one; nullopt: no limit.
  std::optional<CountOrPercent> max_unavailable = std::nullopt;
  std::optional<WaitForCompletionPolicy> wait_for_completion = std::nullopt;
  /// nullopt stands for PodDeletionPolicy's defaults where the operator has a PodFilter.
  std::optional<PodDeletionPolicy> pod_deletion = std::nullopt;
  std::optional<DrainPolicy> drain = std::nullopt;
  Pacing pacing = Pacing::kChained;
  CordonedNodes cordoned_nodes = CordonedNodes::kProceed;
  OnUnscheduledPods on_unscheduled_pods = OnUnscheduledPods::kCountUnavailable;
  DeadlinePolicy deadlines = {};
  std::optional<FailurePolicy> failure_policy = std::nullopt;
  RetryPolicy retry = {};
  /// For the operator, which tells the init container of the driver pod to ask for safe load. The engine does
  /// not look at it: it acts on DriverIdentity::SafeLoadAnnotation alone.
  bool safe_load = false;
  /// In which steps and when nodes start, beside the limits; nullopt: none of that. An engine needs a ledger for it
  /// (EngineOptions::ledger).
  std::optional<RolloutPolicy> rollout = std::nullopt;
  friend bool operator==(const UpgradePolicy&, const UpgradePolicy&) = default;
};

/// The part of a policy by which a single node is judged. Every field of a policy is in this part or in AdmissionLimits,
/// but for `safe_load`.
struct NodeRules {
  NodeRules() = default;
  /// Implicit: a whole policy has the rules.
  NodeRules(const UpgradePolicy& policy);  // NOLINT(google-explicit-constructor)
  bool auto_upgrade = false;
  std::string frozen_because = {};
  std::optional<WaitForCompletionPolicy> wait_for_completion = std::nullopt;
  std::optional<PodDeletionPolicy> pod_deletion = std::nullopt;
  std::optional<DrainPolicy> drain = std::nullopt;
  Pacing pacing = Pacing::kChained;
  CordonedNodes cordoned_nodes = CordonedNodes::kProceed;
  DeadlinePolicy deadlines = {};
  /// Without a failurePolicy.
  bool failed_hold_slots = true;
  /// Whether a node that fails is to carry the class of its failure: with FailurePolicy::by_class.
  bool classify_failures = false;
  RetryPolicy retry = {};
  friend bool operator==(const NodeRules&, const NodeRules&) = default;
};

/// The part of a policy that says who of the waiting nodes may start. If only this part changes, no verdict on a node
/// changes.
struct AdmissionLimits {
  AdmissionLimits() = default;
  /// Implicit: a whole policy has the limits.
  AdmissionLimits(const UpgradePolicy& policy);  // NOLINT(google-explicit-constructor)
  bool paused = false;
  std::optional<int> max_parallel = 1;
  std::optional<CountOrPercent> max_unavailable = std::nullopt;
  /// nullopt: without a failurePolicy.
  std::optional<CountOrPercent> max_failures = std::nullopt;
  FailureBudgets failures_by_class = {};
  OnUnscheduledPods on_unscheduled_pods = OnUnscheduledPods::kCountUnavailable;
  std::optional<RolloutPolicy> rollout = std::nullopt;
  friend bool operator==(const AdmissionLimits&, const AdmissionLimits&) = default;
};

/// InvalidArgument, with the name of the field as the documents spell it, if a number or a duration is out of
/// range.
[[nodiscard]] absl::Status Validate(const UpgradePolicy& policy);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_UPGRADE_POLICY_H_
