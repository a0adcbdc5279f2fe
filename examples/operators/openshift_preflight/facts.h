/// The state of an OpenShift cluster that affects installations and upgrades of the GPU Operator, as plain values.
///
/// Defines Facts and its parts. Collect (collect.h) reads the facts from a cluster, and Examine (preflight.h) evaluates
/// them.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_FACTS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace openshift_preflight {

/// The ClusterVersion named `version`.
struct ClusterVersion {
  /// status.desired.version.
  std::string desired = {};
  /// Newest entry of status.history that is Completed; empty while the first installation is in progress.
  std::string installed = {};
};

/// Image stream openshift/driver-toolkit.
struct ToolkitStream {
  struct Tag {
    std::string name = {};
    /// from.name.
    std::string image = {};
  };
  /// spec.tags.
  std::vector<Tag> tags = {};
};

struct ClusterPolicy {
  std::string name = {};
  /// spec.operator.use_ocp_driver_toolkit; nullopt if it is not set.
  std::optional<bool> operator_uses_toolkit = {};
  /// spec.driver.use_ocp_driver_toolkit, which the documentation names (doc-D35).
  std::optional<bool> driver_uses_toolkit = {};
};

/// configs.imageregistry.operator.openshift.io `cluster`.
struct Registry {
  /// spec.managementState: Managed, Removed, Unmanaged.
  std::string management_state = {};
  /// True if spec.storage defines the location.
  bool has_storage = false;
};

struct GpuNode {
  std::string name = {};
  /// status.nodeInfo.kernelVersion.
  std::string kernel = {};
  /// Version of RHCOS, from status.nodeInfo.osImage; empty for any other operating system.
  std::string rhcos = {};
};

/// machineconfigpools.machineconfiguration.openshift.io
struct MachineConfigPool {
  std::string name = {};
  /// status.machineCount and status.updatedMachineCount.
  std::int64_t machines = 0;
  std::int64_t updated = 0;
  /// The conditions Updating and Degraded.
  bool updating = false;
  bool degraded = false;
  /// spec.paused
  bool paused = false;
};

/// A driver pod with a driver toolkit container.
struct DriverPod {
  std::string name = {};
  std::string node = {};
  /// Logs of openshift-driver-toolkit-ctr and nvidia-driver-ctr; empty while they do not exist.
  std::string toolkit_log = {};
  std::string driver_log = {};
  /// Reason why the pod makes no progress: the reason why a container waits, such as ImagePullBackOff, or the fact that
  /// no node accepts the pod. Empty if the pod makes progress.
  std::string stalled = {};
  /// Reasons why logs could not be read.
  std::vector<std::string> unread = {};
};

struct Facts {
  /// nullopt if the cluster does not serve this kind and is therefore not OpenShift. All other facts are then ignored.
  std::optional<ClusterVersion> version = {};
  std::optional<ToolkitStream> toolkit = {};
  /// The active ClusterPolicy (upstream-behaviour.md §1.3); nullopt if no ClusterPolicy exists.
  std::optional<ClusterPolicy> policy = {};
  std::optional<Registry> registry = {};
  /// True if the ServiceAccount `builder` in the operator's namespace has its secret for the registry.
  bool has_builder_secret = false;
  /// The operator's namespace.
  std::string ns = "nvidia-gpu-operator";
  std::vector<GpuNode> nodes = {};
  /// True if a node has a label of Node Feature Discovery.
  bool has_nfd = true;
  std::vector<MachineConfigPool> pools = {};
  std::vector<DriverPod> pods = {};
};

}  // namespace openshift_preflight

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_FACTS_H_
