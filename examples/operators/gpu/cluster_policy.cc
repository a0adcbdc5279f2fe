#include "gpu/cluster_policy.h"

#include <utility>

#include "driverupgrade/policy_codec.h"
#include "support/custom_policy.h"
#include "support/json.h"

namespace gpu_operator {
namespace {

using driverupgrade::ApiObject;
using driverupgrade::PolicyDefaults;
using driverupgrade::UpgradePolicy;

// The ClusterPolicy column of §1.8; the NVIDIADriver column is PolicyDefaults::GpuOperator.
PolicyDefaults ClusterPolicyDefaults() {
  PolicyDefaults defaults = PolicyDefaults::GpuOperator();
  defaults.auto_upgrade = false;
  return defaults;
}

}  // namespace

absl::StatusOr<ClusterPolicy> ReadClusterPolicy(const ApiObject& object) {
  const absl::StatusOr<rapidjson::Document> json = examples::ParseJson(object.json);
  if (!json.ok()) return json.status();
  ClusterPolicy policy{.name = object.name, .created = examples::CreationTime(*json)};
  absl::StatusOr<bool> flag = examples::ReadFlag(*json, {"spec", "driver", "useNvidiaDriverCRD"});
  if (!flag.ok()) return flag.status();
  policy.use_nvidia_drivers = *flag;
  flag = examples::ReadFlag(*json, {"spec", "sandboxWorkloads", "enabled"});
  if (!flag.ok()) return flag.status();
  policy.sandbox = *flag;
  absl::StatusOr<UpgradePolicy> upgrade =
      examples::ReadUpgradePolicy(*json, {"spec", "driver", "upgradePolicy"}, ClusterPolicyDefaults());
  if (!upgrade.ok()) return upgrade.status();
  policy.upgrade = *std::move(upgrade);
  return policy;
}

absl::StatusOr<NvidiaDriver> ReadNvidiaDriver(const ApiObject& object) {
  const absl::StatusOr<rapidjson::Document> json = examples::ParseJson(object.json);
  if (!json.ok()) return json.status();
  absl::StatusOr<UpgradePolicy> upgrade =
      examples::ReadUpgradePolicy(*json, {"spec", "upgradePolicy"}, PolicyDefaults::GpuOperator());
  if (!upgrade.ok()) return upgrade.status();
  return NvidiaDriver{.name = object.name, .upgrade = *std::move(upgrade)};
}

}  // namespace gpu_operator
