/// The interface between the engine and a cluster. Implement this interface to run the engine on another client, a
/// cache, a decorator or a fake.
///
/// Defines ClusterReader, ClusterWriter, ClusterFacade (which combines both), Operation, and ForwardingFacade, the base
/// class of decorators. The parameters and results of the operations are in cluster_reads.h and cluster_writes.h.
///
/// An implementation overrides the operations that it supports, and reports them in Supports:
///
///     class RecordingFacade final : public ClusterFacade {
///      public:
///       bool Supports(Operation operation) const override { return operation == Operation::kGetNode; }
///       absl::StatusOr<Node> GetNode(const CallContext& context, const GetNodeParams& params) override {
///         deadline = context.deadline;
///         return Node{.name = params.name};
///       }
///       absl::Time deadline;
///     };
///
/// Contract, checked by testing/facade_contract.h:
/// - Thread-safe. Each call is independent and blocks until the API server has responded. A call is never retried,
///   waits for neither a cache nor the effect of a write, and applies no policy.
/// - Status codes: NotFound for 404; AlreadyExists and Aborted for 409; ResourceExhausted for 429; PermissionDenied for
///   403; Unauthenticated for 401; InvalidArgument for 400 and 422; DeadlineExceeded; Cancelled; Unavailable for 5xx
///   and for connection failures.
/// - A write was definitely not applied (WasNotApplied) after NotFound, AlreadyExists, InvalidArgument,
///   PermissionDenied, Unauthenticated, ResourceExhausted and Unimplemented, and after an error that a transport marked
///   as not sent. After any other failure the outcome is unknown, even after Aborted, because the conflict may be with
///   our own earlier attempt.
/// - A new operation is added as a non-pure virtual method that returns Unimplemented; new data goes into Params
///   structs.
#ifndef DRIVERUPGRADE_CLUSTER_FACADE_H_
#define DRIVERUPGRADE_CLUSTER_FACADE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_reads.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/device_types.h"

namespace driverupgrade {

enum class Operation : std::uint8_t {
  kGetNode,
  kListNodes,
  kGetPod,
  kListPods,
  kListDaemonSets,
  kListControllerRevisions,
  kListPodDisruptionBudgets,
  kGetNodeMaintenance,
  kListNodeMaintenances,
  kWatchNodes,
  kWatchPods,
  kWatchDaemonSets,
  kWatchControllerRevisions,
  kWatchNodeMaintenances,
  kListDeviceTaintRules,
  kWatchDeviceTaintRules,
  kListResourceClaims,
  kWatchResourceClaims,
  kListResourceSlices,
  kWatchResourceSlices,
  kGetLease,
  kGetConfigMap,
  kPatchNode,
  kEvictPod,
  kDeletePod,
  kCreateNodeMaintenance,
  kPatchNodeMaintenance,
  kDeleteNodeMaintenance,
  kCreateDeviceTaintRule,
  kPatchDeviceTaintRule,
  kDeleteDeviceTaintRule,
  kCreateLease,
  kUpdateLease,
  kCreateConfigMap,
  kPatchConfigMap,
  kRecordEvent,
};
std::string_view ToString(Operation operation);
/// Returns true if the operation requests a change in the cluster, like all operations of ClusterWriter.
bool IsWrite(Operation operation);

/// Reads a cluster. Lists are complete (all pages), consistent (no `resourceVersion` is sent) and in the server's
/// order. An unreadable object is never silently omitted: see OnUnreadable. An implementation whose objects are always
/// readable can ignore that option.
class ClusterReader {
 public:
  virtual ~ClusterReader();
  /// Returns true if `operation` is implemented. UpgradeEngine::Create rejects a facade that does not support an
  /// operation that the engine needs.
  virtual bool Supports(Operation operation) const = 0;
  [[nodiscard]] virtual absl::StatusOr<Node> GetNode(const CallContext& context, const GetNodeParams& params);
  [[nodiscard]] virtual absl::StatusOr<std::vector<Node>> ListNodes(const CallContext& context,
                                                                    const ListNodesParams& params);
  [[nodiscard]] virtual absl::StatusOr<Pod> GetPod(const CallContext& context, const GetPodParams& params);
  [[nodiscard]] virtual absl::StatusOr<std::vector<Pod>> ListPods(const CallContext& context,
                                                                  const ListPodsParams& params);
  [[nodiscard]] virtual absl::StatusOr<std::vector<DaemonSet>> ListDaemonSets(const CallContext& context,
                                                                              const ListDaemonSetsParams& params);
  [[nodiscard]] virtual absl::StatusOr<std::vector<ControllerRevision>> ListControllerRevisions(
      const CallContext& context, const ListControllerRevisionsParams& params);
  [[nodiscard]] virtual absl::StatusOr<std::vector<PodDisruptionBudget>> ListPodDisruptionBudgets(
      const CallContext& context, const ListPodDisruptionBudgetsParams& params);
  /// Returns NotFound if the object does not exist, or if the cluster does not serve this kind. In the latter case, the
  /// list and the writes of this kind also return NotFound.
  [[nodiscard]] virtual absl::StatusOr<NodeMaintenance> GetNodeMaintenance(const CallContext& context,
                                                                           const GetNodeMaintenanceParams& params);
  [[nodiscard]] virtual absl::StatusOr<std::vector<NodeMaintenance>> ListNodeMaintenances(
      const CallContext& context, const ListNodeMaintenancesParams& params);
  /// All reads and writes of DRA objects return NotFound if the cluster does not serve the kind.
  [[nodiscard]] virtual absl::StatusOr<std::vector<DeviceTaintRule>> ListDeviceTaintRules(
      const CallContext& context, const ListDeviceTaintRulesParams& params);
  [[nodiscard]] virtual absl::StatusOr<std::vector<ResourceClaim>> ListResourceClaims(
      const CallContext& context, const ListResourceClaimsParams& params);
  [[nodiscard]] virtual absl::StatusOr<std::vector<ResourceSlice>> ListResourceSlices(
      const CallContext& context, const ListResourceSlicesParams& params);

