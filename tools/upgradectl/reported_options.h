// Reads options that operators report in annotations of their Leases (OptionsAnnotation in service/upgrade_service.h).
// A reported value applies only if the command line does not set the option.
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

/// Returns true if `text`, such as a dump, may contain an annotation with reported options.
bool MayReportOptions(std::string_view text);

using ListUsualSets = std::function<std::vector<driverupgrade::DaemonSet>()>;

/// Returns the options of the command line, completed with the report from one driver's operator.
/// - If the command line names the driver, the domain, the namespace or the Lease, only matching reports apply.
/// - If it names none of these, the driver is gpu of nvidia.com if that driver is reported, if nothing is reported, or
///   if `usual_daemon_sets` returns DaemonSets that do not belong to a reported driver. In all other cases, the driver
///   is the only reported one.
/// Adds a line to `notes` for each annotation that cannot be read. Errors: InvalidArgument if several drivers, or
/// Leases in several namespaces, remain.
[[nodiscard]] absl::StatusOr<Options> WithReported(Options options, const std::vector<LeaseFact>& leases,
                                                   const ListUsualSets& usual_daemon_sets,
                                                   std::vector<std::string>& notes);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_REPORTED_OPTIONS_H_
