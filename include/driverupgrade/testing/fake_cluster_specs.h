/// The parts of a FakeCluster: its objects, their behavior, its clock, and its reports of calls and changes.
///
/// Defines FakeClock, PodBehavior, DaemonSetSpec, DeviceRequest, ResourceClaimSpec, WorkloadSpec, DisruptionBudgetSpec,
/// MaintenanceOperatorOptions, DeviceOptions, FakeClusterOptions, Call, FaultHook, Actor, Versions, Change and
/// ChangeObserver.
///
///     cluster->AddDaemonSet({.ns = "gpu", .name = "driver", .behavior = {.start_delay = absl::Minutes(2)}});
///     cluster->SetChangeObserver([](const Change& change) { if (change.node.after) Note(*change.node.after); });
///
/// Values. See fake_cluster.h.
#ifndef DRIVERUPGRADE_TESTING_FAKE_CLUSTER_SPECS_H_
#define DRIVERUPGRADE_TESTING_FAKE_CLUSTER_SPECS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/abseil_abi.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/device_types.h"
#include "driverupgrade/label_selector.h"

namespace driverupgrade::testing {

/// A clock that moves only on request:
///
///     auto clock = std::make_shared<FakeClock>();
///     clock->Advance(absl::Minutes(5));
///     clock->SleepFor(absl::Seconds(10), {});  // returns immediately, ten seconds later
///
/// Thread-safe. A FakeCluster and everything that is tested with it should share one clock.
class FakeClock final : public Clock {
 public:
  /// Returns 2026-01-01T00:00:00Z, so that every run starts at the same time.
  static absl::Time DefaultStart();

  explicit FakeClock(absl::Time start = DefaultStart());
  absl::Time Now() const override;
  /// Advances the clock by `duration` and returns true. If a stop has already been requested, returns false and leaves
  /// the clock unchanged. Never blocks, so that a loop with sleeps runs through hours of virtual time instantly.
  /// Intended for one sleeping thread: if several threads sleep in parallel, their durations add up.
  bool SleepFor(absl::Duration duration, std::stop_token stop) override;
  /// Advances the clock by `duration`; a negative duration sets it back.
  void Advance(absl::Duration duration);
  /// May set the clock back, as an administrator or NTP would.
  void SetTime(absl::Time time);
  /// Like SetTime, but never sets the clock back. Returns the resulting time.
  absl::Time AdvanceTo(absl::Time time);
  /// Calls `listener` after every move, on the thread that moved the clock, as long as the returned object exists. The
  /// listener may read the clock, but must not move it or use a FakeCluster, because the cluster might be in the middle
  /// of a step.
  [[nodiscard]] std::shared_ptr<const void> OnMove(std::function<void()> listener);

 private:
  using Listener = std::function<void()>;
  /// Sets the time to `move(now)` and returns it.
  template <class F>
  absl::Time Move(F move);

