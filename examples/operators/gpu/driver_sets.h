// The DaemonSets of the GPU driver that the policies ask for by a version. Pure.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_DRIVER_SETS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_DRIVER_SETS_H_

#include <string>
#include <vector>

#include "gpu/cluster_policy.h"
#include "support/driver_maker.h"

namespace gpu_operator {

/// `nvidia-driver-daemonset` in `ns`, as the ClusterPolicy has it; none without spec.driver.version.
std::vector<examples::DriverDaemonSet> DriverSets(const ClusterPolicy& policy, const std::string& ns);
/// `nvidia-driver-<name>` of each NVIDIADriver with spec.version, on the nodes that it owns.
std::vector<examples::DriverDaemonSet> DriverSets(const std::vector<NvidiaDriver>& drivers, const std::string& ns);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_DRIVER_SETS_H_
