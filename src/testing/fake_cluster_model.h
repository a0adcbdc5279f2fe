// The model behind FakeCluster: deterministic, not thread-safe, and without its own clock. Every effect that the
// cluster itself causes is queued; RunNextEffect runs the earliest queued effect.
//
// The class is implemented in one file for each component:
// - fake_cluster_store.cc: etcd, garbage collection;
// - fake_cluster_eviction.cc: API server, disruption controller;
// - fake_cluster_daemon_sets.cc, fake_cluster_rolling_update.cc: DaemonSet controller;
// - fake_cluster_workloads.cc: ReplicaSets, StatefulSets, scheduler;
// - fake_cluster_kubelet.cc: kubelets;
// - fake_cluster_maintenance.cc, fake_cluster_maintenance_operator.cc: NodeMaintenances, the maintenance operator;
// - fake_cluster_leases.cc: Leases, ConfigMaps.
//
// Dynamic Resource Allocation has its own class (fake_cluster_devices.h).
#ifndef DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_MODEL_H_
#define DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_MODEL_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "testing/fake_cluster_devices.h"
#include "testing/fake_cluster_log.h"
#include "testing/fake_cluster_records.h"

namespace driverupgrade::testing::internal {

class Model {
 public:
  explicit Model(const FakeClusterOptions& options) : options_(options), devices_(options.devices) {}

  /// Sets the time at which subsequent calls happen.
  void set_now(absl::Time now) { now_ = now; }
  absl::Time now() const { return now_; }
  absl::Time NextEffectTime() const;
  /// Runs the earliest queued effect. There must be at least one.
  void RunNextEffect();
  void set_observer(ChangeObserver observer) { observer_ = std::move(observer); }
  std::int64_t revision() const { return revision_; }
  template <class T>
  const ObjectLog<T>& log() const {
    return std::get<ObjectLog<T>>(logs_);
  }
  void CompactLog();
  /// Restores `backup`, but does not reuse names that were assigned after the backup.
  void SetBackTo(const Model& backup);

  Node AddNode(Node node);
  Pod AddPod(Pod pod, const PodBehavior& behavior);
  DaemonSet AddDaemonSet(DaemonSetSpec spec);
  void AddWorkload(WorkloadSpec spec);
  void AddDisruptionBudget(DisruptionBudgetSpec spec);

  bool EditNode(Actor actor, const std::string& name, const std::function<void(Node&)>& edit);
  bool RemoveNode(const std::string& name);
  bool SetNodeFull(const std::string& name, const std::string& message);
  void MakeRoom(const std::string& name);
  bool EditPod(const Key& key, const std::function<void(Pod&)>& edit);
  bool RemovePod(const Key& key);
  bool SetPodBehavior(const Key& key, const PodBehavior& behavior);
  bool SetDaemonSetBehavior(const Key& key, const PodBehavior& behavior);
  bool EditDaemonSet(const Key& key, const std::function<void(DaemonSet&)>& edit);
  bool SetTemplate(const Key& key, const std::string& hash, const std::string& template_json);
  bool RemoveDaemonSet(const Key& key, bool orphan);
  bool RemoveDisruptionBudget(const Key& key);
  void TerminateNamespace(const std::string& ns) { terminating_namespaces_.insert(ns); }
  bool AddCrashRule(const Key& key, CrashRule rule);
  bool ClearCrashRules(const Key& key);
  NodeMaintenance AddNodeMaintenance(NodeMaintenance maintenance);
  bool EditNodeMaintenance(const Key& key, const std::function<void(NodeMaintenance&)>& edit);
  bool RemoveNodeMaintenance(const Key& key);
  void RunMaintenanceOperator(const MaintenanceOperatorOptions& options);
  void StopMaintenanceOperator();

