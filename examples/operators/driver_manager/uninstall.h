/// Prepares a node for another driver: stops what uses the present one, and unloads it.
///
/// Defines UninstallDriver.
///
///     absl::Status done = UninstallDriver(
///         settings, {.cluster = cluster, .host = host, .clock = SystemClock(), .log = log}, stop);
///
/// The flow of NVIDIA's k8s-driver-manager (upstream-behaviour.md §3.3 to §3.5) with what README.md says is different.
/// May be called again wherever it was interrupted. Blocks.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_UNINSTALL_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_UNINSTALL_H_

#include <stop_token>

#include "driver_manager/environment.h"
#include "driver_manager/node_client.h"

namespace driver_manager {

/// Node annotation; `true`: an upgrade engine evacuates the node, so nothing is evicted or cordoned here.
inline constexpr char kPolicyAnnotation[] = "nvidia.com/gpu-driver-upgrade-enabled";

/// OK: the new driver may be installed. After an error the operands have been resumed and our cordon is lifted, as far
/// as the cluster allowed; also after a request to stop.
absl::Status UninstallDriver(const Settings& settings, const Parts& parts, std::stop_token stop);

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_UNINSTALL_H_
