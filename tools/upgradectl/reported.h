// The policy that an operator reports: its leader writes it to the Lease, with each renewal.
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

/// `live`, or `live:ENGINE`: the name of the engine, empty for the only one. nullopt: a file is named.
std::optional<std::string> EngineOfLive(std::string_view policy);

struct ReportedPolicy {
  driverupgrade::UpgradePolicy policy = {};
  /// Of whom it is.
  LeaseFact lease = {};
};

/// The Lease of the driver's operator: the one that is named, or the one with its policies, or the one by whose name it can
/// be told; of several the last that was renewed.
std::optional<LeaseFact> LeaseOf(const driverupgrade::DriverIdentity& identity, const DriverPlace& place,
                                 const Facts& facts);

/// `engine`: of an operator that has several; empty: it has one. Errors: NotFound if nobody reports such a policy;
/// InvalidArgument for what cannot be read, and if it has to be said which.
[[nodiscard]] absl::StatusOr<ReportedPolicy> ReadReported(const driverupgrade::DriverIdentity& identity,
                                                          const DriverPlace& place, const Facts& facts,
                                                          const std::string& engine);

/// The holder may not lead any more: it has not renewed the Lease in time, or has given it up.
bool HasRunOut(const LeaseFact& lease, absl::Time at);

/// "policy reported by operator-7 (Lease gpu-operator/gpu-driver-upgrade, renewed 2s ago)", for people.
std::string DescribeReport(const LeaseFact& lease, absl::Time at);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_REPORTED_H_
