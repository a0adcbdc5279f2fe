/// What the containers of a driver pod on OpenShift say about the driver toolkit.
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
  /// The toolkit is for another kernel than the node's. The kernels are empty where the log does not name them.
  bool broken = false;
  std::string node_kernel = {};
  std::string kernel_package = {};
  /// The driver is built with packages that need an entitlement instead.
  bool fallback = false;
  friend bool operator==(const ToolkitMessages&, const ToolkitMessages&) = default;
};

/// `log`: of either container. What it says last counts.
ToolkitMessages ReadToolkitLog(std::string_view log);

}  // namespace openshift_preflight

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_TOOLKIT_LOG_H_
