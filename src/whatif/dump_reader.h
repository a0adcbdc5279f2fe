// A cluster that is a dump.
#ifndef DRIVERUPGRADE_SRC_WHATIF_DUMP_READER_H_
#define DRIVERUPGRADE_SRC_WHATIF_DUMP_READER_H_

#include <map>
#include <string>
#include <vector>

#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/wire/kubernetes_json.h"

namespace driverupgrade::whatif {

/// Answers the lists that a snapshot is made of, filtered and ordered (by namespace and name) as the API server does.
/// Pods without a UID, which only dumps written by hand have, get one from their names. What cannot be read is in every
/// list that it may belong to. Immutable; thread-safe.
class DumpReader final : public ClusterReader {
 public:
  explicit DumpReader(ClusterObjects objects);

  bool Supports(Operation operation) const override;
  absl::StatusOr<std::vector<Node>> ListNodes(const CallContext& context, const ListNodesParams& params) override;
  absl::StatusOr<std::vector<Pod>> ListPods(const CallContext& context, const ListPodsParams& params) override;
  absl::StatusOr<std::vector<DaemonSet>> ListDaemonSets(const CallContext& context,
                                                        const ListDaemonSetsParams& params) override;
  absl::StatusOr<std::vector<ControllerRevision>> ListControllerRevisions(
      const CallContext& context, const ListControllerRevisionsParams& params) override;
  absl::StatusOr<std::vector<PodDisruptionBudget>> ListPodDisruptionBudgets(
      const CallContext& context, const ListPodDisruptionBudgetsParams& params) override;
  absl::StatusOr<std::vector<NodeMaintenance>> ListNodeMaintenances(const CallContext& context,
                                                                    const ListNodeMaintenancesParams& params) override;

 private:
  ClusterObjects objects_;
  // Every node's pods are asked for, so they are not searched for in all pods.
  std::map<std::string, std::vector<const Pod*>> pods_by_node_;
};

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_DUMP_READER_H_
