// Describes problems of a pod's containers, for gates and findings. A message stays the same as long as its problem
// lasts.
#ifndef DRIVERUPGRADE_SRC_MODEL_CONTAINER_TROUBLE_H_
#define DRIVERUPGRADE_SRC_MODEL_CONTAINER_TROUBLE_H_

#include <string>

#include "driverupgrade/cluster_types.h"

namespace driverupgrade::internal {

// Returns the problem that keeps the kubelet from starting the pod until an administrator intervenes; empty if no such
// problem is known.
std::string StartError(const Pod& pod);

// Returns a message about a container that has restarted repeatedly; empty if there is no such container. Omits the
// number of restarts, so that the message does not change with each restart.
std::string Crashing(const Pod& pod);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_MODEL_CONTAINER_TROUBLE_H_
