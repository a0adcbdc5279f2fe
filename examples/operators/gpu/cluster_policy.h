// The custom resources that say how the driver is to be rolled, as far as that goes (upstream-behaviour.md §1.3, §1.4,
// §1.8).
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
  /// False: no version of it ever was, and all but the name are defaults.
  bool understood = true;
  absl::Time created = absl::UnixEpoch();
  /// spec.driver.useNvidiaDriverCRD
  bool use_nvidia_drivers = false;
  /// spec.sandboxWorkloads.enabled
  bool sandbox = false;
  /// False: spec.driver.enabled is false, so the nodes have a driver that no DaemonSet loads.
  bool has_driver = true;
  /// spec.operator.use_ocp_driver_toolkit; on if absent, as in every release since 22.9.
  bool uses_toolkit = true;
  /// spec.driver, where it names a version and is not `enabled: false`, and spec.driver.manager.
  std::optional<examples::DriverImage> driver = std::nullopt;
  std::optional<examples::DriverImage> manager = std::nullopt;
  examples::DriverPods pods = {};
  /// spec.driver.upgradePolicy. autoUpgrade is off if the section is absent, and on if the section does not set it. Not
  /// read if NVIDIADrivers decide, in the sandbox, and without a driver.
  driverupgrade::UpgradePolicy upgrade = {};
  friend bool operator==(const ClusterPolicy&, const ClusterPolicy&) = default;
};

struct NvidiaDriver {
  std::string name = {};
  bool understood = true;
  /// metadata.deletionTimestamp
  bool deleting = false;
  /// spec.default: its nodes are those that no other selects.
  bool is_default = false;
  /// spec.nodeSelector: labels that a node must have; none: all.
  driverupgrade::StringMap node_labels = {};
  /// spec, where it names a version, and spec.manager.
  std::optional<examples::DriverImage> driver = std::nullopt;
  std::optional<examples::DriverImage> manager = std::nullopt;
  examples::DriverPods pods = {};
  /// spec.upgradePolicy; where that is absent, autoUpgrade is on, with all defaults.
  driverupgrade::UpgradePolicy upgrade = {};
  friend bool operator==(const NvidiaDriver&, const NvidiaDriver&) = default;
};

/// Errors: InvalidArgument with the path of the field.
absl::StatusOr<ClusterPolicy> ReadClusterPolicy(const driverupgrade::ApiObject& object);
absl::StatusOr<NvidiaDriver> ReadNvidiaDriver(const driverupgrade::ApiObject& object);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_CLUSTER_POLICY_H_
