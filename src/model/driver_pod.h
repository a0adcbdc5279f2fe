// Reduces the memory for driver pods in a cache, which keeps one driver pod for each node as long as the engine runs.
#ifndef DRIVERUPGRADE_SRC_MODEL_DRIVER_POD_H_
#define DRIVERUPGRADE_SRC_MODEL_DRIVER_POD_H_

#include "driverupgrade/cluster_types.h"

namespace driverupgrade::internal {

// Drops the fields that only a PodFilter needs, because a PodFilter is never called with a driver pod. These fields use
// more memory than all others together.
inline void DropFilterFields(Pod& pod) {
  pod.annotations = {};
  pod.volumes = {};
  pod.scheduler_name = {};
  pod.subdomain = {};
  pod.pod_group = {};
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_MODEL_DRIVER_POD_H_
