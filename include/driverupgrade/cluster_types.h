/// The parts of Kubernetes objects on which upgrade decisions depend. See wire/kubernetes_json.h for JSON conversions.
///
/// Defines Node, Taint, Pod, DaemonSet, ControllerRevision, PodDisruptionBudget, NodeMaintenance, Lease, ConfigMap and
/// their parts: plain value types with comparison operators. Fields are named after the Kubernetes fields they contain.
///
///     Node node{.name = "gpu-7", .unschedulable = true};
///
/// If a member of an object has the wrong type, `unreadable` names the member and the problem, as in
/// `spec.unschedulable: expected a boolean, got a string`. Such an object always has its name and namespace; UID,
/// version, labels, `node_name` and `owner_uid` are set if they could be read, and all other fields have their
/// defaults. Readers return such objects only on request (OnUnreadable::kMark in cluster_reads.h).
#ifndef DRIVERUPGRADE_CLUSTER_TYPES_H_
#define DRIVERUPGRADE_CLUSTER_TYPES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/label_selector.h"

namespace driverupgrade {

/// A taint with every member that the API server stores, because taints can only be written as a whole list. No two
/// taints of a node have the same key and effect.
struct Taint {
  std::string key = {};
  std::string value = {};
  /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
  std::string effect = {};
  /// timeAdded, as the server formats it; empty if missing.
  std::string time_added = {};
  friend bool operator==(const Taint&, const Taint&) = default;
};

/// A toleration of a pod for taints.
struct Toleration {
  /// Empty, with `op` Exists: all keys.
  std::string key = {};
  /// `Exists` or `Equal`; empty means `Equal`.
  std::string op = {};
  std::string value = {};
  /// Empty: all effects.
  std::string effect = {};
  friend bool operator==(const Toleration&, const Toleration&) = default;
};

/// Returns true if the toleration matches the taint. An operator other than Exists and Equal, such as `Gt`, counts as a
/// match, because it may be one.
bool Tolerates(const Toleration& toleration, const Taint& taint);

struct Node {
  std::string name = {};
  std::string uid = {};
  std::string resource_version = {};
  StringMap labels = {};
  StringMap annotations = {};
  /// spec.unschedulable.
  bool unschedulable = false;
  /// metadata.deletionTimestamp; set while the node is being deleted.
  std::optional<absl::Time> deletion_timestamp = {};
  /// spec.taints, in the server's order.
  std::vector<Taint> taints = {};
  /// False if the node has a Ready condition that is not `True`; a node without this condition counts as ready.
  bool ready = true;
  /// lastTransitionTime of the Ready condition: the time at which `ready` last changed; nullopt if unknown.
  std::optional<absl::Time> ready_transition_time = {};
  /// Names of the extended resources with a non-zero amount in status.allocatable, sorted.
  std::vector<std::string> extended_resources = {};
  /// Statuses of the conditions by type, without Kubernetes' standard conditions (IsKubeletCondition).
  StringMap conditions = {};
  std::string unreadable = {};
  friend bool operator==(const Node&, const Node&) = default;
};

/// Returns true for the standard node conditions of Kubernetes: Ready, the pressure conditions, and NetworkUnavailable.
bool IsKubeletCondition(std::string_view type);

/// Identifies one incarnation of a pod: a pod re-created under the same name has a different UID.
struct PodRef {
  std::string ns = {};
  std::string name = {};
  std::string uid = {};
  /// `ns/name`.
  std::string ToString() const { return ns + "/" + name; }
  friend bool operator==(const PodRef&, const PodRef&) = default;
  friend auto operator<=>(const PodRef&, const PodRef&) = default;
};

struct OwnerReference {
  std::string api_version = {};
  std::string kind = {};
  std::string name = {};
  std::string uid = {};
  bool controller = false;
  friend bool operator==(const OwnerReference&, const OwnerReference&) = default;
};

enum class PodPhase : std::uint8_t { kUnknown, kPending, kRunning, kSucceeded, kFailed };

struct ContainerStatus {
  std::string name = {};
  bool ready = false;
  int restart_count = 0;
  /// False until the container's startup probe has succeeded or, without such a probe, until the container runs.
  bool started = true;
  /// True if the container is waiting for its image, and the last attempt to pull the image failed.
  bool image_pull_fails = false;
  /// The reason why the kubelet cannot start the container: `ErrImagePull`, `CreateContainerConfigError`, ... Empty if
  /// the kubelet can start it (even if it exits again, as in `CrashLoopBackOff`) or has not tried yet.
  std::string start_error = {};
  /// Image of the container; empty without a `start_error`.
  std::string image = {};
  friend bool operator==(const ContainerStatus&, const ContainerStatus&) = default;
};

struct PodVolume {
  std::string name = {};
  /// Type of the volume, spelled as in Kubernetes: `hostPath`, `emptyDir`, `csi`, ...
  std::string kind = {};
  /// Path on the node; empty unless the kind is `hostPath`.
  std::string host_path = {};
  friend bool operator==(const PodVolume&, const PodVolume&) = default;
};

struct Pod {
  PodRef ref = {};
  std::string resource_version = {};
  /// spec.nodeName; empty until the pod is bound.
  std::string node_name = {};
  /// The node named by the required node affinity (matchFields metadata.name), as set by the DaemonSet controller.
  /// Empty once the pod is bound, or if the affinity does not name exactly one node.
  std::string affinity_node_name = {};
  /// Message of the PodScheduled condition if the condition is False; otherwise empty.
  std::string unscheduled_message = {};
  StringMap labels = {};
  std::vector<OwnerReference> owners = {};
  PodPhase phase = PodPhase::kUnknown;
  /// Set while the pod is being deleted. Includes the grace period, so it can be in the future.
  std::optional<absl::Time> deletion_timestamp = {};
  /// metadata.finalizers: a pod that is being deleted exists until all its finalizers have been removed.
  std::vector<std::string> finalizers = {};
  /// True for a static pod (annotation kubernetes.io/config.mirror), which cannot be evicted.
  bool mirror = false;
  bool has_empty_dir = false;
  /// metadata.creationTimestamp of a pod that tolerates node.kubernetes.io/unschedulable:NoSchedule, the taint of
  /// cordoned nodes; nullopt for all other pods. The replacement for such a pod may be bound to the cordoned node
  /// again.
  std::optional<absl::Time> tolerates_cordon_since = {};
  /// True if the pod is terminating, and the kubelet reports that all its containers have terminated.
  bool containers_ended = false;
  /// True if the pod is terminating, and metadata.deletionGracePeriodSeconds is 0: the kubelet has released the pod, so
  /// its volumes are unmounted, or the pod had finished before its deletion. Only finalizers keep the object. The phase
  /// alone does not show this: since Kubernetes 1.27, the kubelet sets Succeeded or Failed before it unmounts the
  /// volumes.
  bool released = false;
  std::vector<ContainerStatus> init_container_statuses = {};
  std::vector<ContainerStatus> container_statuses = {};
  /// Time at which the Ready condition became False, in whole seconds; nullopt if it is True or the time is unknown.
  std::optional<absl::Time> not_ready_since = {};
  /// Time at which the Ready condition became True, in whole seconds; nullopt if it is not True or the time is unknown.
  std::optional<absl::Time> ready_since = {};
  /// Names of the resources that the containers, of any kind, request or limit; sorted, without duplicates.
  std::vector<std::string> resource_names = {};
  /// Names of the pod's ResourceClaims, in the pod's namespace; sorted, without duplicates. Includes claims created for
  /// the pod from a template (status.resourceClaimStatuses) or for extended resources
  /// (status.extendedResourceClaimStatus).
  std::vector<std::string> resource_claims = {};
  /// From here up to `pod_group`: for PodFilters (snapshot_builder.h). A cache does not keep these fields for driver
  /// pods.
  StringMap annotations = {};
  std::vector<PodVolume> volumes = {};
  std::string scheduler_name = {};
  /// spec.subdomain. It lets the pods of an indexed Job reach each other by name.
  std::string subdomain = {};
  /// spec.schedulingGroup.podGroupName: the PodGroup of the group `scheduling.k8s.io` with which the pod is scheduled.
  /// Empty if there is no such group, and before Kubernetes 1.36.
  std::string pod_group = {};
  std::string unreadable = {};
  friend bool operator==(const Pod&, const Pod&) = default;
};

/// Returns the node to which the pod is bound or, if it is unbound, the node named by its affinity; otherwise empty.
const std::string& NodeOf(const Pod& pod);
/// Returns true if the phase is Succeeded or Failed.
bool IsFinished(const Pod& pod);
/// Returns the owner reference with `controller: true`, or nullptr.
const OwnerReference* ControllerOf(const Pod& pod);
/// Returns true if the controlling owner is an apps/v1 DaemonSet.
bool IsDaemonSetPod(const Pod& pod);
/// Returns true if the pod is Running, has at least one container status, and all its containers are ready.
bool IsReady(const Pod& pod);
/// Returns true if the pod is not ready because it is still starting: it is Pending, or a container has not started
/// yet. Returns false if a container has been restarted, cannot start, or cannot pull its image.
bool IsStarting(const Pod& pod);
/// Returns true if a container or init container is not ready and has been restarted more than `restart_count_max`
/// times.
bool IsFailing(const Pod& pod, int restart_count_max);
/// Returns the value of the label controller-revision-hash; empty if the pod does not have the label.
std::string_view RevisionHash(const Pod& pod);

/// A digest of a pod template, equal for equal templates; 0 if unknown. Comparisons of objects ignore it, because the
/// other fields determine it.
struct TemplateDigest {
  std::uint64_t value = 0;
  friend bool operator==(const TemplateDigest&, const TemplateDigest&) { return true; }
};

struct DaemonSet {
  std::string ns = {};
  std::string name = {};
  std::string uid = {};
  std::int64_t generation = 0;
  /// While this is less than `generation`, the newest ControllerRevision may be outdated.
  std::int64_t observed_generation = 0;
  StringMap labels = {};
  StringMap annotations = {};
  LabelSelector selector = {};
  /// Node selector and required node affinity of the pod template. The DaemonSet targets the nodes that match at least
  /// one selector; without selectors, it targets all nodes. Taints and other criteria besides labels are ignored.
  std::vector<LabelSelector> node_selectors = {};
  /// Tolerations of the pod template; nullopt if the reader does not provide them.
  std::optional<std::vector<Toleration>> tolerations = std::nullopt;
  TemplateDigest template_digest = {};
  /// True if spec.updateStrategy.type is OnDelete. With RollingUpdate, Kubernetes restarts driver pods on its own.
  bool on_delete = true;
  std::string unreadable = {};
  friend bool operator==(const DaemonSet&, const DaemonSet&) = default;
};

/// Returns true if the DaemonSet targets the node, judging by the node's labels.
bool Wants(const DaemonSet& daemon_set, const Node& node);

/// Returns the first taint of the node that keeps the DaemonSet's controller from creating a pod there; nullptr if there
/// is no such taint, or if the tolerations are unknown. A pod that is on the node stays there, unless the effect is
/// NoExecute. Ignores the taints of Kubernetes itself (`node.kubernetes.io/…`), most of which DaemonSet pods tolerate.
const Taint* TaintAgainst(const DaemonSet& daemon_set, const Node& node);

struct ControllerRevision {
  std::string ns = {};
  std::string name = {};
  /// UID of the controlling owner.
  std::string owner_uid = {};
  std::int64_t revision = 0;
  StringMap labels = {};
  /// `data`, the patch with the pod template, as JSON text; empty if the reader does not provide it.
  std::string data = {};
  TemplateDigest template_digest = {};
  std::string unreadable = {};
  friend bool operator==(const ControllerRevision&, const ControllerRevision&) = default;
};

struct PodDisruptionBudget {
  std::string ns = {};
  std::string name = {};
  std::string uid = {};
  LabelSelector selector = {};
  int disruptions_allowed = 0;
  int current_healthy = 0;
  int desired_healthy = 0;
  std::string unreadable = {};
  friend bool operator==(const PodDisruptionBudget&, const PodDisruptionBudget&) = default;
};

/// An entry of `status.conditions`.
struct Condition {
  std::string type = {};
  /// `True`, `False` or `Unknown`.
  std::string status = {};
  std::string reason = {};
  std::string message = {};
  absl::Time last_transition_time = absl::UnixEpoch();
  std::int64_t observed_generation = 0;
  friend bool operator==(const Condition&, const Condition&) = default;
};

/// `spec.waitForPodCompletion` of a NodeMaintenance. The operator waits until no matching pods are left.
struct MaintenanceWait {
  std::string pod_selector = {};
  /// In whole seconds; zero waits indefinitely.
  absl::Duration timeout = absl::ZeroDuration();
  friend bool operator==(const MaintenanceWait&, const MaintenanceWait&) = default;
};

/// `spec.drainSpec` of a NodeMaintenance.
struct MaintenanceDrain {
  bool force = false;
  bool delete_empty_dir = false;
  std::string pod_selector = {};
  /// In whole seconds; zero waits indefinitely.
  absl::Duration timeout = absl::Seconds(300);
  /// `podEvictionFilters[].byResourceNameRegex`: only pods that request a resource matching one of these expressions
  /// are evicted. Empty: all pods.
  std::vector<std::string> resource_name_filters = {};
  friend bool operator==(const MaintenanceDrain&, const MaintenanceDrain&) = default;
};

/// A request to NVIDIA's maintenance operator to evacuate a node, `maintenance.nvidia.com/v1alpha1`.
struct NodeMaintenance {
  std::string ns = {};
  std::string name = {};
  std::string uid = {};
  std::string resource_version = {};
  /// Set while the object is being deleted. The object disappears once the operator has released the node.
  std::optional<absl::Time> deletion_timestamp = {};
  /// UID of the Node in the owner references; empty until the operator has processed the object.
  std::string node_uid = {};
  /// The requestor that created the object; immutable.
  std::string requestor_id = {};
  /// A set of other requestors that rely on the object.
  std::vector<std::string> additional_requestors = {};
  std::string node_name = {};
  /// Annotation `maintenance.nvidia.com/garbage-collector.ignore`. Without it, the operator deletes the object some time
  /// after the node became ready for maintenance (by default an hour), and thereby returns the node to service.
  bool skips_garbage_collection = false;
  bool cordon = true;
  std::optional<MaintenanceWait> wait_for_pod_completion = std::nullopt;
  std::optional<MaintenanceDrain> drain = std::nullopt;
  std::vector<Condition> conditions = {};
  std::string unreadable = {};
  /// `ns/name`.
  std::string ToString() const { return ns + "/" + name; }
  friend bool operator==(const NodeMaintenance&, const NodeMaintenance&) = default;
};

/// A `coordination.k8s.io/v1` Lease, which names the leader.
struct Lease {
  std::string ns = {};
  std::string name = {};
  std::string uid = {};
  std::string resource_version = {};
  StringMap annotations = {};
  /// Empty: no holder.
  std::string holder = {};
  /// In whole seconds.
  absl::Duration duration = absl::ZeroDuration();
  /// With a precision of microseconds.
  absl::Time acquire_time = absl::UnixEpoch();
  absl::Time renew_time = absl::UnixEpoch();
  int transitions = 0;
  friend bool operator==(const Lease&, const Lease&) = default;
};

struct ConfigMap {
  std::string ns = {};
  std::string name = {};
  std::string uid = {};
  std::string resource_version = {};
  StringMap labels = {};
  StringMap annotations = {};
  std::map<std::string, std::string> data = {};
  friend bool operator==(const ConfigMap&, const ConfigMap&) = default;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_CLUSTER_TYPES_H_
