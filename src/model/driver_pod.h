// Driver pods as a cache keeps them: one for each node of the fleet, as long as the engine runs.
#ifndef DRIVERUPGRADE_SRC_MODEL_DRIVER_POD_H_
#define DRIVERUPGRADE_SRC_MODEL_DRIVER_POD_H_

#include "driverupgrade/cluster_types.h"

namespace driverupgrade::internal {

// Drops the fields that only a PodFilter needs, because it is never called with a driver pod. They would take more
// memory than all other fields.
inline void DropFilterFields(Pod& pod) {
  pod.annotations = {};
  pod.volumes = {};
  pod.scheduler_name = {};
  pod.subdomain = {};
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_MODEL_DRIVER_POD_H_
