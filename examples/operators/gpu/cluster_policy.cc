#include "gpu/cluster_policy.h"

#include <utility>

#include "driverupgrade/policy_codec.h"
#include "fmt/format.h"
#include "gpu/node_marks.h"
#include "support/custom_policy.h"
#include "support/json.h"

namespace gpu_operator {
namespace {

using driverupgrade::ApiObject;
using driverupgrade::PolicyDefaults;
using driverupgrade::UpgradePolicy;

// Returns the defaults of the section upgradePolicy. According to NVIDIA's documentation, autoUpgrade is on if the
// section exists but does not set it. If the section is missing, autoUpgrade is off, because no one has requested
// upgrades.
PolicyDefaults ClusterPolicyDefaults(const rapidjson::Value& json) {
  PolicyDefaults defaults = PolicyDefaults::GpuOperator();
  const rapidjson::Value* section = examples::Find(json, {"spec", "driver", "upgradePolicy"});
  defaults.auto_upgrade = section != nullptr && !section->IsNull();
  return defaults;
}

// Unsupported fields of a ClusterPolicy or an NVIDIADriver, relative to the section with the version.
constexpr const char* kRefused[] = {
    "usePrecompiled", "kernelModuleConfig", "repoConfig", "certConfig",
    // NVIDIA's chart always writes the section with nlsEnabled, which has no effect on its own.
    "licensingConfig.secretName", "licensingConfig.configMapName", "virtualTopology", "virtualTopologyConfig",
    "secretEnv", "rdma.enabled"};

examples::DriverPodsPaths PodsPaths(const std::string& section) {
  examples::DriverPodsPaths paths{.section = section};
  for (const char* field : kRefused) paths.refused.push_back(section + "." + field);
  return paths;
}

examples::DriverPodsPaths ClusterPolicyPaths() {
  examples::DriverPodsPaths paths = PodsPaths("spec.driver");
  paths.tolerations = "spec.daemonsets.tolerations";
  paths.priority_class = "spec.daemonsets.priorityClassName";
  for (const char* path :
       {"spec.gds.enabled", "spec.gdrcopy.enabled", "spec.daemonsets.labels", "spec.daemonsets.annotations"}) {
    paths.refused.emplace_back(path);
  }
  return paths;
}

examples::DriverPodsPaths NvidiaDriverPaths() {
  examples::DriverPodsPaths paths = PodsPaths("spec");
  paths.tolerations = "spec.tolerations";
  paths.priority_class = "spec.priorityClassName";
  for (const char* path :
       {"spec.gds.enabled", "spec.gdrcopy.enabled", "spec.nodeAffinity", "spec.labels", "spec.annotations"}) {
    paths.refused.emplace_back(path);
  }
  return paths;
}

// Reads the fields for images and pods. An error in these fields prevents the creation of the DaemonSet, but not
// upgrades.
template <typename Resource>
void ReadImages(const rapidjson::Value& json, examples::JsonPath driver, examples::JsonPath manager,
                const examples::DriverPodsPaths& pods_paths, Resource& resource) {
  resource.pods = examples::ReadDriverPods(json, pods_paths);
  resource.driver = examples::ReadDriverImage(json, driver, resource.pods);
  resource.manager = examples::ReadDriverImage(json, manager, resource.pods);
  const rapidjson::Value* section = examples::Find(json, driver);
  const std::string module = section == nullptr ? std::string() : examples::Text(*section, {"kernelModuleType"});
  if (resource.driver && !module.empty()) {
    resource.driver->env.push_back({.name = "KERNEL_MODULE_TYPE", .value = module});
  }
}

absl::Status CheckNodeSelector(const NvidiaDriver& driver) {
  if (driver.is_default && !driver.node_labels.empty()) {
    return absl::InvalidArgumentError("spec.nodeSelector: must not be set together with spec.default: true");
  }
  if (driver.node_labels.contains(kOwnerLabel)) {
    return absl::InvalidArgumentError(
        fmt::format("spec.nodeSelector: must not contain the label {}, because the operator sets it", kOwnerLabel));
  }
  return absl::OkStatus();
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
  const rapidjson::Value* toolkit = examples::Find(*json, {"spec", "operator", "use_ocp_driver_toolkit"});
  policy.uses_toolkit = toolkit == nullptr || !toolkit->IsBool() || toolkit->GetBool();
  ReadImages(*json, {"spec", "driver"}, {"spec", "driver", "manager"}, ClusterPolicyPaths(), policy);
  const rapidjson::Value* enabled = examples::Find(*json, {"spec", "driver", "enabled"});
  policy.has_driver = enabled == nullptr || !enabled->IsFalse();
  if (!policy.has_driver) policy.driver.reset();
  // Without an engine, the upgrade policy has no effect, so its errors do not matter.
  if (policy.use_nvidia_drivers || policy.sandbox || !policy.has_driver) return policy;
  absl::StatusOr<UpgradePolicy> upgrade =
      examples::ReadUpgradePolicy(*json, {"spec", "driver", "upgradePolicy"}, ClusterPolicyDefaults(*json));
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
  const absl::StatusOr<bool> is_default = examples::ReadFlag(*json, {"spec", "default"});
  if (!is_default.ok()) return is_default.status();
  NvidiaDriver driver{.name = object.name,
                      .deleting = examples::Find(*json, {"metadata", "deletionTimestamp"}) != nullptr,
                      .is_default = *is_default,
                      .node_labels = examples::TextMap(*json, {"spec", "nodeSelector"}),
                      .upgrade = *std::move(upgrade)};
  ReadImages(*json, {"spec"}, {"spec", "manager"}, NvidiaDriverPaths(), driver);
  if (const absl::Status selector = CheckNodeSelector(driver); !selector.ok()) return selector;
  return driver;
}

}  // namespace gpu_operator