  const Node* FindNode(const std::string& name) const;
  const Pod* FindPod(const Key& key) const;
  const DaemonSet* FindDaemonSet(const Key& key) const;
  std::vector<Node> ListNodes(const LabelSelector& selector) const;
  std::vector<Pod> ListPods(const ListPodsParams& params) const;
  std::vector<Pod> ListPodsOf(const std::string& owner_uid) const;
  std::vector<DaemonSet> ListDaemonSets(const std::string& ns, const LabelSelector& selector) const;
  std::vector<ControllerRevision> ListControllerRevisions(const std::string& ns, const LabelSelector& selector) const;
  std::vector<PodDisruptionBudget> ListDisruptionBudgets(const std::string& ns) const;
  const NodeMaintenance* FindNodeMaintenance(const Key& key) const;
  std::vector<NodeMaintenance> ListNodeMaintenances(const std::string& ns) const;

  absl::StatusOr<Node> PatchNode(const PatchNodeParams& params);
  absl::StatusOr<EvictionAnswer> EvictPod(Actor actor, const PodRef& ref);
  absl::Status DeletePod(const DeletePodParams& params);
  absl::StatusOr<NodeMaintenance> CreateNodeMaintenance(NodeMaintenance object);
  absl::StatusOr<NodeMaintenance> PatchNodeMaintenance(const PatchNodeMaintenanceParams& params);
  absl::Status DeleteNodeMaintenance(const DeleteNodeMaintenanceParams& params);
  const Lease* FindLease(const Key& key) const;
  const ConfigMap* FindConfigMap(const Key& key) const;
  absl::StatusOr<Lease> CreateLease(Lease lease);
  absl::StatusOr<Lease> UpdateLease(Lease lease);
  absl::StatusOr<ConfigMap> CreateConfigMap(ConfigMap config_map);
  absl::StatusOr<ConfigMap> PatchConfigMap(const PatchConfigMapParams& params);
  bool RemoveLease(const Key& key);
  bool RemoveConfigMap(const Key& key);
  bool IsTerminating(const std::string& ns) const { return terminating_namespaces_.count(ns) > 0; }
  Devices& devices() { return devices_; }
  const Devices& devices() const { return devices_; }

 private:
  friend class Devices;

  // Store: only these functions change objects. Each function creates a new revision, and notifies the observer and all
  // affected components. Storing an equal object is not a change.
  void PutNode(Actor actor, Node node);
  void EraseNode(Actor actor, const std::string& name);
  void PutPod(Actor actor, Pod pod, const PodBehavior* behavior = nullptr);
  void ErasePod(Actor actor, const Key& key);
  void PutDaemonSet(Actor actor, DaemonSetRecord& record, DaemonSet daemon_set);
  void PutRevision(ControllerRevision revision);
  void EraseRevision(Actor actor, const Key& key);
  /// `metadata_changed` forces a new version even if the object stays equal, for changes that are visible only in the
  /// record.
  void EditMaintenance(Actor actor, MaintenanceRecord& record, const std::function<void(NodeMaintenance&)>& edit,
                       bool metadata_changed = false);
  void EraseMaintenance(Actor actor, const Key& key);

  std::string NextVersion();
  std::string NewUid();
  /// Returns an unused name, `<prefix>-<five characters>`.
  std::string NewPodName(const std::string& ns, const std::string& prefix);
  /// Returns the UID of an owner that exists only in pods' owner references. Each owner has one UID.
  std::string OwnerUid(const std::string& ns, const OwnerReference& owner);
  void IndexPod(const Pod& pod);
  void UnindexPod(const Pod& pod);
  /// Records a change whose version NextVersion has returned.
  template <class T>
  void Commit(Actor actor, Versions<T> Change::*kind, std::type_identity_t<std::shared_ptr<const T>> before,
              std::type_identity_t<std::shared_ptr<const T>> after);
  void Queue(absl::Duration delay, Effect effect);
  void QueueForPod(absl::Duration delay, EffectKind kind, const Pod& pod);
  void OnNodeChanged(const Node* before, const Node* after);
  void OnPodChanged(const Pod* before, const Pod* after);

