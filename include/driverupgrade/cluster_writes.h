/// What the writes of the seam (cluster_facade.h) take and answer.
///
/// Defines the Params structs of ClusterWriter, Patched, MaintenanceCall, EvictionAnswer, Refusal, what an Event is made
/// of, and WasNotApplied.
///
///     const PatchNodeParams cordon{.name = node.name,
///                                  .uid = node.uid,
///                                  .resource_version = node.resource_version,
///                                  .unschedulable = true};
///     absl::StatusOr<Node> cordoned = cluster->PatchNode(context, cordon);
///
/// Values, copied like any others.
#ifndef DRIVERUPGRADE_CLUSTER_WRITES_H_
#define DRIVERUPGRADE_CLUSTER_WRITES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/device_types.h"

namespace driverupgrade {

/// One atomic change of a node, sent as one merge patch. Without a change it is sent all the same, for its
/// preconditions.
struct PatchNodeParams {
  std::string name = {};
  /// The patch applies only to the node with this UID and at this version: both go into the patch, so a node that has
  /// been changed or re-created since is answered Aborted. Neither may be empty.
  std::string uid = {};
  std::string resource_version = {};
  /// nullopt removes the key; removing an absent key is no error.
  std::map<std::string, std::optional<std::string>> labels = {};
  std::map<std::string, std::optional<std::string>> annotations = {};
  /// spec.unschedulable; nullopt leaves it alone.
  std::optional<bool> unschedulable = {};
  /// spec.taints as a whole, because servers do not merge this list: the taints of the node at `resource_version`, with the changes.
  /// Each has a key and an effect, and no other has the same two. nullopt leaves the taints alone.
  std::optional<std::vector<Taint>> taints = {};
  /// Without a change.
  bool empty() const { return labels.empty() && annotations.empty() && !unschedulable && !taints; }
  friend bool operator==(const PatchNodeParams&, const PatchNodeParams&) = default;
};

/// The node as the patch leaves it, but for its resource version.
Node Patched(const Node& node, const PatchNodeParams& patch);

struct PatchConfigMapParams {
  std::string ns = {};
  std::string name = {};
  /// As in PatchNodeParams.
  std::string uid = {};
  std::string resource_version = {};
  /// nullopt removes the key; keys that are not named stay, and so does everything else of the object.
  std::map<std::string, std::optional<std::string>> data = {};
  friend bool operator==(const PatchConfigMapParams&, const PatchConfigMapParams&) = default;
};

struct EvictPodParams {
  /// All fields are needed: the UID is sent as precondition, and another pod of that name counts as gone.
  PodRef pod = {};
};

struct DeletePodParams {
  /// Same as in EvictPodParams.
  PodRef pod = {};
  /// True: grace period zero. The server forgets the pod without waiting for its kubelet, also if it is terminating
  /// already; only finalizers still hold it. False: the pod's own grace period.
  bool force = false;
};

struct CreateNodeMaintenanceParams {
  /// Namespace, name and spec; what the server sets (UID, version, deletion, owner, conditions) is not sent.
  NodeMaintenance object = {};
};

/// Sets one of the two lists, whole, as they live in different subresources; or none: nothing changes, but the
/// preconditions are checked.
struct PatchNodeMaintenanceParams {
  std::string ns = {};
  std::string name = {};
  /// As in PatchNodeParams.
  std::string uid = {};
  std::string resource_version = {};
  /// spec.additionalRequestors.
  std::optional<std::vector<std::string>> additional_requestors = {};
  /// status.conditions, through the status subresource. Not together with `additional_requestors`: InvalidArgument.
  std::optional<std::vector<Condition>> conditions = {};
  friend bool operator==(const PatchNodeMaintenanceParams&, const PatchNodeMaintenanceParams&) = default;
};

struct DeleteNodeMaintenanceParams {
  std::string ns = {};
  std::string name = {};
  /// Sent as precondition; another object of that name counts as gone.
  std::string uid = {};
};

/// One write to a NodeMaintenance.
struct MaintenanceCall {
  enum class Kind : std::uint8_t {
    kCreate,           ///< Asks for the node.
    kJoin,             ///< Adds us to another requestor's object.
    kLeave,            ///< Takes us off it.
    kReportFailure,    ///< Sets the condition RequestorFailed.
    kWithdrawFailure,  ///< Sets it to False.
    kDelete,           ///< Gives the node back.
  };
  Kind kind = Kind::kCreate;
  /// As it is to be afterwards, but with the UID and the version that were read; both empty with kCreate.
  NodeMaintenance object = {};
  friend bool operator==(const MaintenanceCall&, const MaintenanceCall&) = default;
};
std::string_view ToString(MaintenanceCall::Kind kind);

/// One write to a DeviceTaintRule.
struct DeviceCall {
  enum class Kind : std::uint8_t {
    kCreate,  ///< One of that name that exists already will do; the next pass reads it.
    kPatch,   ///< Sets the effect.
    kDelete,  ///< Frees the devices.
  };
  Kind kind = Kind::kCreate;
  /// As it is to be afterwards, but with the UID and the version that were read; both empty with kCreate.
  DeviceTaintRule object = {};
  friend bool operator==(const DeviceCall&, const DeviceCall&) = default;
};
/// `create`, `patch`, `delete`.
std::string_view ToString(DeviceCall::Kind kind);
/// For people: `create DeviceTaintRule gpu-7-a (None)`.
std::string Describe(const DeviceCall& call);

struct CreateDeviceTaintRuleParams {
  /// Name, labels, owner and spec are sent. The server sets the rest: UID, version, generation, times and conditions.
  DeviceTaintRule object = {};
};

/// Sets the effect; all else of the rule stays.
struct PatchDeviceTaintRuleParams {
  std::string name = {};
  /// Preconditions, as in PatchNodeParams.
  std::string uid = {};
  std::string resource_version = {};
  DeviceTaintEffect effect = DeviceTaintEffect::kNone;
  friend bool operator==(const PatchDeviceTaintRuleParams&, const PatchDeviceTaintRuleParams&) = default;
};

struct DeleteDeviceTaintRuleParams {
  std::string name = {};
  /// Sent as precondition; another rule of that name counts as gone.
  std::string uid = {};
};

/// Why a pod was not asked to go; closed, so that gates can be chosen by it.
enum class Refusal : std::uint8_t {
  kNone,
  kDisruptionBudget,      ///< A disruption budget has no disruption left, or is not processed yet.
  kThrottled,             ///< 429 that no budget caused: the server is busy.
  kSeveralBudgets,        ///< More than one budget matches: refused until somebody changes that.
  kNamespaceTerminating,  ///< Nothing can be created in the namespace, evictions included.
  kOther,                 ///< The request failed: of a PodAttempt, never of an EvictionAnswer.
};
/// `accepted`, `refused by a disruption budget`, ...
std::string_view ToString(Refusal refusal);

/// What the API server said to an eviction. An error that is none of these is a Status.
struct EvictionAnswer {
  /// kNone: the pod is being deleted, and may exist for its grace period yet; or it is gone.
  Refusal refusal = Refusal::kNone;
  /// There was no such pod, or another one of that name.
  bool gone = false;
  /// Name of the refusing budget where the server gave it.
  std::string budget = {};
  /// What the server said, for people.
  std::string message = {};
  /// Zero if the server named none.
  absl::Duration retry_after = absl::ZeroDuration();
  /// The pod was there, and is asked to go.
  bool accepted() const { return refusal == Refusal::kNone && !gone; }
  friend bool operator==(const EvictionAnswer&, const EvictionAnswer&) = default;
};
/// `gone`, or what the refusal says.
std::string_view ToString(const EvictionAnswer& answer);

enum class EventType : std::uint8_t { kNormal, kWarning };

/// The first of several Events that one object stands for.
struct EventSeries {
  /// How many there have been, the present one included: at least 2.
  int count = 2;
  absl::Time first_time = absl::UnixEpoch();
  std::string first_message = {};
  friend bool operator==(const EventSeries&, const EventSeries&) = default;
};

/// An Event on a node or on a pod.
struct RecordEventParams {
  std::string node_name = {};
  std::string node_uid = {};
  /// Set: the Event is on this pod, in its namespace; otherwise on the node, in `default`.
  std::optional<PodRef> pod = {};
  EventType type = EventType::kNormal;
  std::string reason = {};
  std::string message = {};
  absl::Time time = absl::UnixEpoch();
  /// Set: the Event that was recorded at `first_time` with `first_message`, and is the same otherwise, gets this
  /// message, time and count. If it is gone, it is written anew with them.
  std::optional<EventSeries> series = {};
  friend bool operator==(const RecordEventParams&, const RecordEventParams&) = default;
};

/// Returns true if the result of a write proves that the write changed nothing. The proof is its code (contract of
/// cluster_facade.h), or the mark of a transport that did not send the request (MarkRequestNotSent).
bool WasNotApplied(const absl::Status& status);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_CLUSTER_WRITES_H_
