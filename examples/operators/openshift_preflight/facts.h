/// What an OpenShift cluster says that matters to the installation and the upgrade of the GPU Operator. Plain values.
///
/// Defines Facts and its parts. Collect (collect.h) fills them in from a cluster, Examine (preflight.h) judges them.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_FACTS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace openshift_preflight {

/// ClusterVersion `version`.
struct ClusterVersion {
  /// status.desired.version.
  std::string desired = {};
  /// The newest of status.history that is Completed; empty while the first installation is under way.
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
  /// spec.operator.use_ocp_driver_toolkit; nullopt where it is not set.
  std::optional<bool> operator_uses_toolkit = {};
  /// spec.driver.use_ocp_driver_toolkit, which the documents name (doc-D35).
  std::optional<bool> driver_uses_toolkit = {};
};

/// configs.imageregistry.operator.openshift.io `cluster`.
struct Registry {
  /// spec.managementState: Managed, Removed, Unmanaged.
  std::string management_state = {};
  /// spec.storage says where to.
  bool has_storage = false;
};

struct GpuNode {
  std::string name = {};
  /// status.nodeInfo.kernelVersion.
  std::string kernel = {};
  /// Of RHCOS, out of status.nodeInfo.osImage; empty where it is another system.
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
  /// Of openshift-driver-toolkit-ctr and nvidia-driver-ctr; empty while there is none.
  std::string toolkit_log = {};
  std::string driver_log = {};
  /// Why the pod does not get on: a container's reason to wait, such as ImagePullBackOff, or that no node takes the pod;
  /// empty: it does.
  std::string stalled = {};
  /// Why a log could not be read.
  std::vector<std::string> unread = {};
};

struct Facts {
  /// nullopt: the cluster has no such thing, so it is not OpenShift. Nothing else counts then.
  std::optional<ClusterVersion> version = {};
  std::optional<ToolkitStream> toolkit = {};
  /// The active one (upstream-behaviour.md §1.3); nullopt: none.
  std::optional<ClusterPolicy> policy = {};
  std::optional<Registry> registry = {};
  /// Whether the ServiceAccount `builder` of the operator's namespace has its secret for the registry.
  bool has_builder_secret = false;
  /// The operator's.
  std::string ns = "nvidia-gpu-operator";
  std::vector<GpuNode> nodes = {};
  /// Some node has a label of node feature discovery.
  bool has_nfd = true;
  std::vector<MachineConfigPool> pools = {};
  std::vector<DriverPod> pods = {};
};

}  // namespace openshift_preflight

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OPENSHIFT_PREFLIGHT_FACTS_H_
