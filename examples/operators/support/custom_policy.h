/// Reading policies out of custom resources.
///
/// Defines ReadFlag, ReadUpgradePolicy, CreationTime and PolicyResource.
///
///     auto policy = ReadUpgradePolicy(*json, {"spec", "driver", "upgradePolicy"}, PolicyDefaults::GpuOperator());
///
/// Other than in json.h, what is of another type is an error, which names the path. Pure.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_CUSTOM_POLICY_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_CUSTOM_POLICY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/policy_codec.h"
#include "support/json.h"

namespace examples {

/// False if it is absent or null. Errors: InvalidArgument if it is no boolean.
absl::StatusOr<bool> ReadFlag(const rapidjson::Value& object, JsonPath path);

/// An absent section is one that is silent, so that the defaults stand; but autoUpgrade is on only if the defaults say
/// so. Errors: InvalidArgument, naming `path` and what ParseUpgradePolicy names.
absl::StatusOr<driverupgrade::UpgradePolicy> ReadUpgradePolicy(const rapidjson::Value& object, JsonPath path,
                                                               const driverupgrade::PolicyDefaults& defaults);

/// metadata.creationTimestamp; the epoch if it has none.
absl::Time CreationTime(const rapidjson::Value& object);

/// Returns the place of the policy in a custom resource, for EngineSpec::policy_resource. `section`: such as
/// `spec.driver.upgradePolicy`.
std::string PolicyResource(const driverupgrade::ObjectKind& kind, const std::string& name, const std::string& section);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_CUSTOM_POLICY_H_
