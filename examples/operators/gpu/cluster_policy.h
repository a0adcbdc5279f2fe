// Reads the custom resources that configure the rollout of the driver, reduced to the fields that this operator needs
// (upstream-behaviour.md §1.3, §1.4, §1.8).
//
// Defines ClusterPolicy, NvidiaDriver and their readers.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_CLUSTER_POLICY_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_CLUSTER_POLICY_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/upgrade_policy.h"
#include "support/driver_daemon_set.h"

namespace gpu_operator {

inline const driverupgrade::ObjectKind kClusterPolicies{
    .group_version = "nvidia.com/v1", .resource = "clusterpolicies", .namespaced = false};
inline const driverupgrade::ObjectKind kNvidiaDrivers{
    .group_version = "nvidia.com/v1alpha1", .resource = "nvidiadrivers", .namespaced = false};

struct ClusterPolicy {
  std::string name = {};
  /// False if the object has never been valid; all members except the name then have their defaults.
  bool understood = true;
  absl::Time created = absl::UnixEpoch();
  /// spec.driver.useNvidiaDriverCRD
  bool use_nvidia_drivers = false;
  /// spec.sandboxWorkloads.enabled
  bool sandbox = false;
  /// False if spec.driver.enabled is false: no DaemonSet loads the nodes' driver.
  bool has_driver = true;
  /// spec.operator.use_ocp_driver_toolkit; true if the field is not set, as in every release since 22.9.
  bool uses_toolkit = true;
  /// `driver` is spec.driver if it names a version and does not set `enabled: false`; `manager` is spec.driver.manager.
  std::optional<examples::DriverImage> driver = std::nullopt;
  std::optional<examples::DriverImage> manager = std::nullopt;
  examples::DriverPods pods = {};
  /// spec.driver.upgradePolicy. autoUpgrade is off if the section is missing, and on if the section does not set it.
  /// The section is not read if NVIDIADrivers apply instead, if the sandbox is enabled, or if there is no driver.
  driverupgrade::UpgradePolicy upgrade = {};
  friend bool operator==(const ClusterPolicy&, const ClusterPolicy&) = default;
};

struct NvidiaDriver {
  std::string name = {};
  bool understood = true;
  /// metadata.deletionTimestamp
  bool deleting = false;
  /// spec.default: applies to the nodes that no other policy selects.
  bool is_default = false;
  /// spec.nodeSelector: labels that a node must have; empty for all nodes.
  driverupgrade::StringMap node_labels = {};
  /// `driver` is spec if it names a version; `manager` is spec.manager.
  std::optional<examples::DriverImage> driver = std::nullopt;
  std::optional<examples::DriverImage> manager = std::nullopt;
  examples::DriverPods pods = {};
  /// spec.upgradePolicy. If it is missing, autoUpgrade is on, with all defaults.
  driverupgrade::UpgradePolicy upgrade = {};
  friend bool operator==(const NvidiaDriver&, const NvidiaDriver&) = default;
};

/// Errors: InvalidArgument with the path of the field.
absl::StatusOr<ClusterPolicy> ReadClusterPolicy(const driverupgrade::ApiObject& object);
absl::StatusOr<NvidiaDriver> ReadNvidiaDriver(const driverupgrade::ApiObject& object);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_CLUSTER_POLICY_H_
