/// Everything that Step may look at.
///
/// Defines ClusterSnapshot, NodeView, NodeDevices, ShareView, DriverFacts, NodeAttempts and its parts, Grants and SharedSlots.
/// SnapshotBuilder makes them; tests make them by hand:
///
///     NodeView view{.node = {.name = "gpu-7", .uid = "1", .resource_version = "42"}};
///     view.driver_pods.push_back(pod);
///     ClusterSnapshot snapshot{.nodes = {ShareView(view, identity)}, .driver = facts};
///
/// Views and facts are immutable and shared: the next snapshot reuses what has not changed. Values.
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

/// The view, which nobody can change any more. The labels and annotations of the node by which the upgrade of `identity`
/// goes are decoded here, once; a view that was made in another way is judged alike, but decoded whenever it is judged.
std::shared_ptr<const NodeView> ShareView(NodeView view, const DriverIdentity& identity);

namespace internal {
struct MarksOfDriver;
class MarksOfView;

// What ShareView has decoded of a view's node. It follows from the rest of the view, so any two are equal; and it is of
// that very view, so a copy of the view has none, and may be changed.
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

/// What an answer says about a write.
enum class Outcome : std::uint8_t {
  kApplied,     ///< Accepted by the server.
  kNotApplied,  ///< Clearly refused.
  kUnclear,     ///< Lost answer, server error: it may have been applied.
  /// 409: the object is of another version by now, which an earlier try of ours may have made.
  kConflict,
};

/// A write to a node at one of its versions.
struct PatchAttempt {
  /// The version the patches below were based on. They can apply to no other.
  std::string based_on = {};
  /// Every patch sent at that version that was not clearly refused: each may have been applied.
  std::vector<PatchNodeParams> possible = {};
  /// Tries since the last that was applied.
  int count = 0;
  absl::Time sent_at = absl::UnixEpoch();
  /// nullopt: not answered yet.
  std::optional<Outcome> outcome = std::nullopt;
  absl::Time answered_at = absl::UnixEpoch();
  /// What the server said, for people; empty if applied.
  std::string message = {};
  friend bool operator==(const PatchAttempt&, const PatchAttempt&) = default;
};

/// An eviction or a deletion of one pod (one UID).
struct PodAttempt {
  int count = 0;
  absl::Time sent_at = absl::UnixEpoch();
  std::optional<Outcome> outcome = std::nullopt;
  absl::Time answered_at = absl::UnixEpoch();
  Refusal refusal = Refusal::kNone;
  absl::Duration retry_after = absl::ZeroDuration();
  /// Name of the refusing disruption budget, if known.
  std::string budget = {};
  std::string message = {};
  friend bool operator==(const PodAttempt&, const PodAttempt&) = default;
};

/// The last call about one object: a NodeMaintenance or a DeviceTaintRule.
template <typename Call>
struct ObjectAttempt {
  typename Call::Kind kind = Call::Kind::kCreate;
  /// The version that was judged; empty: there was none.
  std::string based_on = {};
  int count = 0;
  /// nullopt: not answered yet.
  std::optional<Outcome> outcome = std::nullopt;
  absl::Time answered_at = absl::UnixEpoch();
  std::string message = {};
  friend bool operator==(const ObjectAttempt&, const ObjectAttempt&) = default;
};
using MaintenanceAttempt = ObjectAttempt<MaintenanceCall>;
using DeviceAttempt = ObjectAttempt<DeviceCall>;

/// How often another client has removed the state label of a node.
struct LabelLoss {
  /// At least 1.
  int count = 0;
  /// When the label was last found missing.
  absl::Time last = absl::UnixEpoch();
  friend bool operator==(const LabelLoss&, const LabelLoss&) = default;
};

struct NodeAttempts {
  std::optional<PatchAttempt> patch = std::nullopt;
  /// nullopt: no other client has removed the label within the last two hours.
  std::optional<LabelLoss> label_loss = std::nullopt;
  /// By pod UID.
  std::map<std::string, PodAttempt> pods = {};
  /// By name of the NodeMaintenance.
  std::map<std::string, MaintenanceAttempt> maintenances = {};
  /// By name of the DeviceTaintRule.
  std::map<std::string, DeviceAttempt> devices = {};
  /// The newest version of the node that is known to have been read: a list may be older than the one before.
  std::string read_version = {};
  /// Adds the answer to a request about a pod, for callers that have one request in flight at a time:
  ///
  ///     const auto answer = cluster.EvictPod(context, {.pod = pod});
  ///     attempts.PodAnswered(pod.uid, AttemptOf(answer, clock.Now()));
  void PodAnswered(const std::string& pod_uid, PodAttempt answer);
  bool empty() const { return !patch && !label_loss && pods.empty() && maintenances.empty() && devices.empty(); }
  friend bool operator==(const NodeAttempts&, const NodeAttempts&) = default;
};

/// Returns what the answer to an eviction says, for NodeAttempts::PodAnswered. `now`: when the answer came.
PodAttempt AttemptOf(const absl::StatusOr<EvictionAnswer>& answer, absl::Time now);
/// The same of a deletion.
PodAttempt AttemptOf(const absl::Status& answer, absl::Time now);

/// One DaemonSet of the driver and the revision its pods are to have.
struct DriverDaemonSet {
  DaemonSet daemon_set = {};
  /// Value of controller-revision-hash on pods that are up to date; nullopt if it cannot be told.
  std::optional<std::string> wanted_revision = std::nullopt;
  /// Why it cannot be told; empty otherwise.
  std::string why_unknown = {};
  friend bool operator==(const DriverDaemonSet&, const DriverDaemonSet&) = default;
};

/// What concerns all nodes of the driver.
struct DriverFacts {
  /// By UID.
  std::map<std::string, DriverDaemonSet> daemon_sets = {};
  friend bool operator==(const DriverFacts&, const DriverFacts&) = default;
};

/// Holds the objects of Dynamic Resource Allocation for one node, of the drivers in SnapshotOptions::devices.
struct NodeDevices {
  /// Rules that the Node owns, and rules without such an owner whose pool has the name of the node. In the order of names.
  std::vector<DeviceTaintRule> rules = {};
  /// Claims with devices of the pool that has the name of the node; all known drivers name their pools so. In the order of
  /// namespaces and names.
  std::vector<ResourceClaim> claims = {};
  /// Slices of the node in the order of names.
  std::vector<ResourceSlice> slices = {};
  friend bool operator==(const NodeDevices&, const NodeDevices&) = default;
};

/// One node that has a driver pod, bound to it or waiting for it, our state label, or our name on its cordon.
struct NodeView {
  Node node = {};
  /// Pods of the driver that are bound to the node, by name. Usually one; none while it is replaced.
  std::vector<Pod> driver_pods = {};
  /// Driver pods that are bound to no node and whose affinity names this one, by name.
  std::vector<Pod> unscheduled_driver_pods = {};
  /// All other pods on the node, by namespace and name. nullopt: not read since the node was cordoned, which is not
  /// the same as none.
  std::optional<std::vector<Pod>> pods = std::nullopt;
  /// UIDs of those of `pods` that use the driver, as the operator's PodFilter says.
  std::set<std::string> pods_using_driver = {};
  /// What went wrong in the operator's callbacks, by the name of the pod; such a pod is in no set above.
  std::map<std::string, std::string> hook_errors = {};
  /// The operator's RestartOnlyPredicate says that the driver pods need no more than a restart.
  bool restart_only = false;
  /// Why it could not say; empty otherwise.
  std::string restart_only_error = {};
  /// NodeMaintenances for the node in the requestor's namespace, by name. nullopt: not read, which is not the same as
  /// none.
  std::optional<std::vector<NodeMaintenance>> maintenances = std::nullopt;
  /// nullopt: they were not read; `devices_status` gives the reason.
  std::optional<NodeDevices> devices = std::nullopt;
  /// OK if `devices` were read, or if the options name no DRA drivers. NotFound if the cluster does not serve one of the
  /// kinds. DataLoss if an object that may be the node's cannot be read. Otherwise the error of a list, or Unavailable
  /// before the first list.
  absl::Status devices_status = absl::OkStatus();
  NodeAttempts attempts = {};
  /// Set by ShareView only.
  internal::DecodedMarks marks = {};
  friend bool operator==(const NodeView&, const NodeView&) = default;
};

/// Which nodes have been promised a slot (ADR 0005): the node's version that the promise is for, by the
/// node's UID. An empty version stands for one that got lost: it is taken to be the one at which the node is read next.
using Grants = std::map<std::string, std::string>;

/// A limit on the nodes in progress that several engines share.
struct SharedSlots {
  int max = 0;
  /// Slots that the other engines hold. nullopt: that is not known of all of them, so no node that needs a slot starts.
  std::optional<int> used_elsewhere = 0;
  friend bool operator==(const SharedSlots&, const SharedSlots&) = default;
};

/// Interruptions of gangs (RolloutPolicy::gangs) that this process has caused.
struct GangsInterrupted {
  /// The revision of the rollout that caused them; empty: none.
  std::string revision = {};
  /// Number of gangs; each counts once.
  int gangs = 0;
  int interruptions = 0;
  friend bool operator==(const GangsInterrupted&, const GangsInterrupted&) = default;
};

/// What a rollout (UpgradePolicy::rollout) goes by beside the nodes (ADR 0013).
struct RolloutFacts {
  /// The record as it was read, by whatever replica it was written; nullopt: there is none, and the rollout begins at its
  /// first stage.
  std::optional<std::string> record = std::nullopt;
  /// Why the embedding operator takes the rollout for sick (EngineOptions::rollout_sick); empty: it does not.
  std::string sick = {};
  /// How long nodes took that have been done since the record was read.
  std::vector<absl::Duration> took = {};
  /// Whether other policies roll the driver on other nodes. If so, only the DaemonSets that want one of the nodes make up
  /// the revision, so that a new driver of another policy does not start this rollout again.
  bool shares_driver = false;
  GangsInterrupted gangs_interrupted = {};
  friend bool operator==(const RolloutFacts&, const RolloutFacts&) = default;
};

struct ClusterSnapshot {
  /// In order of their names.
  std::vector<std::shared_ptr<const NodeView>> nodes = {};
  /// Of an AdmissionLedger; empty without one. One whose node is not among `nodes` counts all the same: the node may
  /// have lost its driver pod, or not have been seen yet. Grants of nodes that are known to be gone are left out.
  Grants grants = {};
  /// nullopt: the engine shares no limit.
  std::optional<SharedSlots> shared_slots = std::nullopt;
  RolloutFacts rollout = {};
  /// Not null.
  std::shared_ptr<const DriverFacts> driver = std::make_shared<const DriverFacts>();
  /// Since when the engine has been at work without a break (leading, autoUpgrade on): no deadline fails a node before
  /// it has had min(timeout, 60 s) of that.
  absl::Time active_since = absl::InfinitePast();
  /// What was found wrong while reading.
  std::vector<Finding> findings = {};
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_CLUSTER_SNAPSHOT_H_
