/// Reads policies from custom resources.
///
/// Defines ReadFlag, ReadUpgradePolicy, CreationTime and PolicyResource.
///
///     auto policy = ReadUpgradePolicy(*json, {"spec", "driver", "upgradePolicy"}, PolicyDefaults::GpuOperator());
///
/// Unlike the functions in json.h, the readers return an error if a value has the wrong type. All functions are pure.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_CUSTOM_POLICY_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_CUSTOM_POLICY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/policy_codec.h"
#include "support/json.h"

namespace examples {

/// Returns false if the field is missing or null. Errors: InvalidArgument if the field is not a boolean.
absl::StatusOr<bool> ReadFlag(const rapidjson::Value& object, JsonPath path);

/// Reads the policy section at `path`. Returns the defaults if the section is missing or empty. Errors:
/// InvalidArgument with `path` and the error of ParseUpgradePolicy.
absl::StatusOr<driverupgrade::UpgradePolicy> ReadUpgradePolicy(const rapidjson::Value& object, JsonPath path,
                                                               const driverupgrade::PolicyDefaults& defaults);

/// Returns metadata.creationTimestamp; the epoch if it is missing.
absl::Time CreationTime(const rapidjson::Value& object);

/// Returns the location of the policy in a custom resource, for EngineSpec::policy_resource. `section` is, for example,
/// `spec.driver.upgradePolicy`.
std::string PolicyResource(const driverupgrade::ObjectKind& kind, const std::string& name, const std::string& section);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_CUSTOM_POLICY_H_
