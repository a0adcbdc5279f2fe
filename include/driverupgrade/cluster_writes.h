/// Parameters and results of ClusterFacade's writes (cluster_facade.h).
///
/// Defines the Params structs of ClusterWriter, Patched, MaintenanceCall, EvictionAnswer, Refusal, the parts of an
/// Event, and WasNotApplied.
///
///     const PatchNodeParams cordon{.name = node.name,
///                                  .uid = node.uid,
///                                  .resource_version = node.resource_version,
///                                  .unschedulable = true};
///     absl::StatusOr<Node> cordoned = cluster->PatchNode(context, cordon);
///
/// Plain value types.
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

/// One atomic change to a node, sent as a single merge patch. Even an empty change is sent, because the server then
/// checks the preconditions.
struct PatchNodeParams {
  std::string name = {};
  /// The UID and the version of the node to which the patch applies. Both are part of the patch, so the result is
  /// Aborted if the node has since been changed or re-created. Neither may be empty.
  std::string uid = {};
  std::string resource_version = {};
  /// nullopt removes the key; removing an absent key is not an error.
  std::map<std::string, std::optional<std::string>> labels = {};
  std::map<std::string, std::optional<std::string>> annotations = {};
  /// spec.unschedulable; nullopt: unchanged.
  std::optional<bool> unschedulable = {};
  /// The entire new list spec.taints, because servers do not merge this list: the node's taints at `resource_version`,
  /// with the changes applied. No two taints share both key and effect; neither is empty. nullopt: unchanged.
  std::optional<std::vector<Taint>> taints = {};
  /// Returns true if the patch changes nothing.
  bool empty() const { return labels.empty() && annotations.empty() && !unschedulable && !taints; }
  friend bool operator==(const PatchNodeParams&, const PatchNodeParams&) = default;
};

/// Returns `node` with the patch applied. The resource version stays the same.
Node Patched(const Node& node, const PatchNodeParams& patch);

struct PatchConfigMapParams {
  std::string ns = {};
  std::string name = {};
  /// Same as in PatchNodeParams.
  std::string uid = {};
  std::string resource_version = {};
  /// nullopt removes the key. The other keys and the rest of the object are unchanged.
  std::map<std::string, std::optional<std::string>> data = {};
  friend bool operator==(const PatchConfigMapParams&, const PatchConfigMapParams&) = default;
};

struct EvictPodParams {
  /// All fields are required. The UID is sent as a precondition: if a different pod has the name, this pod counts as
  /// deleted.
  PodRef pod = {};
};

struct DeletePodParams {
  /// Same as in EvictPodParams.
  PodRef pod = {};
  /// True: grace period zero. The server deletes the pod without waiting for its kubelet, even if the pod is already
  /// terminating; only finalizers can delay the deletion. False: the pod's own grace period.
  bool force = false;
};

struct CreateNodeMaintenanceParams {
  /// Namespace, name and spec. Fields that the server sets (UID, version, deletion, owner, conditions) are not sent.
  NodeMaintenance object = {};
};

/// Replaces one of two lists of a NodeMaintenance. At most one list can be set, because the lists are in different
/// subresources. If neither is set, the request only checks the preconditions.
struct PatchNodeMaintenanceParams {
  std::string ns = {};
  std::string name = {};
  /// Same as in PatchNodeParams.
  std::string uid = {};
  std::string resource_version = {};
  /// spec.additionalRequestors.
  std::optional<std::vector<std::string>> additional_requestors = {};
  /// status.conditions, through the status subresource. InvalidArgument if combined with `additional_requestors`.
  std::optional<std::vector<Condition>> conditions = {};
  friend bool operator==(const PatchNodeMaintenanceParams&, const PatchNodeMaintenanceParams&) = default;
};

struct DeleteNodeMaintenanceParams {
  std::string ns = {};
  std::string name = {};
  /// Sent as a precondition: if a different object has the name, this object counts as deleted.
  std::string uid = {};
};

/// One write to a NodeMaintenance.
struct MaintenanceCall {
  enum class Kind : std::uint8_t {
    kCreate,           ///< Creates the object, which requests maintenance of the node.
    kJoin,             ///< Adds our id to another requestor's object.
    kLeave,            ///< Removes our id from another requestor's object.
    kReportFailure,    ///< Sets the condition RequestorFailed to True.
    kWithdrawFailure,  ///< Sets the condition RequestorFailed to False.
    kDelete,           ///< Deletes the object; the maintenance operator then releases the node.
  };
  Kind kind = Kind::kCreate;
  /// The object after the write, but with the UID and the version that were read; both empty with kCreate.
  NodeMaintenance object = {};
  friend bool operator==(const MaintenanceCall&, const MaintenanceCall&) = default;
};
std::string_view ToString(MaintenanceCall::Kind kind);

