/// Parameters of the reads of the seam (cluster_facade.h).
///
/// Defines OnUnreadable and the Params structs of ClusterReader, except WatchParams (watch.h).
///
///     const ListPodsParams on_node{.ns = "gpu-operator", .node_name = node.name};
///     absl::StatusOr<std::vector<Pod>> pods = cluster->ListPods(context, on_node);
///
/// Values, copied like any others.
#ifndef DRIVERUPGRADE_CLUSTER_READS_H_
#define DRIVERUPGRADE_CLUSTER_READS_H_

#include <cstdint>
#include <string>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/label_selector.h"

namespace driverupgrade {

/// The effect of one object that cannot be read on its list or watch.
enum class OnUnreadable : std::uint8_t {
  kFail,  ///< All of it fails: for callers that would take such an object for absent.
  kMark,  ///< The object is returned with `unreadable` set, and the others as ever.
};

struct GetNodeParams {
  std::string name = {};
};
struct ListNodesParams {
  LabelSelector label_selector = {};
  OnUnreadable on_unreadable = OnUnreadable::kFail;
};
struct GetPodParams {
  std::string ns = {};
  std::string name = {};
};
struct ListPodsParams {
  /// Empty: all namespaces.
  std::string ns = {};
  LabelSelector label_selector = {};
  /// Empty: all nodes.
  std::string node_name = {};
  OnUnreadable on_unreadable = OnUnreadable::kFail;
};
struct ListDaemonSetsParams {
  std::string ns = {};
  LabelSelector label_selector = {};
  OnUnreadable on_unreadable = OnUnreadable::kFail;
};
struct ListControllerRevisionsParams {
  std::string ns = {};
  LabelSelector label_selector = {};
  OnUnreadable on_unreadable = OnUnreadable::kFail;
};
struct ListPodDisruptionBudgetsParams {
  /// Empty: all namespaces.
  std::string ns = {};
};
struct GetNodeMaintenanceParams {
  std::string ns = {};
  std::string name = {};
};
struct ListNodeMaintenancesParams {
  /// Empty: all namespaces.
  std::string ns = {};
  OnUnreadable on_unreadable = OnUnreadable::kFail;
};

struct GetLeaseParams {
  std::string ns = {};
  std::string name = {};
};
struct GetConfigMapParams {
  std::string ns = {};
  std::string name = {};
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_CLUSTER_READS_H_
