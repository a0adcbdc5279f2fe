/// A small model of a Kubernetes cluster on a virtual clock, for tests of upgrades: API server, DaemonSet and
/// ReplicaSet controllers, scheduler, kubelets, and disruption budgets.
///
/// Defines FakeCluster. See fake_cluster_specs.h for its objects and reports, and builders.h for nodes, pods and
/// whole fleets.
///
///     auto clock = std::make_shared<FakeClock>();
///     auto cluster = std::make_shared<FakeCluster>(clock);
///     cluster->AddNode(NodeBuilder("n1").Build());
///     cluster->AddDaemonSet({.ns = "gpu", .name = "driver", .hash = "old"});  // its pod on n1 is ready
///     cluster->SetTemplate("gpu", "driver", "new");                           // the pod is out of date now
///     cluster->FailNext(Operation::kPatchNode, absl::UnavailableError("etcd"));
///     cluster->Advance(absl::Minutes(1));
///
/// - Deterministic: it uses no real time, no random numbers and no unordered containers. Equal calls produce equal
///   clusters, including resourceVersions ("1001", "1002", ... from one counter), UIDs and pod names.
/// - Time: the cluster's own actions are queued and run in chronological order. Every method below, and every method of
///   the facade, first runs the actions that are due. Advance and RunUntil move the clock from one event to the next.
/// - A model, not a recorder: make assertions about nodes() and pods(), not about calls. The journal is intended only
///   for output.
/// - Not modeled: adoption of orphans, tolerations, percentages in budgets, history limits of revisions, removal of
///   duplicate DaemonSet pods, and eviction of pods from lost nodes. Taints are stored and validated. RollingUpdate
///   always has maxUnavailable 1 and maxSurge 0.
/// - Parts of the maintenance operator that are not modeled: its webhook, its garbage collector, maxUnavailable, its
///   ranking of requests (here the oldest request comes first), and OpenShift. In addition, the real operator omits
///   zero and false values when it writes an object, and the server then fills in its defaults.
/// - Parts of DRA that are not modeled: tolerations, the individual devices of a pool, and the effect NoExecute, which
///   acts like NoSchedule here and deletes nothing.
/// - Thread-safe. The facade's calls take no virtual time. Watches block their threads until new events happen on the
///   virtual clock; their sinks are called without a lock, and may use the cluster. End all watches before the cluster
///   is destroyed.
#ifndef DRIVERUPGRADE_TESTING_FAKE_CLUSTER_H_
#define DRIVERUPGRADE_TESTING_FAKE_CLUSTER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/testing/fake_cluster_specs.h"

namespace driverupgrade::testing {

class FakeCluster final : public ClusterFacade {
 public:
  /// `clock` is not null.
  explicit FakeCluster(std::shared_ptr<FakeClock> clock, FakeClusterOptions options = {});
  ~FakeCluster() override;

  // Setup of the cluster. The result, if any, is the object as stored, with a UID even if none was passed.

  /// An existing node with the same name is removed first, together with its pods.
  Node AddNode(Node node);
  /// An existing pod with the same name is removed first. If the pod is controlled by a ReplicaSet or a StatefulSet,
  /// the workload is registered, its replicas increase by one, and the owner's UID is filled in. Replacements claim the
  /// same devices as the first pod; add the first pod's claims before the pod. A Pending pod is bound and started;
  /// other pods are stored unchanged.
  Pod AddPod(Pod pod, PodBehavior behavior = {});
  DaemonSet AddDaemonSet(DaemonSetSpec spec);
  void AddWorkload(WorkloadSpec spec);
  /// Replaces an existing budget with the same name.
  void AddDisruptionBudget(DisruptionBudgetSpec spec);
  /// Adds another client's object, in any state. An existing object with the same name is removed first. The object
  /// gets the operator's finalizer if its state is Cordon or later, or if it is being deleted. If the object is in a
  /// later state than Cordon and has `cordon`, the operator treats the node's cordon as its own.
  NodeMaintenance AddNodeMaintenance(NodeMaintenance maintenance);
  /// Adds an unallocated claim, for pods that name it in Pod::resource_claims. The scheduler allocates the claim for
  /// the first of these pods. When the last of these pods is removed, the claim is deallocated, or deleted if a pod
  /// owns it.
  ResourceClaim AddResourceClaim(ResourceClaimSpec spec);
  /// Publishes devices, as a DRA plugin does. `slice` contains the driver, the node and the devices. The pool has one
  /// slice and is named after the node; publishing different devices increments its generation.
  ResourceSlice PublishDevices(ResourceSlice slice);

  // Actions of an administrator. Each call returns false if the object does not exist.

