#include "gpu_operator/cluster_policy.h"

#include <utility>

#include "driverupgrade/driver_identity.h"
#include "driverupgrade/policy_codec.h"
#include "fmt/format.h"
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

template <typename T>
T Unread(const ApiObject& object) {
  T unread;
  unread.name = object.name;
  unread.upgrade.auto_upgrade = false;
  return unread;
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

template <typename T>
std::vector<T> PolicyMemory::Read(const std::vector<ApiObject>& objects, const driverupgrade::ObjectKind& kind,
                                  absl::StatusOr<T> (*read)(const ApiObject&), Kept<T>& kept) {
  std::vector<T> all;
  std::map<std::string, T> good;
  kept.verdicts.clear();
  for (const ApiObject& object : objects) {
    absl::StatusOr<T> now = read(object);
    const auto before = kept.good.find(object.uid);
    if (now.ok()) {
      good[object.uid] = *now;
    } else if (before != kept.good.end()) {
      good[object.uid] = before->second;
    }
    all.push_back(good.contains(object.uid) ? good[object.uid] : Unread<T>(object));
    kept.verdicts.push_back({.kind = kind, .object = object, .error = now.status()});
  }
  kept.good = std::move(good);
  return all;
}

std::vector<ClusterPolicy> PolicyMemory::ReadPolicies(const std::vector<ApiObject>& objects) {
  return Read<ClusterPolicy>(objects, kClusterPolicies, ReadClusterPolicy, policies_);
}

std::vector<NvidiaDriver> PolicyMemory::ReadDrivers(const std::vector<ApiObject>& objects) {
  return Read<NvidiaDriver>(objects, kNvidiaDrivers, ReadNvidiaDriver, drivers_);
}

std::vector<examples::ResourceVerdict> PolicyMemory::Verdicts() const {
  std::vector<examples::ResourceVerdict> verdicts = policies_.verdicts;
  verdicts.insert(verdicts.end(), drivers_.verdicts.begin(), drivers_.verdicts.end());
  return verdicts;
}

}  // namespace gpu_operator
