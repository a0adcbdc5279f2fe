/// An administrator's settings for the upgrade of a driver.
///
/// Defines UpgradePolicy, its sections except `rollout` (rollout_policy.h), and the two parts of a policy on which
/// decisions are based: NodeRules and AdmissionLimits.
///
///     UpgradePolicy policy{.auto_upgrade = true, .max_parallel = 2, .max_unavailable = Percent{25}};
///     policy.drain = DrainPolicy{.timeout = absl::Minutes(5)};
///
/// The types contain no sentinels. In documents (policy_codec.h), 0 means "no limit" or "no timeout"; here, nullopt and
/// absl::InfiniteDuration() have that meaning. A section that is nullopt is switched off. Fields have the same meaning
/// as in the custom resources of NVIDIA's GPU Operator and Network Operator. Timeouts are positive. All types are value
/// types.
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

/// waitForCompletion: pods that may finish before the node is evacuated.
struct WaitForCompletionPolicy {
  /// Selects the pods to wait for, in any namespace; empty, the default: none. Pods that still exist afterwards are
  /// evicted according to `pod_deletion` and `drain`.
  LabelSelector pod_selector = {};
  /// Time since the node entered wait-for-jobs-required, after which the upgrade continues even if pods are still
  /// running. Positive. By default, there is no limit, so a job that never ends holds the slot indefinitely. Use the
  /// duration of the longest job worth sparing.
  absl::Duration timeout = absl::InfiniteDuration();
  friend bool operator==(const WaitForCompletionPolicy&, const WaitForCompletionPolicy&) = default;
};

/// Treatment of pods that are still on the node when the timeout for their eviction expires.
enum class OnTimeout : std::uint8_t {
  kFail,    ///< The pods stay; the node's upgrade fails, or pod deletion falls back to a drain.
  kDelete,  ///< The pods are deleted despite disruption budgets, with their grace period and a UID precondition.
  /// All pods, including terminating pods, are deleted with a grace period of zero. Kubernetes then forgets the pods
  /// even if their processes are still running. These processes can use the driver, and can write to volumes that
  /// another node has since mounted.
  kForceDelete,
};

/// Treatment of a node that could not be evacuated, and whose driver has therefore not been replaced.
enum class OnFailure : std::uint8_t {
  kFail,  ///< The node stays cordoned and is marked as failed. Same as in the Go library.
  /// The node returns to service with its old driver, but is marked as failed. It holds no slot, and is uncordoned if
  /// the cordon belongs to the engine.
  kGiveBack,
};

/// podDeletion: evicts the pods that use the driver, as selected by the embedding operator (PodFilter) and by
/// `pod_selector`.
struct PodDeletionPolicy {
  /// True: also evicts pods that no controller will replace. False: one such pod ends the phase immediately, and the
  /// node moves to drain-required if there is a drain policy, otherwise to upgrade-failed.
  bool force = false;
  /// True: also evicts pods with emptyDir volumes, whose data is lost. False: one such pod ends the phase immediately,
  /// as described for `force`.
  bool delete_empty_dir = false;
  /// Selects pods that use the driver, in addition to the pods that the operator's PodFilter selects; empty (the
  /// default): none. Intended for pods that use the driver without requesting a resource.
  LabelSelector pod_selector = {};
  /// Time since the node entered pod-deletion-required, after which it enters drain-required if there is a drain
  /// policy, otherwise upgrade-failed. Positive. Should exceed the pods' grace periods, and the time that a disruption
  /// budget needs to recover.
  absl::Duration timeout = absl::Seconds(300);
  /// Use kDelete only if the driver matters more than the workloads. Has no effect with an infinite timeout. If a
  /// deleted pod still exists on a ready node one minute after the end of its grace period, the phase ends as it does
  /// with kFail.
  OnTimeout on_timeout = OnTimeout::kFail;
  /// Has no effect if there is a drain policy, because a drain follows.
  OnFailure on_failure = OnFailure::kFail;
  friend bool operator==(const PodDeletionPolicy&, const PodDeletionPolicy&) = default;
};

