// Replaces policy/policy_yaml.cc: a host passes policies as JSON, to which every YAML library can convert them.
#include "driverupgrade/policy_codec.h"

namespace driverupgrade {

absl::StatusOr<UpgradePolicy> ParseUpgradePolicy(std::string_view document, const PolicyDefaults& defaults) {
  return ParseUpgradePolicyJson(document, defaults);
}

}  // namespace driverupgrade
