// The DaemonSets of the GPU driver that the policies ask for by a version. Pure.
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

/// `nvidia-driver-daemonset` in `ns`, as the ClusterPolicy has it; none without spec.driver.version.
std::vector<examples::DriverDaemonSet> DriverSets(const ClusterPolicy& policy, const std::string& ns);
/// `nvidia-driver-<name>` of each NVIDIADriver with spec.version, on the nodes that it owns.
std::vector<examples::DriverDaemonSet> DriverSets(const std::vector<NvidiaDriver>& drivers, const std::string& ns);
/// Returns the DaemonSet with the operating system of its nodes in the tag of the driver's image: `550.54.15-ubuntu22.04`.
/// The DaemonSet is refused if its nodes have several operating systems, or if none is known. Empty: the tag lacks one, and
/// the nodes have not been read yet (nullopt).
std::vector<examples::DriverDaemonSet> OnSystems(examples::DriverDaemonSet set,
                                                 const std::optional<std::set<examples::NodeSystem>>& systems);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_DRIVER_SETS_H_
