// The custom resources that say how the driver is to be rolled, as far as that goes (upstream-behaviour.md §1.3, §1.4, §1.8).
//
// Defines ClusterPolicy, NvidiaDriver, their readers, and PolicyMemory, which keeps the last policy that was understood.
#ifndef DRIVERUPGRADE_EXAMPLES_GPU_OPERATOR_CLUSTER_POLICY_H_
#define DRIVERUPGRADE_EXAMPLES_GPU_OPERATOR_CLUSTER_POLICY_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/upgrade_policy.h"
#include "support/resource_condition.h"

namespace gpu_operator {

inline const driverupgrade::ObjectKind kClusterPolicies{
    .group_version = "nvidia.com/v1", .resource = "clusterpolicies", .namespaced = false};
inline const driverupgrade::ObjectKind kNvidiaDrivers{
    .group_version = "nvidia.com/v1alpha1", .resource = "nvidiadrivers", .namespaced = false};

struct ClusterPolicy {
  std::string name = {};
  absl::Time created = absl::UnixEpoch();
  /// spec.driver.useNvidiaDriverCRD
  bool use_nvidia_drivers = false;
  /// spec.sandboxWorkloads.enabled
  bool sandbox = false;
  /// spec.driver.upgradePolicy; where that is absent, autoUpgrade is off.
  driverupgrade::UpgradePolicy upgrade = {};
  friend bool operator==(const ClusterPolicy&, const ClusterPolicy&) = default;
};

struct NvidiaDriver {
  std::string name = {};
  /// spec.upgradePolicy; where that is absent, autoUpgrade is on, with all defaults.
  driverupgrade::UpgradePolicy upgrade = {};
  friend bool operator==(const NvidiaDriver&, const NvidiaDriver&) = default;
};

/// Errors: InvalidArgument with the path of the field.
absl::StatusOr<ClusterPolicy> ReadClusterPolicy(const driverupgrade::ApiObject& object);
absl::StatusOr<NvidiaDriver> ReadNvidiaDriver(const driverupgrade::ApiObject& object);

/// Of each custom resource the last version that was understood. One that never was counts as with autoUpgrade off.
class PolicyMemory {
 public:
  std::vector<ClusterPolicy> ReadPolicies(const std::vector<driverupgrade::ApiObject>& objects);
  std::vector<NvidiaDriver> ReadDrivers(const std::vector<driverupgrade::ApiObject>& objects);
  /// Of the objects that were read last, policies first.
  std::vector<examples::ResourceVerdict> Verdicts() const;

 private:
  template <typename T>
  struct Kept {
    std::map<std::string, T> good = {};  // by UID
    std::vector<examples::ResourceVerdict> verdicts = {};
  };
  template <typename T>
  static std::vector<T> Read(const std::vector<driverupgrade::ApiObject>& objects,
                             const driverupgrade::ObjectKind& kind,
                             absl::StatusOr<T> (*read)(const driverupgrade::ApiObject&), Kept<T>& kept);

  Kept<ClusterPolicy> policies_;
  Kept<NvidiaDriver> drivers_;
};

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_GPU_OPERATOR_CLUSTER_POLICY_H_
