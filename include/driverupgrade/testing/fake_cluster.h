/// A small model of a Kubernetes cluster to test an upgrade against: API server, DaemonSet and ReplicaSet
/// controllers, scheduler, kubelets, disruption budgets, on a virtual clock.
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
/// - Deterministic: no real time, no random number, no unordered container. Equal calls give equal clusters,
///   resourceVersions ("1001", "1002", ... from one counter), UIDs and pod names included.
/// - Time: what the cluster does by itself is queued and happens in order of time. Every call below and of
///   the facade first lets happen what is due by the clock; Advance and RunUntil move the clock from one
///   event to the next.
/// - A model and no recorder: assert on nodes() and pods(), not on calls. The journal is for output.
/// - Not modelled: adoption of orphans, tolerations (taints are stored and validated), percentages in budgets, history limits of
///   revisions, duplicates of DaemonSet pods being removed, other limits of RollingUpdate than maxUnavailable 1
///   and maxSurge 0, pods evicted from lost nodes. Of the maintenance operator: its webhook, its garbage collector,
///   maxUnavailable, its ranking of requests (the oldest comes first), OpenShift, and that the real one, when it writes
///   an object, leaves out zeros and falses, for which the server fills in its defaults. Of DRA: tolerations, single
///   devices of a pool, and the effect NoExecute, which taints as NoSchedule does and deletes nothing.
/// - Thread-safe. The facade's calls take no virtual time. Watches block their threads until there is more to see,
///   by the virtual clock; their sinks are called without a lock, and may use the cluster. End them before the
///   cluster ends.
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

  // The world. Each returns the object as stored: an empty UID is filled in.

  /// A node of that name is removed first, with its pods: re-created under the same name.
  Node AddNode(Node node);
  /// A pod of that name is removed first. A pod controlled by a ReplicaSet or StatefulSet makes that workload
  /// known and adds one to its replicas; the UID of the owner is filled in. A Pending pod is bound and
  /// started, others are as given.
  Pod AddPod(Pod pod, PodBehavior behavior = {});
  DaemonSet AddDaemonSet(DaemonSetSpec spec);
  void AddWorkload(WorkloadSpec spec);
  /// Replaces the budget of that name.
  void AddDisruptionBudget(DisruptionBudgetSpec spec);
  /// One that somebody else made, in any state; one of that name is removed first. The operator's finalizer
  /// holds it from the state Cordon on, and if it is being deleted. After Cordon, the operator takes the node
  /// for one that it cordoned itself, if the object says `cordon`.
  NodeMaintenance AddNodeMaintenance(NodeMaintenance maintenance);
  /// An unallocated claim, for pods that name it in Pod::resource_claims. The scheduler allocates it with the first of
  /// them, and the claim is deallocated with the last, or deleted if a pod owns it.
  ResourceClaim AddResourceClaim(ResourceClaimSpec spec);
  /// Publishes devices as a plugin does. `slice` gives the driver, the node and the devices. The pool has the name of the
  /// node and one slice; other devices raise its generation.
  ResourceSlice PublishDevices(ResourceSlice slice);

  // The administrator. False if there is no such object.

  bool Cordon(const std::string& node_name);
  bool Uncordon(const std::string& node_name);
  /// Any edit of labels, annotations and the rest; name and UID stay.
  bool EditNode(const std::string& node_name, const std::function<void(Node&)>& edit);
  bool RemoveNode(const std::string& node_name);
  /// Whether new pods of DaemonSets fit on the node. With a message they stay unbound: it is the scheduler's, in
  /// Pod::unscheduled_message. Without one those that wait are bound.
  bool SetNodeFull(const std::string& node_name, const std::string& message);
  bool EditPod(const std::string& ns, const std::string& name, const std::function<void(Pod&)>& edit);
  /// As `kubectl delete --force --grace-period=0`.
  bool RemovePod(const std::string& ns, const std::string& name);
  /// Changes the pod template of a DaemonSet, or changes it back. `template_json` as in DaemonSetSpec; empty
  /// also stands for what this hash had before.
  bool SetTemplate(const std::string& ns, const std::string& name, const std::string& hash,
                   const std::string& template_json = {});
  /// Any edit of labels and annotations of a DaemonSet; all else stays.
  bool EditDaemonSet(const std::string& ns, const std::string& name, const std::function<void(DaemonSet&)>& edit);
  /// Its pods are deleted, or lose their owner if `orphan`; its ControllerRevisions go.
  bool RemoveDaemonSet(const std::string& ns, const std::string& name, bool orphan = false);
  bool RemoveDisruptionBudget(const std::string& ns, const std::string& name);
  /// From now on nothing can be created in it, evictions included. Its pods stay.
  void TerminateNamespace(const std::string& ns);
  /// Any edit; namespace, name and UID stay.
  bool EditNodeMaintenance(const std::string& ns, const std::string& name,
                           const std::function<void(NodeMaintenance&)>& edit);
  /// With its finalizer: nobody gives the node back.
  bool RemoveNodeMaintenance(const std::string& ns, const std::string& name);
  /// Until then nobody cares for NodeMaintenances. It begins with those that exist.
  void RunMaintenanceOperator(MaintenanceOperatorOptions options = {});
  void StopMaintenanceOperator();
  /// As the kubelet does when a plugin has been gone for 30 s.
  bool WithdrawDevices(const std::string& driver, const std::string& node_name);
  /// DeviceTaintRules, Leases and ConfigMaps are created and changed through the facade, by this client or another.
  bool RemoveDeviceTaintRule(const std::string& name);
  bool RemoveLease(const std::string& ns, const std::string& name);
  bool RemoveConfigMap(const std::string& ns, const std::string& name);

  // What goes wrong in the cluster. False if there is no such object.

  bool SetNodeReady(const std::string& node_name, bool ready);
  /// Sets every container of the pod ready or not.
  bool SetPodReady(const std::string& ns, const std::string& name, bool ready);
  /// For what has not begun yet; a pod that is being deleted and was held for ever is let go.
  bool SetPodBehavior(const std::string& ns, const std::string& name, const PodBehavior& behavior);
  /// Of the pods that it creates from now on.
  bool SetDaemonSetBehavior(const std::string& ns, const std::string& name, const PodBehavior& behavior);
  /// Pods of the DaemonSet with this hash (empty: any) on this node (empty: any) crash whenever they start:
  /// never ready, with a growing restart count. Running pods go on; clearing lets crashing ones start at
  /// their next restart.
  bool AddCrashRule(const std::string& ns, const std::string& daemon_set, const std::string& hash,
                    const std::string& node_name = {});
  bool ClearCrashRules(const std::string& ns, const std::string& daemon_set);

  // Time.

  absl::Time Now() const;
  /// When the cluster does something next; InfiniteFuture if never.
  absl::Time NextEventTime() const;
  /// Moves the clock to `time`, event by event.
  void RunUntil(absl::Time time);
  void Advance(absl::Duration duration);
  /// Lets happen what is due by the clock. Every other call does so itself.
  void Settle();

  // Faults. Those for one operation are used up in the order they were given. For kEvictPod,
  // ResourceExhausted becomes the answer kThrottled and NotFound kGone, as the contract of the facade has it.

  /// The next calls are not applied and answered with `status`.
  void FailNext(Operation operation, absl::Status status, int times = 1);
  /// The next calls are applied, and the answer is lost: answered with `status`.
  void FailNextAfterApplying(Operation operation, absl::Status status, int times = 1);
  /// The next evictions are not applied and answered so.
  void AnswerNextEviction(EvictionAnswer answer, int times = 1);
  /// Either may be empty.
  void SetFaultHooks(FaultHook before, FaultHook after);
  /// An operation that is not supported is answered with Unimplemented.
  void SetSupported(Operation operation, bool supported);

  // Watches. FailNext lets one fail before it begins; FailNextAfterApplying breaks one that has just given all there
  // was. A version is too old, and answered with OutOfRange, if commits of that kind have been dropped since.

  /// Drops the history: versions before this one are too old, also for a watch that lags behind now.
  void CompactLog();
  /// Every running watch gives a bookmark, after the changes before it.
  void SendBookmarks();
  /// All running watches end with `status` (OK: in good order, as by timeout); what they have not given is left out.
  void BreakWatches(const absl::Status& status);
  /// Keeps everything as it is now, and sets the cluster back to it: versions come a second time, UIDs do not. All
  /// running watches break. Changes by RestoreBackup are not observed. False: there is no backup.
  void BackUp();
  bool RestoreBackup();
  /// No watch gives changes or bookmarks until resumed, as one of an API server that lags behind. Lists are given.
  void PauseWatches();
  void ResumeWatches();
  /// Lets happen what is due, then returns once at least `watches` watches run, and every one that runs has given all
  /// it may give and its sink has returned. Not to be called by a sink.
  void AwaitWatchesIdle(int watches = 0);
  /// The Watch... of that kind without waiting, for tests without threads: gives all there is by now, then a bookmark,
  /// and ends with OK. While paused it gives nothing but the list.
  template <class T>
  [[nodiscard]] absl::Status Poll(const CallContext& context, const WatchParams& params, WatchSink<T>& sink);

  // Inspection, always of the state at the clock's time; in order of (namespace and) name.

  std::optional<Node> node(const std::string& name) const;
  std::vector<Node> nodes() const;
  std::optional<Pod> pod(const std::string& ns, const std::string& name) const;
  std::vector<Pod> pods() const;
  std::vector<Pod> pods_on(const std::string& node_name) const;
  /// The pods of a DaemonSet.
  std::vector<Pod> daemon_set_pods(const std::string& ns, const std::string& name) const;
  std::vector<DaemonSet> daemon_sets() const;
  std::vector<ControllerRevision> controller_revisions() const;
  std::vector<PodDisruptionBudget> disruption_budgets() const;
  std::optional<NodeMaintenance> node_maintenance(const std::string& ns, const std::string& name) const;
  std::vector<NodeMaintenance> node_maintenances() const;
  std::vector<DeviceTaintRule> device_taint_rules() const;
  std::vector<ResourceClaim> resource_claims() const;
  std::vector<ResourceSlice> resource_slices() const;
  std::optional<Lease> lease(const std::string& ns, const std::string& name) const;
  std::optional<ConfigMap> config_map(const std::string& ns, const std::string& name) const;
  /// What RecordEvent was given, in order.
  std::vector<RecordEventParams> events() const;
  /// The Events as they are stored, in the order of their creation: of a series one, with its latest message, time and
  /// count.
  std::vector<RecordEventParams> stored_events() const;
  /// Drops the stored Events, as the server does after an hour.
  void ExpireEvents();
  std::vector<Call> journal() const;
  /// Number of calls of that operation, failed ones included.
  std::int64_t CallCount(Operation operation) const;
  /// The highest resourceVersion given out.
  std::int64_t revision() const;
  /// Replaces the one before, which may be an InvariantChecker's; null: nobody.
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
  /// A NodeMaintenance has no labels here.
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
