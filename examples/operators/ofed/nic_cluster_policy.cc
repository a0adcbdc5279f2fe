#include "ofed/nic_cluster_policy.h"

#include <utility>

#include "driverupgrade/policy_codec.h"
#include "ofed/driver_wait.h"
#include "support/custom_policy.h"
#include "support/json.h"

namespace ofed_operator {
namespace {

using driverupgrade::ApiObject;
using driverupgrade::StringMap;

bool HasDriver(const rapidjson::Value& object) {
  const rapidjson::Value* driver = examples::Find(object, {"spec", "ofedDriver"});
  return driver != nullptr && driver->IsObject();
}

// Returns an item of containerResources as JSON, without its name.
std::string ResourcesOf(const rapidjson::Value& item) {
  rapidjson::Document resources(rapidjson::kObjectType);
  for (const char* key : {"requests", "limits"}) {
    const rapidjson::Value* found = examples::Find(item, {key});
    if (found == nullptr || !found->IsObject()) continue;
    resources.AddMember(rapidjson::StringRef(key), rapidjson::Value(*found, resources.GetAllocator()),
                        resources.GetAllocator());
  }
  return examples::ToText(resources);
}

absl::StatusOr<driverupgrade::UpgradePolicy> ReadUpgrade(const rapidjson::Value& object) {
  return examples::ReadUpgradePolicy(object, {"spec", "ofedDriver", "upgradePolicy"},
                                     driverupgrade::PolicyDefaults::NetworkOperator());
}

// Reads the fields for the driver and its pods. An error in these fields prevents the creation of the DaemonSet, but
// not upgrades.
template <typename Resource>
void ReadDriver(const rapidjson::Value& object, Resource& resource) {
  resource.has_driver = HasDriver(object);
  resource.pods =
      examples::ReadDriverPods(object, {.section = "spec.ofedDriver",
                                        .tolerations = "spec.tolerations",
                                        .refused = {"spec.ofedDriver.repoConfig", "spec.ofedDriver.certConfig",
                                                    "spec.ofedDriver.forcePrecompiled", "spec.nodeAffinity"}});
  resource.driver = examples::ReadDriverImage(object, {"spec", "ofedDriver"}, resource.pods);
  for (const rapidjson::Value& item : examples::Items(object, {"spec", "ofedDriver", "containerResources"})) {
    if (examples::Text(item, {"name"}) == kDriverContainer) resource.pods.resources = ResourcesOf(item);
  }
  const auto grace_period = examples::Integer(object, {"spec", "ofedDriver", "terminationGracePeriodSeconds"});
  if (grace_period > 0) resource.grace_period_seconds = static_cast<int>(grace_period);
}

absl::StatusOr<StringMap> ReadNodeLabels(const rapidjson::Value& object) {
  const rapidjson::Value* labels = examples::Find(object, {"spec", "nodeSelector"});
  if (labels == nullptr || labels->IsNull()) return StringMap();
  const absl::Status error =
      absl::InvalidArgumentError("spec.nodeSelector: must be an object whose values are strings");
  if (!labels->IsObject()) return error;
  StringMap all;
  for (const auto& label : labels->GetObject()) {
    if (!label.value.IsString()) return error;
    all[label.name.GetString()] = label.value.GetString();
  }
  return all;
}

}  // namespace

absl::StatusOr<NicClusterPolicy> ReadNicClusterPolicy(const ApiObject& object) {
  const absl::StatusOr<rapidjson::Document> json = examples::ParseJson(object.json);
  if (!json.ok()) return json.status();
  auto upgrade = ReadUpgrade(*json);
  if (!upgrade.ok()) return upgrade.status();
  NicClusterPolicy policy{.name = object.name, .upgrade = *std::move(upgrade)};
  ReadDriver(*json, policy);
  return policy;
}

absl::StatusOr<NicNodePolicy> ReadNicNodePolicy(const ApiObject& object) {
  const absl::StatusOr<rapidjson::Document> json = examples::ParseJson(object.json);
  if (!json.ok()) return json.status();
  auto upgrade = ReadUpgrade(*json);
  if (!upgrade.ok()) return upgrade.status();
  // The selector is used only if there is a driver.
  auto labels = HasDriver(*json) ? ReadNodeLabels(*json) : StringMap();
  if (!labels.ok()) return labels.status();
  NicNodePolicy policy{.name = object.name,
                       .created = examples::CreationTime(*json),
                       .node_labels = *std::move(labels),
                       .upgrade = *std::move(upgrade)};
  ReadDriver(*json, policy);
  return policy;
}

}  // namespace ofed_operator
