// In place of policy/policy_yaml.cc: a host hands policies in as JSON, which every YAML library gives.
#include "driverupgrade/policy_codec.h"

namespace driverupgrade {

absl::StatusOr<UpgradePolicy> ParseUpgradePolicy(std::string_view document, const PolicyDefaults& defaults) {
  return ParseUpgradePolicyJson(document, defaults);
}

}  // namespace driverupgrade