  bool Cordon(const std::string& node_name);
  bool Uncordon(const std::string& node_name);
  /// Changes labels, annotations and other fields. Changes to the name and the UID are dropped.
  bool EditNode(const std::string& node_name, const std::function<void(Node&)>& edit);
  bool RemoveNode(const std::string& node_name);
  /// Sets whether new pods of DaemonSets fit on the node. With a message, new pods stay unbound, and
  /// Pod::unscheduled_message contains the message, as if the scheduler had written it. With an empty message, waiting
  /// pods are bound.
  bool SetNodeFull(const std::string& node_name, const std::string& message);
  bool EditPod(const std::string& ns, const std::string& name, const std::function<void(Pod&)>& edit);
  /// Same as `kubectl delete --force --grace-period=0`.
  bool RemovePod(const std::string& ns, const std::string& name);
  /// Changes a DaemonSet's pod template, to a new or an earlier template. `template_json`: same as in DaemonSetSpec. If
  /// it is empty, the earlier template with this hash is used, if there was one.
  bool SetTemplate(const std::string& ns, const std::string& name, const std::string& hash,
                   const std::string& template_json = {});
  /// Changes a DaemonSet's labels and annotations; other changes are dropped.
  bool EditDaemonSet(const std::string& ns, const std::string& name, const std::function<void(DaemonSet&)>& edit);
  /// Deletes a DaemonSet with its ControllerRevisions. If `orphan` is true, the DaemonSet's pods lose their owner;
  /// otherwise, they are also deleted.
  bool RemoveDaemonSet(const std::string& ns, const std::string& name, bool orphan = false);
  bool RemoveDisruptionBudget(const std::string& ns, const std::string& name);
  /// From now on, nothing can be created in the namespace, not even evictions. Existing pods stay.
  void TerminateNamespace(const std::string& ns);
  /// Changes the object. Changes to the namespace, the name and the UID are dropped.
  bool EditNodeMaintenance(const std::string& ns, const std::string& name,
                           const std::function<void(NodeMaintenance&)>& edit);
  /// Removes the object despite its finalizer, so that the operator does not release the node.
  bool RemoveNodeMaintenance(const std::string& ns, const std::string& name);
  /// Starts the maintenance operator, which also processes existing NodeMaintenances. Before this call, no
  /// NodeMaintenance is processed.
  void RunMaintenanceOperator(MaintenanceOperatorOptions options = {});
  void StopMaintenanceOperator();
  /// Removes published devices, as the kubelet does when a plugin has been missing for 30 s.
  bool WithdrawDevices(const std::string& driver, const std::string& node_name);
  /// Removes an object. There are no calls here to create or edit objects of these kinds: clients use the facade.
  bool RemoveDeviceTaintRule(const std::string& name);
  bool RemoveLease(const std::string& ns, const std::string& name);
  bool RemoveConfigMap(const std::string& ns, const std::string& name);

  // Simulates problems in the cluster. Each call returns false if the object does not exist.

  bool SetNodeReady(const std::string& node_name, bool ready);
  /// Marks every container of the pod as ready or not ready.
  bool SetPodReady(const std::string& ns, const std::string& name, bool ready);
  /// Applies to phases that have not started yet. Exception: a pod that is being deleted, and would never have
  /// disappeared with its old behavior, now disappears after the new `stop_delay`.
  bool SetPodBehavior(const std::string& ns, const std::string& name, const PodBehavior& behavior);
  /// Applies to pods that the DaemonSet creates from now on.
  bool SetDaemonSetBehavior(const std::string& ns, const std::string& name, const PodBehavior& behavior);
  /// Makes pods of the DaemonSet with this hash (empty: any) on this node (empty: any) crash whenever they start: they
  /// never become ready, and their restart count grows. Running pods keep running. Once the rules have been cleared,
  /// crashing pods start successfully at their next restart.
  bool AddCrashRule(const std::string& ns, const std::string& daemon_set, const std::string& hash,
                    const std::string& node_name = {});
  bool ClearCrashRules(const std::string& ns, const std::string& daemon_set);

  // Time.

  absl::Time Now() const;
  /// Returns the time of the cluster's next action; InfiniteFuture if no action is planned.
  absl::Time NextEventTime() const;
  /// Moves the clock to `time`, event by event.
  void RunUntil(absl::Time time);
  void Advance(absl::Duration duration);
  /// Runs the actions that are due, as every other call does.
  void Settle();

  // Faults. Faults for one operation take effect in the order in which they were set. For kEvictPod, ResourceExhausted
  // becomes the refusal kThrottled, and NotFound becomes an answer with `gone`, as the facade's contract requires.

