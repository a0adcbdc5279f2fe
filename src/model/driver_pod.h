// Driver pods in the form in which a cache keeps them: one for each node of the fleet, for as long as the engine runs.
#ifndef DRIVERUPGRADE_SRC_MODEL_DRIVER_POD_H_
#define DRIVERUPGRADE_SRC_MODEL_DRIVER_POD_H_

#include "driverupgrade/cluster_types.h"

namespace driverupgrade::internal {

// Drops the fields that are only for a PodFilter, which is never called with a driver pod: they would take more memory
// than all other fields.
inline void DropFilterFields(Pod& pod) {
  pod.annotations = {};
  pod.volumes = {};
  pod.scheduler_name = {};
  pod.subdomain = {};
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_MODEL_DRIVER_POD_H_
