#include "ofed/nic_cluster_policy.h"

#include <utility>

#include "driverupgrade/policy_codec.h"
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

absl::StatusOr<driverupgrade::UpgradePolicy> ReadUpgrade(const rapidjson::Value& object) {
  return examples::ReadUpgradePolicy(object, {"spec", "ofedDriver", "upgradePolicy"},
                                     driverupgrade::PolicyDefaults::NetworkOperator());
}

absl::StatusOr<StringMap> ReadNodeLabels(const rapidjson::Value& object) {
  const rapidjson::Value* labels = examples::Find(object, {"spec", "nodeSelector"});
  if (labels == nullptr || labels->IsNull()) return StringMap();
  const absl::Status error = absl::InvalidArgumentError("spec.nodeSelector: must be an object of texts");
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
  auto driver = examples::ReadDriverImage(*json, {"spec", "ofedDriver"});
  if (!driver.ok()) return driver.status();
  return NicClusterPolicy{.name = object.name,
                          .has_driver = HasDriver(*json),
                          .driver = *std::move(driver),
                          .upgrade = *std::move(upgrade)};
}

absl::StatusOr<NicNodePolicy> ReadNicNodePolicy(const ApiObject& object) {
  const absl::StatusOr<rapidjson::Document> json = examples::ParseJson(object.json);
  if (!json.ok()) return json.status();
  auto upgrade = ReadUpgrade(*json);
  if (!upgrade.ok()) return upgrade.status();
  auto driver = examples::ReadDriverImage(*json, {"spec", "ofedDriver"});
  if (!driver.ok()) return driver.status();
  auto labels = ReadNodeLabels(*json);
  if (!labels.ok()) return labels.status();
  return NicNodePolicy{.name = object.name,
                       .created = examples::CreationTime(*json),
                       .node_labels = *std::move(labels),
                       .has_driver = HasDriver(*json),
                       .driver = *std::move(driver),
                       .upgrade = *std::move(upgrade)};
}

}  // namespace ofed_operator
