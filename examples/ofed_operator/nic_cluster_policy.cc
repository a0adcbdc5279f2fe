#include "ofed_operator/nic_cluster_policy.h"

#include <algorithm>
#include <utility>

#include "support/custom_policy.h"
#include "support/json.h"

namespace ofed_operator {

using driverupgrade::ApiObject;

absl::StatusOr<NicClusterPolicy> ReadNicClusterPolicy(const ApiObject& object) {
  const absl::StatusOr<rapidjson::Document> json = examples::ParseJson(object.json);
  if (!json.ok()) return json.status();
  const rapidjson::Value* driver = examples::Find(*json, {"spec", "ofedDriver"});
  NicClusterPolicy policy{.has_driver = driver != nullptr && driver->IsObject()};
  auto upgrade = examples::ReadUpgradePolicy(*json, {"spec", "ofedDriver", "upgradePolicy"},
                                             driverupgrade::PolicyDefaults::NetworkOperator());
  if (!upgrade.ok()) return upgrade.status();
  policy.upgrade = *std::move(upgrade);
  return policy;
}

NicClusterPolicy NicPolicyMemory::Read(const std::vector<ApiObject>& objects) {
  verdicts_.clear();
  const auto found =
      std::find_if(objects.begin(), objects.end(), [](const ApiObject& object) { return object.name == kPolicyName; });
  const std::string uid = found == objects.end() ? "" : found->uid;
  if (uid != std::exchange(uid_, uid)) good_ = {};
  if (found == objects.end()) return good_;
  absl::StatusOr<NicClusterPolicy> policy = ReadNicClusterPolicy(*found);
  verdicts_.push_back({.kind = kNicClusterPolicies, .object = *found, .error = policy.status()});
  if (policy.ok()) good_ = *std::move(policy);
  return good_;
}

}  // namespace ofed_operator
