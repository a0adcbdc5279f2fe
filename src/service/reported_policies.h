// Formats an operator's report of the policies in effect. The report is stored in an annotation of the operator's Lease
// (DriverIdentity::PolicyAnnotation).
#ifndef DRIVERUPGRADE_SRC_SERVICE_REPORTED_POLICIES_H_
#define DRIVERUPGRADE_SRC_SERVICE_REPORTED_POLICIES_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "driverupgrade/service/director.h"

namespace driverupgrade::internal {

/// Maximum size of the report in bytes. The report must be short, because it is written with each renewal of the Lease.
/// A policy takes 0.8 kB, or 3 kB with ten stages.
inline constexpr std::size_t kReportedPoliciesMax = std::size_t{16} << 10;

/// Returns `{"<engine name>":<policy as FormatUpgradePolicy writes it>}`, sorted by name. Leaves out engines that are
/// `refused`, and policies that an engine would refuse.
std::string FormatReportedPolicies(const std::vector<EngineSpec>& specs,
                                   const std::map<std::string, absl::Status>& refused);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_SERVICE_REPORTED_POLICIES_H_
