// Detects whether two revisions of a driver's DaemonSet load the same driver.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_DRIVER_DIGEST_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_DRIVER_DIGEST_H_

#include <string>

#include "driverupgrade/cluster_types.h"

namespace gpu_operator {

/// Environment variable in which NVIDIA's operator stores a digest of all settings that change the driver.
inline constexpr char kDriverConfigDigest[] = "DRIVER_CONFIG_DIGEST";

/// Returns the first non-empty value of DRIVER_CONFIG_DIGEST in the template's init containers, then in its containers;
/// empty if no container sets it (upstream-behaviour.md §1.6).
std::string DriverDigest(const driverupgrade::ControllerRevision& revision);

/// Returns true if both revisions have the same digest: the pod can then be restarted without evacuating the node (T8).
bool LoadsSameDriver(const driverupgrade::ControllerRevision& running, const driverupgrade::ControllerRevision& wanted);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_DRIVER_DIGEST_H_