/// drain: evicts all pods except pods of DaemonSets, static pods, and pods that the selector excludes.
struct DrainPolicy {
  /// True: also evicts pods that no controller will replace. False: one such pod fails the drain before any pod is
  /// evicted.
  bool force = false;
  /// True: also evicts pods with emptyDir volumes, whose data is lost. False: one such pod fails the drain before any
  /// pod is evicted.
  bool delete_empty_dir = false;
  /// Selects the pods to drain; by default, all. Excluded pods keep running while the driver is replaced, so exclude
  /// only pods that do not use the driver.
  LabelSelector pod_selector = {};
  /// Time since the node entered drain-required, after which it enters upgrade-failed. Time spent in pod deletion does
  /// not count. Positive. Without a limit, a disruption budget can hold a slot indefinitely.
  absl::Duration timeout = absl::Seconds(300);
  /// Same as in PodDeletionPolicy.
  OnTimeout on_timeout = OnTimeout::kFail;
  /// Use kGiveBack if you prefer a node with the old driver to a cordoned node.
  OnFailure on_failure = OnFailure::kFail;
  friend bool operator==(const DrainPolicy&, const DrainPolicy&) = default;
};

/// Defines how many states a node can pass through in one pass.
enum class Pacing : std::uint8_t {
  kChained,     ///< The node moves through all states that need no wait, in one write.
  kEveryState,  ///< One state per write, same as in the Go library.
};

/// Treatment of nodes that an administrator cordoned before the upgrade.
enum class CordonedNodes : std::uint8_t {
  kProceed,       ///< Such nodes start immediately, and do not count against maxParallel. Same as in the Go library.
  kWithinBudget,  ///< Such nodes take a maxParallel slot like any other node.
  kIgnore,        ///< Such nodes wait until they are uncordoned.
};

struct DeadlinePolicy {
  /// Time for the new driver pod to become ready, after which the node enters upgrade-failed. Positive. Set it above
  /// the longest startup time ever observed. nullopt, the default, means 30 minutes if the policy has a `rollout` or a
  /// `failure_policy`. Otherwise, it means no limit, as in the Go library: if the driver's version is mistyped, nodes
  /// hold their slots indefinitely.
  std::optional<absl::Duration> pod_restart = std::nullopt;
  /// Time for the validation pods to become ready once the driver pod is ready, after which the node enters
  /// upgrade-failed. Positive. Ignored if the operator has no validation (StateMachineOptions::validation_selector).
  absl::Duration validation = absl::Seconds(600);
  friend bool operator==(const DeadlinePolicy&, const DeadlinePolicy&) = default;
};

/// failurePolicy: limits the number of failed nodes. Without a failure policy, a failed node holds its slot, so
/// failures gradually bring the rollout to a stop.
struct FailurePolicy {
  /// Number of failed nodes at which no more nodes start; nodes in progress finish. Failed nodes hold no slot. At least
  /// 1, the default. Percentages are relative to the number of managed nodes and are rounded down, but to at least 1.
  /// Failed nodes stay cordoned and count as unavailable, so keep this number below `max_unavailable`. Choose the
  /// number of failures at which the driver itself must be considered faulty.
  CountOrPercent max_failures = Count{1};
  /// Budgets for individual classes of failures, in addition to `max_failures`: the first budget that is used up stops
  /// the rollout. Each budget is at least 1; there are no budgets by default. Nodes that failed before the policy had
  /// such budgets have no class.
  FailureBudgets by_class = {};
  friend bool operator==(const FailurePolicy&, const FailurePolicy&) = default;
};

/// retry: returns failed nodes to upgrade-required automatically.
struct RetryPolicy {
  /// Number of retries per node and target revision; 0, the default: none. Each retry needs a slot. Use 3 for transient
  /// failures, and 0 if an administrator should investigate first. A new target revision always returns failed nodes to
  /// upgrade-required.
  int max_attempts = 0;
  /// Time from the first failure to the first retry; doubles with each retry, up to 24 h. Positive; infinite: no
  /// retries. Set it longer than a typical problem lasts.
  absl::Duration backoff = absl::Minutes(1);
  friend bool operator==(const RetryPolicy&, const RetryPolicy&) = default;
};

