// Reads the fields of the NicClusterPolicy and the NicNodePolicies that configure the rollout of the OFED driver
// (upstream-behaviour.md §2.1, §2.3, §2.4).
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_NIC_CLUSTER_POLICY_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_NIC_CLUSTER_POLICY_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/upgrade_policy.h"
#include "support/driver_daemon_set.h"

namespace ofed_operator {

inline const driverupgrade::ObjectKind kNicClusterPolicies{
    .group_version = "mellanox.com/v1alpha1", .resource = "nicclusterpolicies", .namespaced = false};
inline const driverupgrade::ObjectKind kNicNodePolicies{
    .group_version = "mellanox.com/v1alpha1", .resource = "nicnodepolicies", .namespaced = false};
/// The name of the only NicClusterPolicy that takes effect.
inline constexpr char kPolicyName[] = "nic-cluster-policy";

struct NicClusterPolicy {
  std::string name = {};
  /// False if the object has never been valid; all members except the name then have their defaults.
  bool understood = true;
  /// True if spec.ofedDriver exists.
  bool has_driver = false;
  /// spec.ofedDriver, if it names a version.
  std::optional<examples::DriverImage> driver = std::nullopt;
  examples::DriverPods pods = {};
  /// spec.ofedDriver.terminationGracePeriodSeconds
  int grace_period_seconds = 300;
  /// spec.ofedDriver.upgradePolicy. If it is missing, autoUpgrade is off: nodes are frozen (dep-F9).
  driverupgrade::UpgradePolicy upgrade = {};
  friend bool operator==(const NicClusterPolicy&, const NicClusterPolicy&) = default;
};

/// The driver of the nodes that the policy selects, and the upgrade policy for these nodes.
struct NicNodePolicy {
  std::string name = {};
  bool understood = true;
  absl::Time created = absl::UnixEpoch();
  /// spec.nodeSelector: labels that a node must have.
  driverupgrade::StringMap node_labels = {};
  bool has_driver = false;
  /// spec.ofedDriver, if it names a version.
  std::optional<examples::DriverImage> driver = std::nullopt;
  examples::DriverPods pods = {};
  /// spec.ofedDriver.terminationGracePeriodSeconds
  int grace_period_seconds = 300;
  driverupgrade::UpgradePolicy upgrade = {};
  friend bool operator==(const NicNodePolicy&, const NicNodePolicy&) = default;
};

/// Errors: InvalidArgument with the path of the field.
absl::StatusOr<NicClusterPolicy> ReadNicClusterPolicy(const driverupgrade::ApiObject& object);
absl::StatusOr<NicNodePolicy> ReadNicNodePolicy(const driverupgrade::ApiObject& object);

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_NIC_CLUSTER_POLICY_H_
