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
/// Network Operator. Every duration is positive, or absl::InfiniteDuration() for no limit. Values.
#ifndef DRIVERUPGRADE_UPGRADE_POLICY_H_
#define DRIVERUPGRADE_UPGRADE_POLICY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/policy_values.h"
#include "driverupgrade/rollout_policy.h"

namespace driverupgrade {

/// waitForCompletion: pods to let finish before the node is evacuated.
struct WaitForCompletionPolicy {
  /// The pods to wait for, in any namespace; the default, an empty selector, waits for none. Pods that are still there
  /// afterwards are evicted as `pod_deletion` and `drain` say.
  LabelSelector pod_selector = {};
  /// From entering wait-for-jobs-required; then the upgrade goes on, whether the pods have ended or not. Positive;
  /// without a limit by default, and then a job that never ends holds the slot for good: take the longest job to spare.
  absl::Duration timeout = absl::InfiniteDuration();
  friend bool operator==(const WaitForCompletionPolicy&, const WaitForCompletionPolicy&) = default;
};

/// What becomes of pods that are still on the node when the time for their eviction is over.
enum class OnTimeout : std::uint8_t {
  kFail,    ///< They stay; the upgrade of the node fails, or pod deletion falls back to a drain.
  kDelete,  ///< They are deleted, disruption budgets or not, with their own grace period and their UID as precondition.
  /// They are deleted with grace period zero, terminating ones included. Kubernetes forgets such a pod although its
  /// processes may still run: they may use the driver, and write to volumes that another node has mounted since.
  kForceDelete,
};

/// Treatment of a node that could not be evacuated, and whose old driver was not touched.
enum class OnFailure : std::uint8_t {
  kFail,  ///< It stays cordoned as failed. The Go library's behaviour.
  /// It returns to service with its old driver, as failed: it is uncordoned if the cordon is ours, and holds no slot.
  kGiveBack,
};

/// podDeletion: evicts the pods that use the driver. Which those are, the embedding operator says (PodFilter), and
/// `pod_selector`.
struct PodDeletionPolicy {
  /// Also pods that no controller will replace. While false, one such pod ends the stage at once: the node goes to
  /// drain-required if there is a drain policy, else to upgrade-failed.
  bool force = false;
  /// Also pods with emptyDir volumes, whose data are lost. While false, one such pod ends the stage in the same way.
  bool delete_empty_dir = false;
  /// Pods that use the driver beside those that the operator's PodFilter names; none when empty, the default. For pods
  /// that hold the driver without asking for a resource.
  LabelSelector pod_selector = {};
  /// From entering pod-deletion-required; then drain-required if there is a drain policy, else upgrade-failed.
  /// Positive. Longer than the grace periods of the pods, and than a disruption budget needs to recover.
  absl::Duration timeout = absl::Seconds(300);
  /// kDelete only if the driver matters more than the workloads; never reached with an infinite timeout. A pod that is
  /// still there a minute after its grace period, on a node that is ready, ends the stage as with kFail.
  OnTimeout on_timeout = OnTimeout::kFail;
  /// Has no effect if there is a drain policy, because the drain comes next.
  OnFailure on_failure = OnFailure::kFail;
  friend bool operator==(const PodDeletionPolicy&, const PodDeletionPolicy&) = default;
};

/// drain: evicts all pods but those of DaemonSets, static ones, and those the selector leaves out.
struct DrainPolicy {
  /// Also pods that no controller will replace. While false, one such pod fails the drain before any pod is evicted.
  bool force = false;
  /// Also pods with emptyDir volumes, whose data are lost. While false, one such pod fails the drain in the same way.
  bool delete_empty_dir = false;
  /// Which pods to drain; the default selects all. Pods that are left out keep running while the driver is replaced, so
  /// leave out only pods that do not use the driver.
  LabelSelector pod_selector = {};
  /// From entering drain-required, after the time of PodDeletionPolicy; then upgrade-failed. Positive. Without a limit
  /// a disruption budget may hold a slot for good.
  absl::Duration timeout = absl::Seconds(300);
  /// Same as in PodDeletionPolicy.
  OnTimeout on_timeout = OnTimeout::kFail;
  /// kGiveBack if a node with the old driver is better than a cordoned one.
  OnFailure on_failure = OnFailure::kFail;
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
  /// Time for the new driver pod to become ready; then upgrade-failed. Positive. Set it above the longest start that was
  /// ever seen. nullopt, the default, means 30 minutes if the policy has a `rollout` or a `failure_policy`. Otherwise there
  /// is no limit, as in the Go library, and a mistyped version holds its slot indefinitely.
  std::optional<absl::Duration> pod_restart = std::nullopt;
  /// For the validation pods to become ready, once the driver pod is; then upgrade-failed. Positive. Without effect
  /// where the operator validates nothing (StateMachineOptions::validation_selector).
  absl::Duration validation = absl::Seconds(600);
  friend bool operator==(const DeadlinePolicy&, const DeadlinePolicy&) = default;
};

/// failurePolicy: without it a failed node holds its slot, so that failures bring the rollout to a stop one by one.
struct FailurePolicy {
  /// Failed nodes hold no slot; when there are so many, no further node starts, and those in progress finish. At least
  /// 1, the default; percentages are of the managed nodes, and round down, to 1 at least. Failed nodes stay cordoned
  /// and count as unavailable, so keep this below `max_unavailable`: as many failures as show that a driver is bad.
  CountOrPercent max_failures = Count{1};
  /// Budgets of single classes of failures beside `max_failures`: whichever is used up first stops the rollout. Each at
  /// least 1; none by default. A node that failed before the policy had this has no class.
  FailureBudgets by_class = {};
  friend bool operator==(const FailurePolicy&, const FailurePolicy&) = default;
};

/// retry: takes failed nodes back to upgrade-required by themselves.
struct RetryPolicy {
  /// Retries of one node at one target revision, each of which needs a slot; 0, the default: none. 3 for failures that
  /// pass by themselves; 0 if somebody is to look first. A new target revision takes failed nodes back in any case.
  int max_attempts = 0;
  /// From the first failure to the first retry; doubles with each, up to 24 h. Positive, and longer than the usual
  /// trouble lasts; infinite: no retry ever comes.
  absl::Duration backoff = absl::Minutes(1);
  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

/// Driver pods that are bound to no node.
enum class OnUnscheduledPods : std::uint8_t {
  kCountUnavailable,  ///< Each counts as one unavailable node.
  kIgnore,
};

/// Selects what is isolated while the driver of a node is replaced.
enum class IsolationScope : std::uint8_t {
  kNode,     ///< The node is cordoned.
  kDevices,  ///< Only the driver's devices are tainted. A node where that cannot be done waits.
  kAuto,     ///< The devices where that can be done, otherwise the node.
};

/// isolation: pods that do not use the driver stay on the node while it is replaced, and new ones may come. Needs
/// Kubernetes 1.37 and devices that are published by a DRA driver.
struct IsolationPolicy {
  IsolationScope scope = IsolationScope::kNode;
  /// Pause between the taint, once the controller manager has seen it, and the first eviction. Claims that the scheduler
  /// was about to allocate show up in this time. At least 0. Nothing tells when the scheduler has seen a taint; a busy one needs seconds.
  absl::Duration settle = absl::Seconds(10);
  /// DRA drivers whose devices depend on this driver. Each has one pool on a node, which is named like the node.
  std::vector<std::string> device_drivers = {"gpu.nvidia.com", "compute-domain.nvidia.com"};
  /// Extended resources of device plugins of this driver; a name may end with `*`. A node that offers one is cordoned: taints of
  /// devices do not concern device plugins.
  std::vector<std::string> plugin_resources = {"nvidia.com/gpu*", "nvidia.com/mig-*"};
  /// Schedulers that take account of such taints. A node with a pod of another one that holds a device is cordoned.
  std::vector<std::string> scheduler_names = {"default-scheduler"};
  /// The validation pods claim devices with a toleration of the taint. Otherwise a node is cordoned for its validation.
  bool validator_tolerates = false;
  friend bool operator==(const IsolationPolicy&, const IsolationPolicy&) = default;
};

struct UpgradePolicy {
  /// False, the default, freezes every node where it stands, and nothing is written; true goes on from there. Stronger
  /// than `paused`: for emergencies and upgrades by hand.
  bool auto_upgrade = false;
  /// Why autoUpgrade is off, if the author of the policy did not say so: nodes wait with these words. In no document.
  std::string frozen_because = {};
  /// True admits no further node; those in progress finish. The gentle stop, before a weekend or when a driver looks
  /// bad.
  bool paused = false;
  /// Nodes in progress at once; at least 1, and 1 by default; nullopt: no limit. Both this and `max_unavailable` must
  /// let a node start. A failed node counts unless there is a `failure_policy`. As many as the workloads can lose at
  /// once.
  std::optional<int> max_parallel = 1;
  /// An available node starts only while fewer nodes than this are unavailable: cordoned or not ready, for whatever
  /// reason, so nodes in progress and failed ones count. At least 0, which starts only nodes that are cordoned already;
  /// a percentage is of the managed nodes and rounds up, and 100 % or more never limits; nullopt, the default: no limit.
  /// More than are usually broken, or nothing starts.
  std::optional<CountOrPercent> max_unavailable = std::nullopt;
  /// nullopt, the default: the upgrade waits for no pods.
  std::optional<WaitForCompletionPolicy> wait_for_completion = std::nullopt;
  /// nullopt, the default, stands for PodDeletionPolicy's defaults where the operator has a PodFilter.
  std::optional<PodDeletionPolicy> pod_deletion = std::nullopt;
  /// nullopt, the default: no drain, and pod deletion that does not succeed fails the node. Where there is pod
  /// deletion, the drain comes only after it has not succeeded; otherwise always.
  std::optional<DrainPolicy> drain = std::nullopt;
  /// kEveryState for dashboards that have to see every state; it costs more requests.
  Pacing pacing = Pacing::kChained;
  /// The administrator's cordon stays in any case. kIgnore if people work on cordoned nodes.
  CordonedNodes cordoned_nodes = CordonedNodes::kProceed;
  /// Whether a driver pod that is not bound makes the node that its affinity names unavailable. It counts in
  /// `max_unavailable` alone. kIgnore if such pods are usual and use it up.
  OnUnscheduledPods on_unscheduled_pods = OnUnscheduledPods::kCountUnavailable;
  /// How long the driver and its validation may take.
  DeadlinePolicy deadlines = {};
  /// nullopt, the default: each failed node holds its slot, so that `max_parallel` failures stop the rollout.
  std::optional<FailurePolicy> failure_policy = std::nullopt;
  RetryPolicy retry = {};
  /// The node, by default.
  IsolationPolicy isolation = {};
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
  OnUnscheduledPods on_unscheduled_pods = OnUnscheduledPods::kCountUnavailable;
  /// With the default of `pod_restart` filled in.
  DeadlinePolicy deadlines = {};
  /// Without a failurePolicy.
  bool failed_hold_slots = true;
  /// Whether a node that fails is to carry the class of its failure: with FailurePolicy::by_class.
  bool classify_failures = false;
  RetryPolicy retry = {};
  /// Whether nodes that are not upgraded get the taint that steers gangs to other nodes.
  bool steer_gangs = false;
  IsolationPolicy isolation = {};
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
  std::optional<RolloutPolicy> rollout = std::nullopt;
  friend bool operator==(const AdmissionLimits&, const AdmissionLimits&) = default;
};

/// InvalidArgument, with the name of the field as the documents spell it, if a number or a duration is out of
/// range.
[[nodiscard]] absl::Status Validate(const UpgradePolicy& policy);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_UPGRADE_POLICY_H_
