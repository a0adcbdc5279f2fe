// The NicClusterPolicy, as far as it is about rolling the OFED driver (upstream-behaviour.md §2.3, §2.4).
#ifndef DRIVERUPGRADE_EXAMPLES_OFED_OPERATOR_NIC_CLUSTER_POLICY_H_
#define DRIVERUPGRADE_EXAMPLES_OFED_OPERATOR_NIC_CLUSTER_POLICY_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/upgrade_policy.h"
#include "support/resource_condition.h"

namespace ofed_operator {

inline const driverupgrade::ObjectKind kNicClusterPolicies{
    .group_version = "mellanox.com/v1alpha1", .resource = "nicclusterpolicies", .namespaced = false};
/// The only one that counts.
inline constexpr char kPolicyName[] = "nic-cluster-policy";

struct NicClusterPolicy {
  /// There is a spec.ofedDriver.
  bool has_driver = false;
  /// spec.ofedDriver.upgradePolicy; where that is absent, autoUpgrade is off: nodes are frozen (dep-F9).
  driverupgrade::UpgradePolicy upgrade = {};
  friend bool operator==(const NicClusterPolicy&, const NicClusterPolicy&) = default;
};

/// Errors: InvalidArgument with the path of the field.
absl::StatusOr<NicClusterPolicy> ReadNicClusterPolicy(const driverupgrade::ApiObject& object);

/// The last version that was understood of the one that counts; where there is none, an empty one.
class NicPolicyMemory {
 public:
  NicClusterPolicy Read(const std::vector<driverupgrade::ApiObject>& objects);
  /// Of what was read last; none if there is no policy.
  const std::vector<examples::ResourceVerdict>& verdicts() const { return verdicts_; }

 private:
  std::string uid_;
  NicClusterPolicy good_;
  std::vector<examples::ResourceVerdict> verdicts_;
};

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OFED_OPERATOR_NIC_CLUSTER_POLICY_H_
