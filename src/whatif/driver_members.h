// Reads the members that plan requests and engine options have in common, such as the driver's identity and selectors.
#ifndef DRIVERUPGRADE_SRC_WHATIF_DRIVER_MEMBERS_H_
#define DRIVERUPGRADE_SRC_WHATIF_DRIVER_MEMBERS_H_

#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/engine_options.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/policy_codec.h"
#include "driverupgrade/policy_values.h"
#include "driverupgrade/upgrade_policy.h"
#include "driverupgrade/validation_manager.h"
#include "wire/document.h"

namespace driverupgrade::internal {

// The error of each function contains the path of the invalid member.
absl::StatusOr<DriverIdentity> IdentityOf(const Document& document);
absl::StatusOr<DriverIdentity> IdentityMember(const Document& document);
// An empty selector is an error, because it would select everything.
absl::StatusOr<LabelSelector> SelectorMember(const Document& document, std::string_view member);
absl::StatusOr<PolicyDefaults> DefaultsMember(const Document& document);
// Reads `earlyValidation`. By default, hosts restart validation pods that are ready too early.
absl::StatusOr<EarlyValidation> EarlyValidationMember(const Document& document);
// Returns nullopt if the member is absent.
absl::StatusOr<std::optional<RequestorOptions>> RequestorMember(const Document& document);

// Parses a JSON object that contains the name of a time zone and its offsets from UTC.
absl::StatusOr<TimeZoneTable> ParseTimeZone(std::string_view text);
// Parses a policy. The names of its time zones refer to the request's member `timeZones` or, if the member is absent,
// to the time zones of the machine.
absl::StatusOr<UpgradePolicy> ParsePolicy(const Document& request, std::string_view text,
                                          const PolicyDefaults& defaults);

// Excludes pods with the driver's skip-drain label from drains.
void SpareSkippedPods(const DriverIdentity& identity, UpgradePolicy& policy);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WHATIF_DRIVER_MEMBERS_H_