  mutable std::mutex mutex_;
  absl::Time now_;
  std::vector<std::weak_ptr<const Listener>> listeners_;
};

/// Timing of a pod's life cycle in the kubelet. While the node is not ready, the whole life cycle is suspended.
struct PodBehavior {
  /// Time from the binding of the pod until it is Running and ready.
  absl::Duration start_delay = absl::Seconds(5);
  /// Time from the deletion of the pod until the object disappears. If longer than the grace period, the pod behaves as
  /// if it had a finalizer. Infinite: the object never disappears.
  absl::Duration stop_delay = absl::Seconds(2);
  /// Additional time, between `stop_delay` and the end of the object, in which the pod has the phase Failed and its
  /// volumes are being unmounted.
  absl::Duration unmount_delay = absl::ZeroDuration();
  /// Time from the deletion to the deletionTimestamp; zero: the object disappears immediately.
  absl::Duration grace_period = absl::Seconds(30);
  /// Time from Running to Succeeded, for pods that finish on their own, like the pods of a Job; at least one second.
  absl::Duration run_time = absl::InfiniteDuration();
};

struct DaemonSetSpec {
  std::string ns = {};
  std::string name = {};
  /// Labels of the DaemonSet itself.
  StringMap labels = {};
  /// Selector of the DaemonSet, and labels of every pod; empty: `app=<name>`.
  StringMap match_labels = {};
  /// Additional labels of every pod.
  StringMap template_labels = {};
  /// Pods run on the nodes that have these labels, including cordoned nodes.
  StringMap node_selector = {};
  /// Not modeled: the pods are created despite all taints.
  std::optional<std::vector<Toleration>> tolerations = std::nullopt;
  /// Identifies the pod template; becomes the label controller-revision-hash.
  std::string hash = "rev-1";
  /// The pod template as JSON, for the `data` of the ControllerRevision; empty: a template whose image is named after
  /// the hash.
  std::string template_json = {};
  bool on_delete = true;
  PodBehavior behavior = {};
  std::vector<std::string> resource_names = {};
  /// True if the pods on existing nodes are Running and ready immediately.
  bool started = true;
};

/// Devices of one DRA driver, all on one node.
struct DeviceRequest {
  std::string driver = {};
  /// Number of devices. Zero: the request can be allocated on every node, regardless of its devices.
  int count = 1;
  /// True if the request has admin access: it shares devices with other claims, but is not exempt from taints.
  bool admin_access = false;
};

struct ResourceClaimSpec {
  std::string ns = {};
  std::string name = {};
  DeviceRequest request = {};
  /// UID of the pod that owns the claim; empty: no pod owns the claim, and pods share it.
  std::string pod_uid = {};
};

/// Pods that are replaced when they are deleted: a ReplicaSet, as created by a Deployment, or a StatefulSet.
struct WorkloadSpec {
  /// A ReplicaSet creates a replacement with another name as soon as the deletion of a pod starts. A StatefulSet
  /// creates the replacement when the pod no longer exists, with the same name and another UID.
  enum class Kind : std::uint8_t { kReplicaSet, kStatefulSet };
  Kind kind = Kind::kReplicaSet;
  std::string ns = {};
  std::string name = {};
  /// Labels of the pods; empty: `app=<name>`.
  StringMap labels = {};
  StringMap node_selector = {};
  int replicas = 1;
  PodBehavior behavior = {};
  bool has_empty_dir = false;
  /// True if the pods tolerate the taint of cordoned nodes. The scheduler then prefers cordoned nodes, which is the
  /// worst case for a drain.
  bool tolerates_cordon = false;
  std::vector<std::string> resource_names = {};
  /// Devices that each pod requests through its own ResourceClaim, as if created from a ResourceClaimTemplate; nullopt:
  /// none.
  std::optional<DeviceRequest> devices = std::nullopt;
  /// True if the first pods are Running and ready immediately, provided that a node accepts them.
  bool started = true;
};

/// Set either min_available or max_unavailable. max_unavailable refers to the replicas of the workloads whose pods the
/// budget selects. A budget with max_unavailable allows no disruptions if none of the selected pods has an owner, or if
/// at least one of them is controlled by an object that is not a WorkloadSpec.
struct DisruptionBudgetSpec {
  std::string ns = {};
  std::string name = {};
  /// The default selects every pod in the namespace.
  LabelSelector selector = {};
  std::optional<int> min_available = {};
  std::optional<int> max_unavailable = {};
  /// unhealthyPodEvictionPolicy: AlwaysAllow instead of IfHealthyBudget.
  bool always_allow_unhealthy = false;
  /// False: the disruption controller has not processed the budget yet, and evictions are refused with a Retry-After of
  /// 10 s.
  bool processed = true;
};

/// NVIDIA's maintenance operator, which processes NodeMaintenances: it cordons, waits, drains, reports Ready, and
/// releases the node when the object is deleted.
struct MaintenanceOperatorOptions {
  /// Time from a change to an object until the operator's next step, which advances the object by one state.
  absl::Duration step_delay = absl::Seconds(1);
  /// Time between two checks of the pods that the operator waits for or drains, and between two attempts to evict a
  /// pod.
  absl::Duration poll_interval = absl::Seconds(10);
  /// maxParallelOperations: number of nodes that may have an object in a state after Pending; nullopt: any number.
  std::optional<int> parallel = {};
};

/// The DRA kinds that the cluster serves, and how its components handle DeviceTaintRules.
struct DeviceOptions {
  enum class Served : std::uint8_t {
    kNone,
    kClaims,  ///< Only ResourceClaims and ResourceSlices, as in Kubernetes 1.34 to 1.36.
    kRules,   ///< DeviceTaintRules as well.
  };
  Served served = Served::kRules;
  /// Time for which the scheduler still allocates devices after they have been tainted.
  absl::Duration late_allocations = absl::ZeroDuration();
  /// Time until the device-taint-eviction controller has set its condition; nullopt: the feature gate of the controller
  /// is off, and the controller never sets the condition.
  std::optional<absl::Duration> controller_delay = absl::ZeroDuration();
};

struct FakeClusterOptions {
  /// Time from SetTemplate until the controller has observed the new template and created its ControllerRevision. Pods
  /// created in the meantime have the old template.
  absl::Duration template_delay = absl::ZeroDuration();
  /// Time until a controller replaces a pod.
  absl::Duration controller_delay = absl::ZeroDuration();
  /// Time until an unbound pod is bound. DaemonSet pods are created bound.
  absl::Duration scheduler_delay = absl::ZeroDuration();
  /// Time between the removal of a node and the removal of its pods.
  absl::Duration pod_gc_delay = absl::ZeroDuration();
  /// First pause between two restarts of a crashing container; doubles up to `crash_backoff_max`. At least one second.
  absl::Duration crash_backoff_initial = absl::Seconds(10);
  absl::Duration crash_backoff_max = absl::Seconds(300);
  DeviceOptions devices = {};
  /// The resource version of the empty cluster; at least 1000. A value just below a power of ten soon leads to versions
  /// with one more digit.
  std::int64_t first_revision = 1000;
  /// True if journal() is recorded. Counters are always recorded.
  bool keep_journal = true;
  /// Number of past commits of each kind that a watch can read; the same number of old object versions is kept in
  /// memory.
  std::size_t watch_log_size = 100'000;
  /// False: every watch ends with a bookmark when it has reported all existing data, like FakeCluster::Poll. A
  /// WatchCache then needs no threads (WatchCache::Turn).
  bool watches_follow = true;
  /// Time between two bookmarks of a watch that is up to date.
  absl::Duration bookmark_period = absl::InfiniteDuration();
};

/// One call through the facade.
struct Call {
  /// Consecutive number 1, 2, ... in order of arrival.
  std::int64_t number = 0;
  Operation operation = Operation::kGetNode;
  absl::Time time = absl::UnixEpoch();
  /// `gpu-7` or `team-a/web-1`. For a list: the namespace and node to which the list is restricted; empty without a
  /// restriction.
  std::string object = {};
  /// All other parameters of the call, as human-readable text.
  std::string parameters = {};
  /// Status that the call returned. Because of a fault, it can differ from the real outcome (`applied`).
  absl::StatusCode code = absl::StatusCode::kOk;
  /// The error's message, or the kind of the EvictionAnswer.
  std::string answer = {};
  /// True if the call reached the model; false if a fault, a stop or the deadline prevented this.
  bool applied = false;
};

/// Runs before or after the model processes a call. No lock is held, so the hook may use the cluster. If the hook
/// returns a status, this status replaces the model's result. If a hook that runs before the model returns a status,
/// the call is not applied.
using FaultHook = std::function<std::optional<absl::Status>(const Call&)>;

enum class Actor : std::uint8_t { kClient, kAdministrator, kCluster };

template <class T>
struct Versions {
  /// Null if the object was created.
  const T* before = nullptr;
  /// Null if the object was removed.
  const T* after = nullptr;
};

/// One commit. Exactly one of the pairs of versions is set. The pointers are valid only during the call.
struct Change {
  std::int64_t revision = 0;
  absl::Time time = absl::UnixEpoch();
  Actor actor = Actor::kCluster;
  Versions<Node> node = {};
  Versions<Pod> pod = {};
  Versions<DaemonSet> daemon_set = {};
  Versions<ControllerRevision> controller_revision = {};
  Versions<NodeMaintenance> node_maintenance = {};
  Versions<DeviceTaintRule> device_taint_rule = {};
  Versions<ResourceClaim> resource_claim = {};
  Versions<ResourceSlice> resource_slice = {};
  Versions<Lease> lease = {};
  Versions<ConfigMap> config_map = {};
};
/// Runs after each commit, on the thread that caused the commit, with the cluster locked, so it must not use the
/// cluster. Receives every change, in order.
using ChangeObserver = std::function<void(const Change&)>;

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_TESTING_FAKE_CLUSTER_SPECS_H_
