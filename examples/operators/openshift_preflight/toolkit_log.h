/// Reads the messages about the driver toolkit from the logs of a driver pod on OpenShift.
///
/// Defines ToolkitMessages and ReadToolkitLog. Pure.
///
///     ToolkitMessages said = ReadToolkitLog(log_of_openshift_driver_toolkit_ctr);
///     if (said.kernel_package != node.kernel) ...
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_TOOLKIT_LOG_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_TOOLKIT_LOG_H_

#include <string>
#include <string_view>

namespace openshift_preflight {

struct ToolkitMessages {
  /// True if the toolkit is for a kernel that differs from the node's. `node_kernel` and `kernel_package` are empty if
  /// the log does not name the kernels.
  bool broken = false;
  std::string node_kernel = {};
  std::string kernel_package = {};
  /// True if the build of the driver falls back to packages that require an entitlement.
  bool fallback = false;
  friend bool operator==(const ToolkitMessages&, const ToolkitMessages&) = default;
};

/// Reads the toolkit's messages from `log`, the log of the driver container or of the driver-toolkit container. If the
/// log reports the kernels more than once, the last report counts.
ToolkitMessages ReadToolkitLog(std::string_view log);

}  // namespace openshift_preflight

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_TOOLKIT_LOG_H_