  // API server: Leases and ConfigMaps.
  template <class T>
  struct RecordKind;
  template <class T>
  absl::StatusOr<T> CreateRecord(const RecordKind<T>& kind, T object);
  template <class T>
  absl::StatusOr<T> UpdateRecord(const RecordKind<T>& kind, T object);
  template <class T>
  bool RemoveRecord(const RecordKind<T>& kind, const Key& key);

  // API server and disruption controller.
  void StartDeletion(Actor actor, const Key& key);
  int ExpectedPods(const BudgetRecord& budget) const;
  PodDisruptionBudget StatusOf(const BudgetRecord& budget) const;
  /// Returns the budgets that select the pod, sorted by name.
  std::vector<Key> BudgetsOf(const Pod& pod) const;
  void IndexBudget(const DisruptionBudgetSpec& spec, bool add);
  void CountPod(const Pod& pod, bool node_ready, int sign);
  void CountPod(BudgetRecord& budget, const Pod& pod, bool node_ready, int sign);

  // DaemonSet controller.
  DaemonSetRecord* DaemonSetOf(const Pod& pod);
  void CreateDaemonSetPod(Actor actor, const DaemonSetRecord& record, const std::string& node_name, bool started);
  void SyncDaemonSet(const Effect& effect);
  void QueueRoll(DaemonSetRecord& record);
  void RollDaemonSet(const Effect& effect);
  void ObserveTemplate(DaemonSetRecord& record);

  // ReplicaSets, StatefulSets, scheduler.
  WorkloadRecord& EnsureWorkload(WorkloadSpec spec, const std::string& uid);
  void Enrol(const Pod& pod, const PodBehavior& behavior);
  void CreateWorkloadPod(Actor actor, const WorkloadRecord& record, const std::string& name, bool started);
  void SyncWorkload(const std::string& uid, Actor actor, bool started);
  void CountLoad(WorkloadRecord& record, const Pod& pod, int sign);
  /// Records that the node accepts pods from now on, or that it no longer accepts pods if `open` is false.
  void OpenNode(const std::string& name, bool open);
  bool CanTakePods(const Node& node) const { return node.ready && !node.unschedulable; }
  std::string PickNode(const Pod& pod);
  std::string FirstNodeWithDevices(const Pod& pod);
  /// Returns a string that is equal for pods whose claims fit on the same nodes. Empty if the pod's claims alone do not
  /// determine these nodes.
  std::string RequestsOf(const Pod& pod) const;
  std::string FirstFreeNode(WorkloadRecord& record);
  void QueueSchedule();
  void Schedule();

  // Kubelet and garbage collection.
  bool NodeReady(const std::string& name) const;
  bool MustCrash(const Pod& pod);
  void StopPod(const Key& key);
  void RunKubelet(const Effect& effect);
  void CollectPods(const std::string& node_name);

  // The maintenance operator.
  void StartMaintenanceDeletion(Actor actor, const Key& key);
  void CollectMaintenances(const std::string& node_uid);
  void WakeMaintenance(MaintenanceRecord& record, absl::Duration delay);
  void WakePendingMaintenances();
  void StepMaintenance(const Effect& effect);
  void StepDeletion(MaintenanceRecord& record, const Node& node);
  void StepCordon(MaintenanceRecord& record, const Node& node);
  void StepWait(MaintenanceRecord& record);
  void StepDraining(MaintenanceRecord& record);
  void SetReason(MaintenanceRecord& record, std::string_view reason);
  void DropFinalizer(MaintenanceRecord& record);
  bool MaySchedule(const MaintenanceRecord& record) const;
  std::optional<std::vector<PodRef>> PodsToDrain(const NodeMaintenance& object) const;

  FakeClusterOptions options_;
  ChangeObserver observer_;
  absl::Time now_ = absl::UnixEpoch();
  std::int64_t revision_ = std::max(options_.first_revision, kFirstRevision);
  std::tuple<ObjectLog<Node>, ObjectLog<Pod>, ObjectLog<DaemonSet>, ObjectLog<ControllerRevision>,
             ObjectLog<NodeMaintenance>, ObjectLog<DeviceTaintRule>, ObjectLog<ResourceClaim>, ObjectLog<ResourceSlice>>
      logs_;
  std::int64_t uid_count_ = 0;
  std::int64_t name_count_ = 0;
  std::int64_t effect_count_ = 0;