/// Treatment of driver pods that are not bound to a node.
enum class OnUnscheduledPods : std::uint8_t {
  kCountUnavailable,  ///< A node with such a pod, but without another driver pod, counts as unavailable.
  kIgnore,
};

/// The scope of isolation while a node's driver is replaced.
enum class IsolationScope : std::uint8_t {
  kNode,     ///< The node is cordoned.
  kDevices,  ///< Only the driver's devices are tainted. A node whose devices cannot be tainted waits.
  kAuto,     ///< Only the devices are tainted if possible; otherwise the node is cordoned.
};

/// isolation: with device isolation, pods that do not use the driver stay on the node while the driver is replaced, and
/// new pods can start. Requires Kubernetes 1.37 and devices that a DRA driver publishes.
struct IsolationPolicy {
  IsolationScope scope = IsolationScope::kNode;
  /// Pause between the moment the controller manager has seen the taint and the first eviction. Claims that the
  /// scheduler was about to allocate become visible during this pause. At least 0. The pause is fixed, because the
  /// scheduler does not report when it has seen a taint; a busy scheduler needs seconds.
  absl::Duration settle = absl::Seconds(10);
  /// DRA drivers whose devices depend on this driver. Each DRA driver has one pool per node, named after the node.
  std::vector<std::string> device_drivers = {"gpu.nvidia.com", "compute-domain.nvidia.com"};
  /// Extended resources of this driver's device plugins; a name may end with `*`. A node that offers such a resource is
  /// cordoned, because device taints do not affect device plugins.
  std::vector<std::string> plugin_resources = {"nvidia.com/gpu*", "nvidia.com/mig-*"};
  /// Schedulers that respect device taints. If a pod of another scheduler uses a device, its node is cordoned.
  std::vector<std::string> scheduler_names = {"default-scheduler"};
  /// True if the validation pods claim devices with a toleration for the taint. If false, a node is cordoned during its
  /// validation.
  bool validator_tolerates = false;
  friend bool operator==(const IsolationPolicy&, const IsolationPolicy&) = default;
};

struct UpgradePolicy {
  /// False, the default, freezes every node in its current state and writes nothing; true lets every node continue from
  /// that state. Stronger than `paused`: for emergencies and manual upgrades.
  bool auto_upgrade = false;
  /// The reason why autoUpgrade is off, if the program turned it off rather than the author of the policy. The gates of
  /// waiting nodes show this text. Not part of any document.
  std::string frozen_because = {};
  /// True: no more nodes start, and nodes in progress finish. Use it for a gentle stop, for example before a weekend or
  /// if a driver seems faulty.
  bool paused = false;
  /// Maximum number of nodes in progress; at least 1, and 1 by default; nullopt: no limit. A node starts only if both
  /// this limit and `max_unavailable` allow it. A failed node counts unless there is a `failure_policy`. Set the limit to
  /// the number of nodes that the workloads can lose at the same time.
  std::optional<int> max_parallel = 1;
  /// An available node starts only while fewer nodes than this are unavailable, which means cordoned or not ready for
  /// any reason, so nodes in progress and failed nodes count. At least 0; with 0, only nodes that are already cordoned
  /// start. A percentage is relative to the number of managed nodes and is rounded up; 100 % or more never limits.
  /// nullopt, the default: no limit. Must exceed the usual number of broken nodes, or nothing starts.
  std::optional<CountOrPercent> max_unavailable = std::nullopt;
  /// nullopt, the default: the upgrade does not wait for pods.
  std::optional<WaitForCompletionPolicy> wait_for_completion = std::nullopt;
  /// nullopt, the default, means PodDeletionPolicy's defaults if the operator has a PodFilter.
  std::optional<PodDeletionPolicy> pod_deletion = std::nullopt;
  /// nullopt, the default: no drain, and failed pod deletion fails the node. With pod deletion, a node is drained only
  /// if pod deletion has failed; without pod deletion, every node is drained.
  std::optional<DrainPolicy> drain = std::nullopt;
  /// Use kEveryState if dashboards must see every state; it requires more requests.
  Pacing pacing = Pacing::kChained;
  /// An administrator's cordon always stays. Use kIgnore if administrators work on cordoned nodes.
  CordonedNodes cordoned_nodes = CordonedNodes::kProceed;
  /// Defines whether a node without a driver pod counts as unavailable while a driver pod with an affinity for the node
  /// is not bound. Such a pod takes no slot. Use kIgnore if such pods are common and use up the limit.
  OnUnscheduledPods on_unscheduled_pods = OnUnscheduledPods::kCountUnavailable;
  /// Time limits for the driver pod and the validation pods to become ready.
  DeadlinePolicy deadlines = {};
  /// nullopt, the default: each failed node holds its slot, so `max_parallel` failures stop the rollout.
  std::optional<FailurePolicy> failure_policy = std::nullopt;
  RetryPolicy retry = {};
  /// By default, the whole node is isolated.
  IsolationPolicy isolation = {};
  /// For the operator, which configures the init container of the driver pod to request safe load. The engine ignores
  /// this field and acts only on DriverIdentity::SafeLoadAnnotation.
  bool safe_load = false;
  /// Stages, order and times in which nodes start, in addition to the limits; nullopt: no rollout. With a rollout, an
  /// engine needs a ledger (EngineOptions::ledger).
  std::optional<RolloutPolicy> rollout = std::nullopt;
  friend bool operator==(const UpgradePolicy&, const UpgradePolicy&) = default;
};

