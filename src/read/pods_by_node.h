// Reads all pods of a cluster with one list.
#ifndef DRIVERUPGRADE_SRC_READ_PODS_BY_NODE_H_
#define DRIVERUPGRADE_SRC_READ_PODS_BY_NODE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"

namespace driverupgrade::internal {

using PodsByNode = std::map<std::string, std::vector<Pod>>;

// Returns the pods by node name. Pods that cannot be read are marked. Errors: the errors of the list; DataLoss for a
// pod whose node cannot be read, because such a pod may be on any node.
absl::StatusOr<PodsByNode> ListPodsByNode(const CallContext& context, ClusterReader& cluster);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_PODS_BY_NODE_H_
