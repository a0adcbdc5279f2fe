/// All the data that Step may read.
///
/// Defines ClusterSnapshot, NodeView, NodeDevices, ShareView, DriverFacts, NodeAttempts and its parts, Grants and
/// SharedSlots. SnapshotBuilder creates snapshots; tests write them by hand:
///
///     NodeView view{.node = {.name = "gpu-7", .uid = "1", .resource_version = "42"}};
///     view.driver_pods.push_back(pod);
///     ClusterSnapshot snapshot{.nodes = {ShareView(view, identity)}, .driver = facts};
///
/// Plain value types. Views and facts are immutable and shared: the next snapshot reuses everything that has not
/// changed.
#ifndef DRIVERUPGRADE_CLUSTER_SNAPSHOT_H_
#define DRIVERUPGRADE_CLUSTER_SNAPSHOT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/device_types.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/gate.h"

namespace driverupgrade {

struct NodeView;

/// Returns an immutable view that decodes the driver's labels and annotations (`identity`) only once. A view created in
/// any other way leads to the same decisions, but decodes them on every use.
std::shared_ptr<const NodeView> ShareView(NodeView view, const DriverIdentity& identity);

namespace internal {
struct MarksOfDriver;
class MarksOfView;

// The marks that ShareView has decoded from a view's node. Any two DecodedMarks compare equal, because the rest of the
// view determines them. Copying a view drops the decoded marks, so the copy may be modified.
class DecodedMarks {
 public:
  DecodedMarks() = default;
  DecodedMarks(const DecodedMarks&) noexcept {}
  DecodedMarks& operator=(const DecodedMarks&) noexcept {
    decoded_.reset();
    return *this;
  }
  friend bool operator==(const DecodedMarks&, const DecodedMarks&) { return true; }

