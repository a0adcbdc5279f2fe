// A cluster that is a dump.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_DUMP_READER_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_DUMP_READER_H_

#include <map>
#include <string>
#include <vector>

#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/wire/kubernetes_json.h"

namespace upgradectl {

/// Answers the lists that a snapshot is made of, filtered and ordered (by namespace and name) as the API server does.
/// Pods without a UID, which only dumps written by hand have, get one from their names. What cannot be read is in every
/// list that it may belong to. Immutable; thread-safe.
class DumpReader final : public driverupgrade::ClusterReader {
 public:
  explicit DumpReader(driverupgrade::ClusterObjects objects);

  bool Supports(driverupgrade::Operation operation) const override;
  absl::StatusOr<std::vector<driverupgrade::Node>> ListNodes(const driverupgrade::CallContext& context,
                                                             const driverupgrade::ListNodesParams& params) override;
  absl::StatusOr<std::vector<driverupgrade::Pod>> ListPods(const driverupgrade::CallContext& context,
                                                           const driverupgrade::ListPodsParams& params) override;
  absl::StatusOr<std::vector<driverupgrade::DaemonSet>> ListDaemonSets(
      const driverupgrade::CallContext& context, const driverupgrade::ListDaemonSetsParams& params) override;
  absl::StatusOr<std::vector<driverupgrade::ControllerRevision>> ListControllerRevisions(
      const driverupgrade::CallContext& context, const driverupgrade::ListControllerRevisionsParams& params) override;
  absl::StatusOr<std::vector<driverupgrade::PodDisruptionBudget>> ListPodDisruptionBudgets(
      const driverupgrade::CallContext& context, const driverupgrade::ListPodDisruptionBudgetsParams& params) override;
  absl::StatusOr<std::vector<driverupgrade::NodeMaintenance>> ListNodeMaintenances(
      const driverupgrade::CallContext& context, const driverupgrade::ListNodeMaintenancesParams& params) override;

 private:
  driverupgrade::ClusterObjects objects_;
  // Every node's pods are asked for, so they are not searched for in all pods.
  std::map<std::string, std::vector<const driverupgrade::Pod*>> pods_by_node_;
};

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_DUMP_READER_H_