/// The fields of a policy that determine how a single node is evaluated. Every field of a policy except `safe_load` is
/// here or in AdmissionLimits.
struct NodeRules {
  NodeRules() = default;
  /// Implicit, so that a whole policy can be passed as the rules.
  NodeRules(const UpgradePolicy& policy);  // NOLINT(google-explicit-constructor)
  bool auto_upgrade = false;
  std::string frozen_because = {};
  std::optional<WaitForCompletionPolicy> wait_for_completion = std::nullopt;
  std::optional<PodDeletionPolicy> pod_deletion = std::nullopt;
  std::optional<DrainPolicy> drain = std::nullopt;
  Pacing pacing = Pacing::kChained;
  CordonedNodes cordoned_nodes = CordonedNodes::kProceed;
  OnUnscheduledPods on_unscheduled_pods = OnUnscheduledPods::kCountUnavailable;
  /// UpgradePolicy::deadlines with the default of `pod_restart` filled in.
  DeadlinePolicy deadlines = {};
  /// True if the policy has no failurePolicy.
  bool failed_hold_slots = true;
  /// True if a failed node is marked with the class of its failure, as FailurePolicy::by_class requires.
  bool classify_failures = false;
  RetryPolicy retry = {};
  /// True if each gang is interrupted only once. Evictions then require that the node has not changed since it was
  /// read.
  bool keep_gangs = false;
  /// True if nodes that are not upgraded yet get the taint that steers gangs to other nodes.
  bool steer_gangs = false;
  /// Keys of the labels that decide a node's stage and group, sorted. A node keeps these labels in an annotation while
  /// its upgrade is in progress, because gpu-feature-discovery removes its labels while the driver is being replaced.
  std::vector<std::string> rollout_labels = {};
  IsolationPolicy isolation = {};
  friend bool operator==(const NodeRules&, const NodeRules&) = default;
};

/// The fields of a policy that decide which waiting nodes may start. A change to only these fields does not change the
/// evaluation of any single node.
struct AdmissionLimits {
  AdmissionLimits() = default;
  /// Implicit, so that a whole policy can be passed as the limits.
  AdmissionLimits(const UpgradePolicy& policy);  // NOLINT(google-explicit-constructor)
  bool paused = false;
  std::optional<int> max_parallel = 1;
  std::optional<CountOrPercent> max_unavailable = std::nullopt;
  /// nullopt: the policy has no failurePolicy.
  std::optional<CountOrPercent> max_failures = std::nullopt;
  FailureBudgets failures_by_class = {};
  std::optional<RolloutPolicy> rollout = std::nullopt;
  friend bool operator==(const AdmissionLimits&, const AdmissionLimits&) = default;
};

/// Returns InvalidArgument, with the name of the field as in documents, if a number or a duration is out of range.
[[nodiscard]] absl::Status Validate(const UpgradePolicy& policy);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_UPGRADE_POLICY_H_