 private:
  friend std::shared_ptr<const NodeView> driverupgrade::ShareView(NodeView view, const DriverIdentity& identity);
  friend class MarksOfView;
  std::shared_ptr<const MarksOfDriver> decoded_ = nullptr;
};
}  // namespace internal

/// The outcome of a write, as far as the response reveals it.
enum class Outcome : std::uint8_t {
  kApplied,     ///< Accepted by the server.
  kNotApplied,  ///< Definitely refused.
  kUnclear,     ///< The response was lost, or the server failed: the write may have been applied.
  /// 409: the object has another version, which may be the result of our own earlier attempt.
  kConflict,
};

/// The attempts to patch one version of a node.
struct PatchAttempt {
  /// The version on which the patches in `possible` are based, and the only version to which they can apply.
  std::string based_on = {};
  /// All patches based on that version that were sent and not definitely refused. Any of them may have been applied.
  std::vector<PatchNodeParams> possible = {};
  /// Number of attempts since the last applied attempt.
  int count = 0;
  absl::Time sent_at = absl::UnixEpoch();
  /// nullopt: no response yet.
  std::optional<Outcome> outcome = std::nullopt;
  absl::Time answered_at = absl::UnixEpoch();
  /// The server's message, for logs and Events; empty if applied.
  std::string message = {};
  friend bool operator==(const PatchAttempt&, const PatchAttempt&) = default;
};

/// The requests to evict or delete one pod (one UID): their number, and the result of the last request.
struct PodAttempt {
  int count = 0;
  absl::Time sent_at = absl::UnixEpoch();
  std::optional<Outcome> outcome = std::nullopt;
  absl::Time answered_at = absl::UnixEpoch();
  Refusal refusal = Refusal::kNone;
  absl::Duration retry_after = absl::ZeroDuration();
  /// Name of the disruption budget that refused the eviction, if known.
  std::string budget = {};
  std::string message = {};
  friend bool operator==(const PodAttempt&, const PodAttempt&) = default;
};

/// The last write to one NodeMaintenance or DeviceTaintRule.
template <typename Call>
struct ObjectAttempt {
  typename Call::Kind kind = Call::Kind::kCreate;
  /// The version of the object on which the write is based; empty: the object did not exist.
  std::string based_on = {};
  int count = 0;
  /// nullopt: no response yet.
  std::optional<Outcome> outcome = std::nullopt;
  absl::Time answered_at = absl::UnixEpoch();
  std::string message = {};
  friend bool operator==(const ObjectAttempt&, const ObjectAttempt&) = default;
};
using MaintenanceAttempt = ObjectAttempt<MaintenanceCall>;
using DeviceAttempt = ObjectAttempt<DeviceCall>;

/// Removals of a node's state label by other clients.
struct LabelLoss {
  /// At least 1.
  int count = 0;
  /// Time at which the label was last found missing.
  absl::Time last = absl::UnixEpoch();
  friend bool operator==(const LabelLoss&, const LabelLoss&) = default;
};

struct NodeAttempts {
  std::optional<PatchAttempt> patch = std::nullopt;
  /// nullopt: no other client has removed the label within the last two hours.
  std::optional<LabelLoss> label_loss = std::nullopt;
  /// Keyed by pod UID.
  std::map<std::string, PodAttempt> pods = {};
  /// Keyed by the name of the NodeMaintenance.
  std::map<std::string, MaintenanceAttempt> maintenances = {};
  /// Keyed by the name of the DeviceTaintRule.
  std::map<std::string, DeviceAttempt> devices = {};
  /// The newest node version read so far. A list can return an older version than the list before it.
  std::string read_version = {};
  /// Adds the result of a request for a pod, for callers that send one request at a time:
  ///
  ///     const auto answer = cluster.EvictPod(context, {.pod = pod});
  ///     attempts.PodAnswered(pod.uid, AttemptOf(answer, clock.Now()));
  void PodAnswered(const std::string& pod_uid, PodAttempt answer);
  bool empty() const { return !patch && !label_loss && pods.empty() && maintenances.empty() && devices.empty(); }
  friend bool operator==(const NodeAttempts&, const NodeAttempts&) = default;
};

/// Converts the result of an eviction to a PodAttempt, for NodeAttempts::PodAnswered. `now`: time of the response.
PodAttempt AttemptOf(const absl::StatusOr<EvictionAnswer>& answer, absl::Time now);
/// Converts the result of a deletion to a PodAttempt.
PodAttempt AttemptOf(const absl::Status& answer, absl::Time now);

/// One of the driver's DaemonSets, and the target revision of its pods.
struct DriverDaemonSet {
  DaemonSet daemon_set = {};
  /// Value of controller-revision-hash on pods that are up to date; nullopt if it is unknown.
  std::optional<std::string> wanted_revision = std::nullopt;
  /// The reason why the target revision is unknown; empty otherwise.
  std::string why_unknown = {};
  /// Hashes of the DaemonSet's revisions; empty if they are not known.
  std::set<std::string> revisions = {};
  friend bool operator==(const DriverDaemonSet&, const DriverDaemonSet&) = default;
};

/// Data about the driver that is the same for all nodes that run it.
struct DriverFacts {
  /// Keyed by UID.
  std::map<std::string, DriverDaemonSet> daemon_sets = {};
  friend bool operator==(const DriverFacts&, const DriverFacts&) = default;
};

/// One node's objects of Dynamic Resource Allocation (DRA), for the DRA drivers in SnapshotOptions::devices.
struct NodeDevices {
  /// True if the cluster serves DeviceTaintRules, which requires Kubernetes 1.37. If false, devices cannot be tainted.
  bool has_rules = true;
  /// Rules owned by the Node, and rules without an owner whose pool is named after the node. Sorted by name.
  std::vector<DeviceTaintRule> rules = {};
  /// Claims with devices from the pool that is named after the node; all known drivers name their pools this way.
  /// Sorted by namespace and name.
  std::vector<ResourceClaim> claims = {};
  /// Slices of the node, sorted by name.
  std::vector<ResourceSlice> slices = {};
  friend bool operator==(const NodeDevices&, const NodeDevices&) = default;
};

/// One node that has a driver pod (bound to the node or waiting for it), our state label, or our name in
/// kCordonedByAnnotation.
struct NodeView {
  Node node = {};
  /// Pods of the driver that are bound to the node, sorted by name. Usually one; none while the pod is being replaced.
  std::vector<Pod> driver_pods = {};
  /// Driver pods that are not bound to any node and whose affinity names this node, sorted by name.
  std::vector<Pod> unscheduled_driver_pods = {};
  /// All other pods on the node, sorted by namespace and name. nullopt: not read since the node was cordoned; an empty
  /// list means that the node has no such pods.
  std::optional<std::vector<Pod>> pods = std::nullopt;
  /// UIDs of the pods in `pods` that use the driver according to the operator's PodFilter.
  std::set<std::string> pods_using_driver = {};
  /// Errors of the operator's PodFilter, keyed by `<namespace>/<name>` of the pod. Such a pod is not in
  /// `pods_using_driver`.
  std::map<std::string, std::string> hook_errors = {};
  /// Claims that have not been read since they were allocated, keyed by the pod that names the claim. Such a pod may
  /// use the driver. Empty unless SnapshotOptions::devices names DRA drivers.
  std::map<PodRef, std::string> unread_claims = {};
  /// True if the driver pods need only a restart according to the operator's RestartOnlyPredicate.
  bool restart_only = false;
  /// The error of the RestartOnlyPredicate; empty if it returned no error.
  std::string restart_only_error = {};
  /// NodeMaintenances for the node in the requestor's namespace, sorted by name. nullopt: not read; an empty list means
  /// that the node has no NodeMaintenance.
  std::optional<std::vector<NodeMaintenance>> maintenances = std::nullopt;
  /// nullopt: the devices were not read; `devices_status` contains the reason.
  std::optional<NodeDevices> devices = std::nullopt;
  /// OK if `devices` was read, or if the options name no DRA drivers. NotFound if the cluster does not serve claims or
  /// slices. DataLoss if an object that may belong to the node cannot be read. Otherwise the error of a list, or
  /// Unavailable before the first list.
  absl::Status devices_status = absl::OkStatus();
  NodeAttempts attempts = {};
  /// Set by ShareView only.
  internal::DecodedMarks marks = {};
  friend bool operator==(const NodeView&, const NodeView&) = default;
};

/// The nodes that have been granted a slot (ADR 0005). Maps a node's UID to the node version for which the slot is
/// granted. An empty version means that the version was lost. In that case, the grant applies to the version at which
/// the node is read next.
using Grants = std::map<std::string, std::string>;

/// A limit on the number of nodes in progress that several engines share.
struct SharedSlots {
  int max = 0;
  /// Number of slots that the other engines hold. nullopt: the number is unknown for at least one engine, so no node
  /// that needs a slot starts.
  std::optional<int> used_elsewhere = 0;
  friend bool operator==(const SharedSlots&, const SharedSlots&) = default;
};

/// Gang interruptions (RolloutPolicy::gangs) that this process has caused.
struct GangsInterrupted {
  /// The revision of the rollout that caused the interruptions; empty: there are no interruptions.
  std::string revision = {};
  /// Number of gangs, keyed by how often each was interrupted. Key 0: the gang was interrupted by a unit that had
  /// already interrupted it for the previous revision.
  std::map<int, int> by_interruptions = {};
  friend bool operator==(const GangsInterrupted&, const GangsInterrupted&) = default;
};

/// The input to a rollout (UpgradePolicy::rollout) besides the nodes (ADR 0013).
struct RolloutFacts {
  /// The record as it was read, regardless of the replica that wrote it. nullopt: no record exists, and the rollout
  /// starts at its first stage.
  std::optional<std::string> record = std::nullopt;
  /// The reason why the embedding operator considers the rollout sick (EngineOptions::rollout_sick); empty: the
  /// operator does not consider it sick.
  std::string sick = {};
  /// Upgrade durations of nodes that have finished since the record was read.
  std::vector<absl::Duration> took = {};
  /// True if other policies roll out the driver on other nodes. The revision then depends only on DaemonSets that
  /// target this policy's nodes, so a new driver version under another policy does not restart this rollout.
  bool shares_driver = false;
  GangsInterrupted gangs_interrupted = {};
  friend bool operator==(const RolloutFacts&, const RolloutFacts&) = default;
};

struct ClusterSnapshot {
  /// Sorted by name.
  std::vector<std::shared_ptr<const NodeView>> nodes = {};
  /// Grants of an AdmissionLedger; empty without a ledger. A grant counts even if its node is not among `nodes`,
  /// because the node may have lost its driver pod or may not have been seen yet. Grants of nodes known to have been
  /// deleted are left out.
  Grants grants = {};
  /// nullopt: the engine shares no limit.
  std::optional<SharedSlots> shared_slots = std::nullopt;
  RolloutFacts rollout = {};
  /// Not null.
  std::shared_ptr<const DriverFacts> driver = std::make_shared<const DriverFacts>();
  /// Start of the engine's current uninterrupted activity (leading, with autoUpgrade on). No node fails because of an
  /// expired deadline until the engine has been active for min(timeout, 60 s).
  absl::Time active_since = absl::InfinitePast();
  /// Problems found while reading the cluster.
  std::vector<Finding> findings = {};
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_CLUSTER_SNAPSHOT_H_
