// Options that operators report in annotations of their Leases (OptionsAnnotation in service/upgrade_service.h). They
// apply to options that the command line does not set.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_REPORTED_OPTIONS_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_REPORTED_OPTIONS_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/cluster_types.h"
#include "upgradectl/facts.h"
#include "upgradectl/options.h"

namespace upgradectl {

/// Returns true if the text, such as a dump, may contain such an annotation.
bool MayReportOptions(std::string_view text);

using ListUsualSets = std::function<std::vector<driverupgrade::DaemonSet>()>;

/// Returns the options of the command line, completed by the report of one driver's operator.
/// - The command line can name the driver, the domain, the namespace or the Lease. Other reports then do not apply.
/// - Otherwise the driver is gpu of nvidia.com if it is reported, if nothing is reported, or if it has DaemonSets that
///   do not belong to a reported driver. `usual_daemon_sets` returns them. Else it is the only reported driver.
/// An annotation that cannot be read adds a line to `notes`. Errors: InvalidArgument if several drivers, or Leases in
/// several namespaces, are left.
[[nodiscard]] absl::StatusOr<Options> WithReported(Options options, const std::vector<LeaseFact>& leases,
                                                   const ListUsualSets& usual_daemon_sets,
                                                   std::vector<std::string>& notes);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_REPORTED_OPTIONS_H_
