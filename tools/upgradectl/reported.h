// Reads the policy that an operator reports: the operator's leader writes the policy to the Lease with each renewal.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_REPORTED_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_REPORTED_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/upgrade_policy.h"
#include "upgradectl/facts.h"
#include "upgradectl/source.h"

namespace upgradectl {

/// Returns ENGINE for `live:ENGINE`, and an empty name, which means the only engine, for `live`. Returns nullopt if
/// `policy` names a file.
std::optional<std::string> EngineOfLive(std::string_view policy);

struct ReportedPolicy {
  driverupgrade::UpgradePolicy policy = {};
  /// Lease of the operator that reports the policy.
  LeaseFact lease = {};
};

/// Returns the Lease of the driver's operator: the named Lease, a Lease with the driver's policies, or a Lease whose
/// name identifies the driver. If several match, returns the most recently renewed one.
std::optional<LeaseFact> LeaseOf(const driverupgrade::DriverIdentity& identity, const DriverPlace& place,
                                 const Facts& facts);

/// `engine` names one of the operator's engines, or is empty for the only engine. Errors: NotFound if no operator
/// reports such a policy; InvalidArgument if the report cannot be read, or if the engine must be named.
[[nodiscard]] absl::StatusOr<ReportedPolicy> ReadReported(const driverupgrade::DriverIdentity& identity,
                                                          const DriverPlace& place, const Facts& facts,
                                                          const std::string& engine);

/// Returns true if the holder may no longer be the leader, because it has released the Lease or has not renewed it in
/// time.
bool HasRunOut(const LeaseFact& lease, absl::Time at);

/// Returns, for example, "policy reported by operator-7 (Lease gpu-operator/gpu-driver-upgrade, renewed 2s ago)".
std::string DescribeReport(const LeaseFact& lease, absl::Time at);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_REPORTED_H_