  /// Each Watch... method blocks until the watch ends. Returns OK if the server ended it normally, or if the sink
  /// returned false. Returns OutOfRange if the version to continue from is too old (410, as a response or as an event):
  /// the caller must list again. In all other cases, returns the error that broke the watch. All data that the sink
  /// received before the error is complete and in modification order.
  [[nodiscard]] virtual absl::Status WatchNodes(const CallContext& context, const WatchParams& params,
                                                WatchSink<Node>& sink);
  [[nodiscard]] virtual absl::Status WatchPods(const CallContext& context, const WatchParams& params,
                                               WatchSink<Pod>& sink);
  [[nodiscard]] virtual absl::Status WatchDaemonSets(const CallContext& context, const WatchParams& params,
                                                     WatchSink<DaemonSet>& sink);
  [[nodiscard]] virtual absl::Status WatchControllerRevisions(const CallContext& context, const WatchParams& params,
                                                              WatchSink<ControllerRevision>& sink);
  [[nodiscard]] virtual absl::Status WatchNodeMaintenances(const CallContext& context, const WatchParams& params,
                                                           WatchSink<NodeMaintenance>& sink);
  [[nodiscard]] virtual absl::Status WatchDeviceTaintRules(const CallContext& context, const WatchParams& params,
                                                           WatchSink<DeviceTaintRule>& sink);
  [[nodiscard]] virtual absl::Status WatchResourceClaims(const CallContext& context, const WatchParams& params,
                                                         WatchSink<ResourceClaim>& sink);
  [[nodiscard]] virtual absl::Status WatchResourceSlices(const CallContext& context, const WatchParams& params,
                                                         WatchSink<ResourceSlice>& sink);