  std::map<std::string, std::shared_ptr<const Node>> nodes_;
  /// Nodes that can take pods.
  std::set<std::string> open_nodes_;
  Openings openings_;
  /// Nodes without room for new DaemonSet pods, with the scheduler's message.
  std::map<std::string, std::string> full_nodes_;
  bool any_node_selector_ = false;
  std::map<Key, PodRecord> pods_;
  std::map<Key, DaemonSetRecord> daemon_sets_;
  std::map<Key, ControllerRevision> revisions_;
  std::map<Key, BudgetRecord> budgets_;
  /// Budgets, keyed by namespace, and by the key and value of a label that their pods must have. Key and value are
  /// empty for budgets without such a label.
  std::map<std::tuple<std::string, std::string, std::string>, std::set<Key>> budgets_by_label_;
  /// Workloads by UID. The order of UIDs is the order of creation.
  std::map<std::string, WorkloadRecord> workloads_;
  std::map<Key, MaintenanceRecord> maintenances_;
  Devices devices_;
  std::map<Key, std::shared_ptr<const Lease>> leases_;
  std::map<Key, std::shared_ptr<const ConfigMap>> config_maps_;
  std::int64_t maintenance_count_ = 0;
  /// nullopt if the maintenance operator is not running.
  std::optional<MaintenanceOperatorOptions> maintenance_operator_;
  std::set<std::string> terminating_namespaces_;
  /// UIDs of the owners that exist only in owner references, by namespace, kind and name.
  std::map<std::tuple<std::string, std::string, std::string>, std::string> owner_uids_;

  std::map<std::string, std::set<Key>> pods_by_node_;
  std::map<std::string, std::set<Key>> pods_by_owner_;
  std::map<std::string, Key> daemon_set_by_uid_;
  /// Pods that wait to be scheduled.
  std::set<Key> unbound_;
  bool schedule_queued_ = false;

  /// Effects in order of time and, for equal times, in the order in which they were queued.
  std::map<std::pair<absl::Time, std::int64_t>, Effect> effects_;
  /// Kubelet effects that are deferred until the node is Ready again, by node name.
  std::map<std::string, std::vector<Effect>> held_effects_;
};

/// True if the kind can be watched, and therefore has a log.
template <class T>
inline constexpr bool kIsWatched = !std::is_same_v<T, Lease> && !std::is_same_v<T, ConfigMap>;

template <class T>
void Model::Commit(Actor actor, Versions<T> Change::*kind, std::type_identity_t<std::shared_ptr<const T>> before,
                   std::type_identity_t<std::shared_ptr<const T>> after) {
  if (observer_) {
    Change change{.revision = revision_, .time = now_, .actor = actor};
    change.*kind = {.before = before.get(), .after = after.get()};
    observer_(change);
  }
  if constexpr (kIsWatched<T>) {
    std::get<ObjectLog<T>>(logs_).Append({revision_, std::move(before), std::move(after)}, options_.watch_log_size);
  }
}

template <class T>
std::shared_ptr<const std::remove_cvref_t<T>> Share(T&& object) {
  return std::make_shared<const std::remove_cvref_t<T>>(std::forward<T>(object));
}

/// Returns true if the pod has not finished and is not being deleted: controllers count only such pods.
inline bool IsActive(const Pod& pod) { return !IsFinished(pod) && !pod.deletion_timestamp.has_value(); }
inline Key KeyOf(const Pod& pod) { return {pod.ref.ns, pod.ref.name}; }
bool HasLabels(const StringMap& labels, const StringMap& wanted);
/// Returns the container statuses of a pod with a single container, as the model creates it.
std::vector<ContainerStatus> OneContainer(const std::string& name, bool ready);

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_FAKE_CLUSTER_MODEL_H_