  /// Makes the next calls fail: the calls are not applied, and return `status`.
  void FailNext(Operation operation, absl::Status status, int times = 1);
  /// Makes the next calls lose their results: the calls are applied, but return `status`.
  void FailNextAfterApplying(Operation operation, absl::Status status, int times = 1);
  /// Makes the next evictions return `answer` without being applied.
  void AnswerNextEviction(EvictionAnswer answer, int times = 1);
  /// Sets the hooks that run before and after each call; each may be empty.
  void SetFaultHooks(FaultHook before, FaultHook after);
  /// Sets whether an operation is supported; an unsupported operation returns Unimplemented.
  void SetSupported(Operation operation, bool supported);

  // Watches. FailNext makes a watch fail before it starts; FailNextAfterApplying breaks a watch after it has reported
  // all existing data. A watch that continues from a version returns OutOfRange if later commits of its kind have
  // already been dropped.

  /// Drops the history: no watch can continue from a version before the current one, not even a running watch.
  void CompactLog();
  /// Makes every running watch report a bookmark, after all earlier changes.
  void SendBookmarks();
  /// Ends all running watches with `status` (OK: as if they had timed out), without reporting remaining changes.
  void BreakWatches(const absl::Status& status);
  /// BackUp saves the current state, and RestoreBackup restores it. After a restore, resource versions are reused, but
  /// UIDs are not. RestoreBackup breaks all running watches, and does not report its changes to the change observer. It
  /// returns false if there is no backup.
  void BackUp();
  bool RestoreBackup();
  /// Until ResumeWatches is called, no watch reports changes or bookmarks, as if the API server lagged behind. Lists
  /// still work.
  void PauseWatches();
  void ResumeWatches();
  /// Runs the actions that are due. Returns once at least `watches` watches are running, each of them has reported
  /// everything it can, and all sinks have returned. Must not be called by a sink.
  void AwaitWatchesIdle(int watches = 0);
  /// Runs the Watch... method for objects of type T without waiting, for tests without threads. The watch reports all
  /// changes so far, then a bookmark, and ends with OK. While watches are paused, it reports only the list.
  template <class T>
  [[nodiscard]] absl::Status Poll(const CallContext& context, const WatchParams& params, WatchSink<T>& sink);

  // Inspection of the state at the clock's current time; results are sorted by (namespace and) name.

  std::optional<Node> node(const std::string& name) const;
  std::vector<Node> nodes() const;
  std::optional<Pod> pod(const std::string& ns, const std::string& name) const;
  std::vector<Pod> pods() const;
  std::vector<Pod> pods_on(const std::string& node_name) const;
  std::vector<Pod> daemon_set_pods(const std::string& ns, const std::string& name) const;
  std::vector<DaemonSet> daemon_sets() const;
  std::vector<ControllerRevision> controller_revisions() const;
  std::vector<PodDisruptionBudget> disruption_budgets() const;
  std::optional<NodeMaintenance> node_maintenance(const std::string& ns, const std::string& name) const;
  std::vector<NodeMaintenance> node_maintenances() const;
  std::vector<DeviceTaintRule> device_taint_rules() const;
  std::vector<ResourceClaim> resource_claims() const;
  std::vector<ResourceSlice> resource_slices() const;
  /// Returns true if the scheduler could allocate all of these devices on the node: they are published, free and not
  /// tainted.
  bool CanAllocate(const std::string& node_name, const std::vector<DeviceRequest>& requests) const;
  std::optional<Lease> lease(const std::string& ns, const std::string& name) const;
  std::optional<ConfigMap> config_map(const std::string& ns, const std::string& name) const;
  /// Returns the parameters of all RecordEvent calls, in order.
  std::vector<RecordEventParams> events() const;
  /// Returns the Events as stored, in creation order. A series is one Event, with its latest message, time and count.
  std::vector<RecordEventParams> stored_events() const;
  /// Drops all stored Events, as the server does after an hour.
  void ExpireEvents();
  std::vector<Call> journal() const;
  /// Returns the number of calls of `operation`, including failed calls.
  std::int64_t CallCount(Operation operation) const;
  /// Returns the highest resourceVersion assigned so far.
  std::int64_t revision() const;
  /// Replaces the current observer, for example the observer of an InvariantChecker. Null: no observer.
  void SetChangeObserver(ChangeObserver observer);

