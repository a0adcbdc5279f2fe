// Creates the GPU driver's DaemonSets, which policies request by setting a driver version. Pure.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_DRIVER_SETS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_DRIVER_SETS_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gpu/cluster_policy.h"
#include "support/driver_daemon_set.h"
#include "support/node_system.h"

namespace gpu_operator {

/// Returns the DaemonSet `nvidia-driver-daemonset` in `ns` that the ClusterPolicy describes; empty if
/// spec.driver.version is not set.
std::vector<examples::DriverDaemonSet> DriverSets(const ClusterPolicy& policy, const std::string& ns);
/// Returns a DaemonSet `nvidia-driver-<name>` for each NVIDIADriver with spec.version, on the nodes that the
/// NVIDIADriver owns.
std::vector<examples::DriverDaemonSet> DriverSets(const std::vector<NvidiaDriver>& drivers, const std::string& ns);
/// Returns the DaemonSet with the nodes' operating system appended to the driver image's tag: `550.54.15-ubuntu22.04`.
/// Refuses the DaemonSet if its nodes have several operating systems, or no known operating system. Returns an empty
/// list if the tag needs an operating system and the nodes have not been read yet (nullopt).
std::vector<examples::DriverDaemonSet> OnSystems(examples::DriverDaemonSet set,
                                                 const std::optional<examples::NodeSystems>& systems);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_DRIVER_SETS_H_
