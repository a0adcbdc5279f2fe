// Stores objects from one round of lists.
#ifndef DRIVERUPGRADE_SRC_READ_LISTED_OBJECTS_H_
#define DRIVERUPGRADE_SRC_READ_LISTED_OBJECTS_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "read/held_objects.h"
#include "read/node_views.h"

namespace driverupgrade::internal {

class ListedObjects final : public HeldObjects {
 public:
  // Lists all objects except for the pods of nodes, and drops the pods that were read before. If the list of
  // NodeMaintenances or of a DRA kind fails, the failure becomes a finding, and the objects of that kind are unknown.
  // Errors: the errors of the other lists.
  absl::Status List(const CallContext& context, ClusterReader& cluster, const ViewScope& scope);
  // Read the pods of `nodes`. ListPodsOf uses one list for each node, and ListAllPods uses one list of all pods. Both
  // functions return a status for each node. If the pods of a node could not be read, they stay unknown.
  std::map<std::string, absl::Status> ListPodsOf(const CallContext& context, ClusterReader& cluster,
                                                 const std::set<std::string>& nodes);
  std::map<std::string, absl::Status> ListAllPods(const CallContext& context, ClusterReader& cluster,
                                                  const std::set<std::string>& nodes);

  std::vector<std::string> Uids() const;
  // Moves out all nodes with their objects, sorted by name. Adds a finding to `missing` for each missing node that a
  // driver pod names.
  std::vector<NodeParts> TakeAll(std::vector<Finding>& missing);

  std::vector<Finding> Findings() const override { return findings_; }
  bool KnowsPodsOn(const std::string& node) const override { return pods_.contains(node); }

 private:
  void ListMaintenances(const CallContext& context, ClusterReader& cluster, const ViewScope& scope);
  void ListDevices(const CallContext& context, ClusterReader& cluster, const ViewScope& scope);
  absl::Status TakePods(const std::string& node, absl::StatusOr<std::vector<Pod>> pods);

  std::vector<Finding> findings_;
  bool has_devices_ = false;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_LISTED_OBJECTS_H_
