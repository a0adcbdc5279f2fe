// Defines a custom ClusterFacade for a fleet in memory.
#ifndef DRIVERUPGRADE_EXAMPLES_CUSTOM_FACADE_STORE_CLUSTER_H_
#define DRIVERUPGRADE_EXAMPLES_CUSTOM_FACADE_STORE_CLUSTER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"

namespace custom_facade {

/// Implements the operations that an engine needs if it has no cache, ledger or maintenance operator, and operations to
/// inspect the fleet. A StoreCluster is also the fleet itself: its owner adds objects, and Tick acts as the controllers
/// and kubelets. Thread-safe.
class StoreCluster final : public driverupgrade::ClusterFacade {
 public:
  /// `clock` must not be null.
  explicit StoreCluster(std::shared_ptr<driverupgrade::Clock> clock);

  // Functions for the owner of the fleet. A Put function replaces an existing object with the same name. PutNode and
  // PutPod return the object as stored, with UID and version.

  driverupgrade::Node PutNode(driverupgrade::Node node);
  driverupgrade::Pod PutPod(driverupgrade::Pod pod);
  /// Uses only `desired_healthy` of the budget's status: the number of the budget's pods that must be ready.
  void PutBudget(driverupgrade::PodDisruptionBudget budget);
  /// Creates a DaemonSet with a pod on each node. From the next Tick on, new pods have the label `app=<name>` and the
  /// revision `hash`. Pods of other revisions stay until they are deleted (OnDelete).
  void PutDriver(const std::string& ns, const std::string& name, const std::string& hash);
  bool RemoveNode(const std::string& name);

  /// Removes deleted pods. Recreates pods of a ReplicaSet on the schedulable node with the fewest pods, and driver pods
  /// on nodes without a driver pod.
  void Tick();

  std::vector<driverupgrade::RecordEventParams> events() const;

  // The library's interface.

  bool Supports(driverupgrade::Operation operation) const override;
  absl::StatusOr<driverupgrade::Node> GetNode(const driverupgrade::CallContext& context,
                                              const driverupgrade::GetNodeParams& params) override;
  absl::StatusOr<std::vector<driverupgrade::Node>> ListNodes(const driverupgrade::CallContext& context,
                                                             const driverupgrade::ListNodesParams& params) override;
  absl::StatusOr<driverupgrade::Pod> GetPod(const driverupgrade::CallContext& context,
                                            const driverupgrade::GetPodParams& params) override;
  absl::StatusOr<std::vector<driverupgrade::Pod>> ListPods(const driverupgrade::CallContext& context,
                                                           const driverupgrade::ListPodsParams& params) override;
  absl::StatusOr<std::vector<driverupgrade::DaemonSet>> ListDaemonSets(
      const driverupgrade::CallContext& context, const driverupgrade::ListDaemonSetsParams& params) override;
  absl::StatusOr<std::vector<driverupgrade::ControllerRevision>> ListControllerRevisions(
      const driverupgrade::CallContext& context, const driverupgrade::ListControllerRevisionsParams& params) override;
  absl::StatusOr<std::vector<driverupgrade::PodDisruptionBudget>> ListPodDisruptionBudgets(
      const driverupgrade::CallContext& context, const driverupgrade::ListPodDisruptionBudgetsParams& params) override;
  absl::StatusOr<driverupgrade::Node> PatchNode(const driverupgrade::CallContext& context,
                                                const driverupgrade::PatchNodeParams& params) override;
  absl::StatusOr<driverupgrade::EvictionAnswer> EvictPod(const driverupgrade::CallContext& context,
                                                         const driverupgrade::EvictPodParams& params) override;
  absl::Status DeletePod(const driverupgrade::CallContext& context,
                         const driverupgrade::DeletePodParams& params) override;
  absl::Status RecordEvent(const driverupgrade::CallContext& context,
                           const driverupgrade::RecordEventParams& params) override;

 private:
  using Key = std::pair<std::string, std::string>;  // namespace, name

  absl::Status Check(const driverupgrade::CallContext& context) const;
  std::string NextVersion();
  driverupgrade::Pod Store(driverupgrade::Pod pod);
  driverupgrade::Pod* Find(const driverupgrade::PodRef& ref);
  void Mark(driverupgrade::Pod& pod);
  driverupgrade::PodDisruptionBudget Counted(driverupgrade::PodDisruptionBudget budget) const;
  void MoveDeletedPods();
  void StartDrivers();
  std::string LeastBusyNode() const;

  const std::shared_ptr<driverupgrade::Clock> clock_;
  mutable std::mutex mutex_;  // guards all members below
  std::int64_t version_ = 0;
  std::map<std::string, driverupgrade::Node> nodes_;
  std::map<Key, driverupgrade::Pod> pods_;
  std::map<Key, driverupgrade::DaemonSet> daemon_sets_;
  std::vector<driverupgrade::ControllerRevision> revisions_;  // in order of creation
  std::map<Key, driverupgrade::PodDisruptionBudget> budgets_;
  std::vector<driverupgrade::RecordEventParams> events_;
};

}  // namespace custom_facade

#endif  // DRIVERUPGRADE_EXAMPLES_CUSTOM_FACADE_STORE_CLUSTER_H_