  bool Supports(Operation operation) const override;
  absl::StatusOr<Node> GetNode(const CallContext& context, const GetNodeParams& params) override;
  absl::StatusOr<std::vector<Node>> ListNodes(const CallContext& context, const ListNodesParams& params) override;
  absl::StatusOr<Pod> GetPod(const CallContext& context, const GetPodParams& params) override;
  absl::StatusOr<std::vector<Pod>> ListPods(const CallContext& context, const ListPodsParams& params) override;
  absl::StatusOr<std::vector<DaemonSet>> ListDaemonSets(const CallContext& context,
                                                        const ListDaemonSetsParams& params) override;
  absl::StatusOr<std::vector<ControllerRevision>> ListControllerRevisions(
      const CallContext& context, const ListControllerRevisionsParams& params) override;
  absl::StatusOr<std::vector<PodDisruptionBudget>> ListPodDisruptionBudgets(
      const CallContext& context, const ListPodDisruptionBudgetsParams& params) override;
  absl::StatusOr<NodeMaintenance> GetNodeMaintenance(const CallContext& context,
                                                     const GetNodeMaintenanceParams& params) override;
  absl::StatusOr<std::vector<NodeMaintenance>> ListNodeMaintenances(const CallContext& context,
                                                                    const ListNodeMaintenancesParams& params) override;
  absl::Status WatchNodes(const CallContext& context, const WatchParams& params, WatchSink<Node>& sink) override;
  absl::Status WatchPods(const CallContext& context, const WatchParams& params, WatchSink<Pod>& sink) override;
  absl::Status WatchDaemonSets(const CallContext& context, const WatchParams& params,
                               WatchSink<DaemonSet>& sink) override;
  absl::Status WatchControllerRevisions(const CallContext& context, const WatchParams& params,
                                        WatchSink<ControllerRevision>& sink) override;
  /// In this model, a NodeMaintenance has no labels.
  absl::Status WatchNodeMaintenances(const CallContext& context, const WatchParams& params,
                                     WatchSink<NodeMaintenance>& sink) override;
  absl::StatusOr<std::vector<DeviceTaintRule>> ListDeviceTaintRules(const CallContext& context,
                                                                    const ListDeviceTaintRulesParams& params) override;
  absl::StatusOr<std::vector<ResourceClaim>> ListResourceClaims(const CallContext& context,
                                                                const ListResourceClaimsParams& params) override;
  absl::StatusOr<std::vector<ResourceSlice>> ListResourceSlices(const CallContext& context,
                                                                const ListResourceSlicesParams& params) override;
  absl::Status WatchDeviceTaintRules(const CallContext& context, const WatchParams& params,
                                     WatchSink<DeviceTaintRule>& sink) override;
  absl::Status WatchResourceClaims(const CallContext& context, const WatchParams& params,
                                   WatchSink<ResourceClaim>& sink) override;
  absl::Status WatchResourceSlices(const CallContext& context, const WatchParams& params,
                                   WatchSink<ResourceSlice>& sink) override;
  absl::StatusOr<Lease> GetLease(const CallContext& context, const GetLeaseParams& params) override;
  absl::StatusOr<ConfigMap> GetConfigMap(const CallContext& context, const GetConfigMapParams& params) override;
  absl::StatusOr<Node> PatchNode(const CallContext& context, const PatchNodeParams& params) override;
  absl::StatusOr<EvictionAnswer> EvictPod(const CallContext& context, const EvictPodParams& params) override;
  absl::Status DeletePod(const CallContext& context, const DeletePodParams& params) override;
  absl::StatusOr<NodeMaintenance> CreateNodeMaintenance(const CallContext& context,
                                                        const CreateNodeMaintenanceParams& params) override;
  absl::StatusOr<NodeMaintenance> PatchNodeMaintenance(const CallContext& context,
                                                       const PatchNodeMaintenanceParams& params) override;
  absl::Status DeleteNodeMaintenance(const CallContext& context, const DeleteNodeMaintenanceParams& params) override;
  absl::StatusOr<DeviceTaintRule> CreateDeviceTaintRule(const CallContext& context,
                                                        const CreateDeviceTaintRuleParams& params) override;
  absl::StatusOr<DeviceTaintRule> PatchDeviceTaintRule(const CallContext& context,
                                                       const PatchDeviceTaintRuleParams& params) override;
  absl::Status DeleteDeviceTaintRule(const CallContext& context, const DeleteDeviceTaintRuleParams& params) override;
  absl::StatusOr<Lease> CreateLease(const CallContext& context, const Lease& lease) override;
  absl::StatusOr<Lease> UpdateLease(const CallContext& context, const Lease& lease) override;
  absl::StatusOr<ConfigMap> CreateConfigMap(const CallContext& context, const ConfigMap& config_map) override;
  absl::StatusOr<ConfigMap> PatchConfigMap(const CallContext& context, const PatchConfigMapParams& params) override;
  absl::Status RecordEvent(const CallContext& context, const RecordEventParams& params) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_TESTING_FAKE_CLUSTER_H_
