/// Reads ResourceClaims and node selectors of DaemonSets from the API server, as JSON.
///
/// Defines MakeLookups.
///
///     Parts parts{..., .lookups = MakeLookups(std::make_shared<ObjectClient>(transport))};
///
/// Thread-safe if the client is.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_LOOKUPS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_LOOKUPS_H_

#include <memory>

#include "driver_manager/node_client.h"
#include "driverupgrade/kubernetes/object_client.h"

namespace driver_manager {

/// Returns lookups that query the API server. A claim holds a GPU if a device of the driver `gpu.nvidia.com` is
/// allocated to it. Devices with admin access count, because they need the driver, too.
Lookups MakeLookups(std::shared_ptr<const driverupgrade::ObjectClient> objects);

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_LOOKUPS_H_
