/// Prepares a node for another driver: evicts the pods that use the current driver, and unloads that driver.
///
/// Defines UninstallDriver.
///
///     absl::Status done = UninstallDriver(
///         settings, {.cluster = cluster, .host = host, .clock = SystemClock(), .log = log}, stop);
///
/// Follows NVIDIA's k8s-driver-manager (upstream-behaviour.md §3.3 to §3.5), except for the differences in README.md.
/// Can be repeated after any interruption. Blocks.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_UNINSTALL_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_UNINSTALL_H_

#include <stop_token>

#include "driver_manager/environment.h"
#include "driver_manager/node_client.h"

namespace driver_manager {

/// Node annotation; `true` means that an upgrade engine evacuates the node, so this program evicts and cordons nothing.
inline constexpr char kPolicyAnnotation[] = "nvidia.com/gpu-driver-upgrade-enabled";

/// Returns OK if the new driver may be installed. After an error or a stop request, the operands have been resumed and
/// our cordon has been lifted, if possible.
absl::Status UninstallDriver(const Settings& settings, const Parts& parts, std::stop_token stop);

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_UNINSTALL_H_
