/// The base of decorators of a ClusterFacade: what counts, delays, records or refuses calls to another one.
///
/// Defines ForwardingFacade.
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
/// What counts, delays or refuses overrides Around alone; what looks at parameters or changes an answer overrides the
/// operation.
///
/// Thread-safe as the facade beneath is. A decorator keeps the contract of cluster_facade.h: one call of it is at most
/// one call beneath, unless it says otherwise.
#ifndef DRIVERUPGRADE_FORWARDING_FACADE_H_
#define DRIVERUPGRADE_FORWARDING_FACADE_H_

#include <functional>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/cluster_facade.h"

namespace driverupgrade {

/// Passes every call on to another facade. Holds a share of it.
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
  absl::StatusOr<Lease> CreateLease(const CallContext& context, const Lease& lease) override;
  absl::StatusOr<Lease> UpdateLease(const CallContext& context, const Lease& lease) override;
  absl::StatusOr<ConfigMap> CreateConfigMap(const CallContext& context, const ConfigMap& config_map) override;
  absl::StatusOr<ConfigMap> PatchConfigMap(const CallContext& context, const PatchConfigMapParams& params) override;
  absl::Status RecordEvent(const CallContext& context, const RecordEventParams& params) override;

 protected:
  /// Makes the call beneath, and returns its status.
  using Call = std::function<absl::Status(const CallContext&)>;

  /// Every call of the operations above, on the thread of who calls. `call` may be made with another context, later, or
  /// not at all. Returns what the operation is to fail with; OK for the answer of the last `call`, which then has been
  /// made.
  virtual absl::Status Around(Operation operation, const CallContext& context, const Call& call);

 private:
  template <typename T, typename Make>
  absl::StatusOr<T> Pass(Operation operation, const CallContext& context, const Make& make);

  std::shared_ptr<ClusterFacade> next_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_FORWARDING_FACADE_H_
