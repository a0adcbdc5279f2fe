// All pods of a cluster by one list.
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

// Those on a node, by its name; those that cannot be read are marked. Errors: those of the list; DataLoss for a pod that
// does not even say on which node it is: it may be on any.
absl::StatusOr<PodsByNode> ListPodsByNode(const CallContext& context, ClusterReader& cluster);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_READ_PODS_BY_NODE_H_
