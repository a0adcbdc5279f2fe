// Whether two revisions of a driver's DaemonSet load the same driver.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_DRIVER_DIGEST_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_DRIVER_DIGEST_H_

#include <string>

#include "driverupgrade/cluster_types.h"

namespace gpu_operator {

/// The environment variable in which NVIDIA's operator puts a digest of all that changes the driver.
inline constexpr char kDriverConfigDigest[] = "DRIVER_CONFIG_DIGEST";

/// Its first value that is not empty, over the template's init containers, then its containers; empty if there is none
/// (upstream-behaviour.md §1.6).
std::string DriverDigest(const driverupgrade::ControllerRevision& revision);

/// Both have one, and it is the same: then a restart of the pod needs no evacuated node (T8).
bool LoadsSameDriver(const driverupgrade::ControllerRevision& running, const driverupgrade::ControllerRevision& wanted);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_DRIVER_DIGEST_H_