  [[nodiscard]] virtual absl::StatusOr<Lease> GetLease(const CallContext& context, const GetLeaseParams& params);
  [[nodiscard]] virtual absl::StatusOr<ConfigMap> GetConfigMap(const CallContext& context,
                                                               const GetConfigMapParams& params);
};

class ClusterWriter {
 public:
  virtual ~ClusterWriter();
  /// Returns the patched node. Errors: Aborted if the node is at another version or has another UID.
  [[nodiscard]] virtual absl::StatusOr<Node> PatchNode(const CallContext& context, const PatchNodeParams& params);
  /// Uses the Eviction API, which respects disruption budgets. Never falls back to deletion.
  [[nodiscard]] virtual absl::StatusOr<EvictionAnswer> EvictPod(const CallContext& context,
                                                                const EvictPodParams& params);
  /// Also returns OK if the pod, or this incarnation of it, no longer exists.
  [[nodiscard]] virtual absl::Status DeletePod(const CallContext& context, const DeletePodParams& params);
  /// Returns the created object. Errors: AlreadyExists if an object with that name exists.
  [[nodiscard]] virtual absl::StatusOr<NodeMaintenance> CreateNodeMaintenance(
      const CallContext& context, const CreateNodeMaintenanceParams& params);
  /// Returns the patched object. Errors: Aborted if the stored object has another version or UID.
  [[nodiscard]] virtual absl::StatusOr<NodeMaintenance> PatchNodeMaintenance(const CallContext& context,
                                                                             const PatchNodeMaintenanceParams& params);
  /// Also returns OK if the object, or this incarnation of it, no longer exists. The object's finalizers can delay the
  /// deletion.
  [[nodiscard]] virtual absl::Status DeleteNodeMaintenance(const CallContext& context,
                                                           const DeleteNodeMaintenanceParams& params);
  /// Returns the created rule. Errors: AlreadyExists if a rule with that name exists.
  [[nodiscard]] virtual absl::StatusOr<DeviceTaintRule> CreateDeviceTaintRule(
      const CallContext& context, const CreateDeviceTaintRuleParams& params);
  /// Returns the patched rule. Errors: Aborted if the stored object has another version or UID.
  [[nodiscard]] virtual absl::StatusOr<DeviceTaintRule> PatchDeviceTaintRule(const CallContext& context,
                                                                             const PatchDeviceTaintRuleParams& params);
  /// Also returns OK if the rule, or this incarnation of it, no longer exists.
  [[nodiscard]] virtual absl::Status DeleteDeviceTaintRule(const CallContext& context,
                                                           const DeleteDeviceTaintRuleParams& params);
  /// Returns the created object; `uid` and `resource_version` of the argument are ignored. Errors: AlreadyExists.
  [[nodiscard]] virtual absl::StatusOr<Lease> CreateLease(const CallContext& context, const Lease& lease);
  /// Compare-and-set: replaces the object if it is still at `resource_version`. Errors: Aborted if it is not.
  [[nodiscard]] virtual absl::StatusOr<Lease> UpdateLease(const CallContext& context, const Lease& lease);
  /// Same as CreateLease.
  [[nodiscard]] virtual absl::StatusOr<ConfigMap> CreateConfigMap(const CallContext& context,
                                                                  const ConfigMap& config_map);
  /// Compare-and-set of individual keys. Returns the patched object. Errors: Aborted if it is at another version or has
  /// another UID.
  [[nodiscard]] virtual absl::StatusOr<ConfigMap> PatchConfigMap(const CallContext& context,
                                                                 const PatchConfigMapParams& params);
  /// Best effort: the caller may ignore the result.
  [[nodiscard]] virtual absl::Status RecordEvent(const CallContext& context, const RecordEventParams& params);
};

class ClusterFacade : public ClusterReader, public ClusterWriter {};

/// The base class of decorators: forwards every call to another facade, and shares ownership of that facade.
///
///     class CountingFacade final : public ForwardingFacade {
///      public:
///       using ForwardingFacade::ForwardingFacade;
///
///      protected:
///       absl::Status Around(Operation operation, const CallContext& context, const Call& call) override {
///         if (IsWrite(operation)) ++writes_;
///         return call(context);
///       }
///
///      private:
///       std::atomic<int> writes_ = 0;
///     };
///
/// A decorator that counts, delays or refuses calls overrides only Around; a decorator that reads parameters or changes
/// a result overrides the operation.
///
/// Thread-safe if the underlying facade is. A decorator must fulfill this header's contract: one call to it causes at
/// most one call to the underlying facade, unless documented otherwise.
class ForwardingFacade : public ClusterFacade {
 public:
  /// `next` is not null.
  explicit ForwardingFacade(std::shared_ptr<ClusterFacade> next);
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

 protected:
  /// A call to the underlying facade; returns its status.
  using Call = std::function<absl::Status(const CallContext&)>;

  /// Wraps every call to the operations above, on the caller's thread. An override can invoke `call` with another
  /// context, later, or not at all. If Around returns an error, the operation fails with that error. If it returns OK,
  /// the operation returns the result of the last `call`, so Around must have invoked `call` at least once.
  virtual absl::Status Around(Operation operation, const CallContext& context, const Call& call);

 private:
  template <typename T, typename Make>
  absl::StatusOr<T> Pass(Operation operation, const CallContext& context, const Make& make);

  std::shared_ptr<ClusterFacade> next_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_CLUSTER_FACADE_H_