/// One write to a DeviceTaintRule.
struct DeviceCall {
  enum class Kind : std::uint8_t {
    kCreate,   ///< Creates the rule. If the name is taken, the call also succeeds; the next pass reads that rule.
    kPatch,    ///< Sets the effect.
    kConfirm,  ///< A patch without changes, which succeeds only if the rule is still as it was read.
    kDelete,   ///< Deletes the rule, so that the devices can be allocated again.
  };
  Kind kind = Kind::kCreate;
  /// The rule after the write, but with the UID and the version that were read; both empty with kCreate.
  DeviceTaintRule object = {};
  friend bool operator==(const DeviceCall&, const DeviceCall&) = default;
};
/// Returns `create`, `patch`, `confirm` or `delete`.
std::string_view ToString(DeviceCall::Kind kind);
/// Returns a description for messages: `create DeviceTaintRule gpu-7-a (None)`.
std::string Describe(const DeviceCall& call);

struct CreateDeviceTaintRuleParams {
  /// Name, labels, owner and spec are sent. The server sets the rest: UID, version, generation, times and conditions.
  DeviceTaintRule object = {};
};

/// Sets the effect; the rest of the rule is unchanged.
struct PatchDeviceTaintRuleParams {
  std::string name = {};
  /// Preconditions, same as in PatchNodeParams.
  std::string uid = {};
  std::string resource_version = {};
  DeviceTaintEffect effect = DeviceTaintEffect::kNone;
  friend bool operator==(const PatchDeviceTaintRuleParams&, const PatchDeviceTaintRuleParams&) = default;
};

struct DeleteDeviceTaintRuleParams {
  std::string name = {};
  /// Sent as a precondition: if a different rule has the name, this rule counts as deleted.
  std::string uid = {};
};

/// The reason why an eviction was refused: a closed set, so that gates can be derived from it.
enum class Refusal : std::uint8_t {
  kNone,
  kDisruptionBudget,      ///< A disruption budget allows no further disruption, or has not been processed yet.
  kThrottled,             ///< 429 that was not caused by a budget: the server is busy.
  kSeveralBudgets,        ///< More than one budget matches; refused until an administrator changes the budgets.
  kNamespaceTerminating,  ///< The namespace is being deleted, so nothing can be created in it, not even an eviction.
  kOther,                 ///< The request failed. Used in a PodAttempt, never in an EvictionAnswer.
};
/// Returns `accepted`, `refused by a disruption budget`, ...
std::string_view ToString(Refusal refusal);

/// The API server's response to an eviction. Errors other than a refusal are returned as a Status.
struct EvictionAnswer {
  /// kNone: the pod is being deleted (and may exist until its grace period ends), or no longer exists.
  Refusal refusal = Refusal::kNone;
  /// True if the pod no longer existed, or a different pod had its name.
  bool gone = false;
  /// Name of the budget that refused the eviction, if the server returned the name.
  std::string budget = {};
  /// The server's message, for logs and Events.
  std::string message = {};
  /// Time to wait before a retry, as requested by the server; zero if the server did not specify a time.
  absl::Duration retry_after = absl::ZeroDuration();
  /// Returns true if the pod exists and is being evicted.
  bool accepted() const { return refusal == Refusal::kNone && !gone; }
  friend bool operator==(const EvictionAnswer&, const EvictionAnswer&) = default;
};
/// Returns `gone` if `answer.gone` is set, otherwise the string form of `answer.refusal`.
std::string_view ToString(const EvictionAnswer& answer);

enum class EventType : std::uint8_t { kNormal, kWarning };

/// A series of Events recorded as a single Event object: its first occurrence and the number of occurrences.
struct EventSeries {
  /// Number of Events so far, including the current one: at least 2.
  int count = 2;
  absl::Time first_time = absl::UnixEpoch();
  std::string first_message = {};
  friend bool operator==(const EventSeries&, const EventSeries&) = default;
};

/// An Event about a node or a pod.
struct RecordEventParams {
  std::string node_name = {};
  std::string node_uid = {};
  /// If set, the Event is about this pod and is created in the pod's namespace; otherwise, it is about the node and is
  /// created in `default`.
  std::optional<PodRef> pod = {};
  EventType type = EventType::kNormal;
  std::string reason = {};
  std::string message = {};
  absl::Time time = absl::UnixEpoch();
  /// If set, the existing Event of the series, recorded at `first_time` with `first_message`, is updated with this
  /// message, time and count. If that Event no longer exists, a new Event with these values is created.
  std::optional<EventSeries> series = {};
  friend bool operator==(const RecordEventParams&, const RecordEventParams&) = default;
};

/// Returns true if the result of a write proves that the write changed nothing. The proof is the status code (see the
/// contract in cluster_facade.h), or a transport's mark that the request was not sent (MarkRequestNotSent).
bool WasNotApplied(const absl::Status& status);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_CLUSTER_WRITES_H_
