/// Converts Kubernetes objects to and from the API server's JSON.
///
/// Defines
///  - ApiObject: an object of any kind;
///  - ParseObject, ParseList, ListPage: from the body of a response;
///  - ParseWatchEvent, WatchEvent: from a line of a watch;
///  - ParseMixedList, ClusterObjects: from the output of `kubectl get nodes,pods,... -o json`;
///  - ApiStatus, ParseApiStatus: from the body of an error;
///  - FormatNodePatch, FormatEviction, FormatDeleteOptions, FormatNodeMaintenance, FormatNodeMaintenancePatch,
///    FormatDeviceTaintRule, FormatDeviceTaintRulePatch, FormatConfigMapPatch, FormatEvent, FormatEventPatch: bodies of
///    the writes;
///  - FormatObject, FormatList: bodies of responses, for fakes and tests. FormatObject also formats the bodies of the
///    writes to Leases and ConfigMaps.
///
///     absl::StatusOr<ListPage<Pod>> page = ParseList<Pod>(body);
///     if (!page.ok()) return page.status();  // "items[3].metadata.labels: expected an object, got a string"
///     for (Pod& pod : page->items) Use(pod);
///
/// Rules for reading a document:
///  - Unknown members are ignored, and unknown enumeration values are tolerated. A missing or null member has its
///    default.
///  - `kind` at the top is checked, so that an error body is not mistaken for an empty object.
///  - A member of the wrong type fails the whole document, with an error that contains its path. A wrong value is never
///    treated as absent, and a list is never shortened. With OnUnreadable::kMark, only the object that contains the
///    member is marked (see cluster_types.h). The whole document still fails if a name, a namespace, or a member that
///    makes the document a list or an event is wrong.
///  - If an object has several members with the same key, the last one counts, as in Go.
///  - Malformed JSON, invalid UTF-8, a NUL byte and more than 64 levels of nesting are errors. No input causes deeper
///    recursion, an abort or an exception.
/// Output is always valid UTF-8: invalid bytes become U+FFFD, as in Go.
///
/// Free functions without state; thread-safe. T is Node, Pod, DaemonSet, ControllerRevision, PodDisruptionBudget,
/// NodeMaintenance, DeviceTaintRule, ResourceClaim, ResourceSlice, Lease or ConfigMap; for reading also ApiObject,
/// which stands for any kind.
#ifndef DRIVERUPGRADE_WIRE_KUBERNETES_JSON_H_
#define DRIVERUPGRADE_WIRE_KUBERNETES_JSON_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "driverupgrade/cluster_reads.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/device_types.h"

namespace driverupgrade {

/// An object of any kind as JSON text, for kinds that have no type in this library. A value type. See
/// kubernetes/object_client.h.
struct ApiObject {
  /// Empty if the kind has no namespaces.
  std::string ns = {};
  std::string name = {};
  std::string uid = {};
  std::string resource_version = {};
  /// The whole object, without white space, with its members in the order of the response. Integers of more than 64
  /// bits become floating-point numbers. Items of a list lack `kind` and `apiVersion` if the server leaves them out.
  std::string json = {};
  friend bool operator==(const ApiObject&, const ApiObject&) = default;
};

/// Reads one object. Times are RFC 3339; a selector that is missing or unparsable selects nothing, and `{}` selects
/// everything. The `data` of a ControllerRevision is reformatted without white space, with its members in the order of
/// the document. Missing members of a NodeMaintenance get the defaults of the server's schema. The `binaryData` of a
/// ConfigMap is ignored. A DeviceTaintRule with an unknown effect cannot be read.
///
/// Errors: InvalidArgument, with the path in the document or the byte where the JSON is malformed.
template <typename T>
[[nodiscard]] absl::StatusOr<T> ParseObject(std::string_view json);

/// One page of a list.
template <typename T>
struct ListPage {
  std::vector<T> items = {};
  /// Token that requests the next page; empty only on the last page.
  std::string continue_token = {};
  /// The version at which the whole list was read, as opaque text. A watch continues from this version.
  std::string resource_version = {};
  friend bool operator==(const ListPage&, const ListPage&) = default;
};

/// Reads one page of a list. `on_unreadable` is ignored for a Lease, a ConfigMap and an ApiObject: an unreadable object
/// of these kinds always fails the list.
///
/// Errors: same as ParseObject.
template <typename T>
[[nodiscard]] absl::StatusOr<ListPage<T>> ParseList(std::string_view json,
                                                    OnUnreadable on_unreadable = OnUnreadable::kFail);

/// Objects of several kinds, each in the order of the document.
struct ClusterObjects {
  std::vector<Node> nodes = {};
  std::vector<Pod> pods = {};
  std::vector<DaemonSet> daemon_sets = {};
  std::vector<ControllerRevision> controller_revisions = {};
  std::vector<PodDisruptionBudget> pod_disruption_budgets = {};
  std::vector<NodeMaintenance> node_maintenances = {};
  std::vector<DeviceTaintRule> device_taint_rules = {};
  std::vector<ResourceClaim> resource_claims = {};
  std::vector<ResourceSlice> resource_slices = {};
  friend bool operator==(const ClusterObjects&, const ClusterObjects&) = default;
};

/// Reads a `List` whose items have a kind, as printed by kubectl. Items of other kinds, or of another API group, are
/// ignored; an item without apiVersion is identified by its kind.
///
/// Errors: same as ParseObject. Also InvalidArgument for items that cannot exist in a cluster: items without a kind,
/// items of one of our kinds without a name, and items with a duplicate name within a kind and namespace.
[[nodiscard]] absl::StatusOr<ClusterObjects> ParseMixedList(std::string_view json,
                                                            OnUnreadable on_unreadable = OnUnreadable::kFail);

/// A `Status`, which the API server returns instead of the requested object.
struct ApiStatus {
  struct Cause {
    std::string reason = {};
    std::string message = {};
    std::string field = {};
    friend bool operator==(const Cause&, const Cause&) = default;
  };
  /// `Success` or `Failure`.
  std::string status = {};
  /// HTTP status; 0 if it is missing.
  int code = 0;
  /// For example `NotFound`; empty if unknown.
  std::string reason = {};
  std::string message = {};
  /// The object that the status is about. `details_kind` often contains the resource (`pods`).
  std::string details_group = {};
  std::string details_kind = {};
  std::string details_name = {};
  std::vector<Cause> causes = {};
  /// 0 if absent.
  int retry_after_seconds = 0;
  friend bool operator==(const ApiStatus&, const ApiStatus&) = default;
};

/// Returns nullopt if `json` is not JSON or not a Status: proxies, and the server's own throttling, respond in plain
/// text. Members of the wrong type count as absent, because an error must not be lost only because it is malformed.
std::optional<ApiStatus> ParseApiStatus(std::string_view json);

/// One line of a watch.
template <typename T>
struct WatchEvent {
  enum class Type {
    kAdded,
    kModified,
    kDeleted,
    kBookmark,
    kError,    ///< The watch has ended with an error.
    kUnknown,  ///< A type that this version does not know. Skip the event; its other members are not read.
  };
  Type type = Type::kUnknown;
  /// The current object, or its last state if it was deleted. Set only for kAdded, kModified and kDeleted.
  T object = {};
  /// Version of the object or the bookmark; a watch continues from it after this event. Empty for kError and kUnknown.
  std::string resource_version = {};
  /// The error of kError; empty if the server sent something other than a Status.
  ApiStatus error = {};
  friend bool operator==(const WatchEvent&, const WatchEvent&) = default;
};

/// Reads `{"type":...,"object":{...}}`, without the line terminator.
///
/// `on_unreadable`: same as in ParseList.
///
/// Errors: same as ParseObject, which also rejects an object of the wrong kind. Also InvalidArgument if the event has
/// no type, or if its object or bookmark has no resource version.
template <typename T>
[[nodiscard]] absl::StatusOr<WatchEvent<T>> ParseWatchEvent(std::string_view line,
                                                            OnUnreadable on_unreadable = OnUnreadable::kFail);

/// Returns the merge patch (`application/merge-patch+json`) of a node. The patch contains uid and resourceVersion, so
/// it applies either to the node at that version or not at all. Removed keys are null, and so is `spec.unschedulable`
/// if the node is made schedulable.
std::string FormatNodePatch(const PatchNodeParams& params);

/// Returns the body of `POST .../pods/NAME/eviction`, policy/v1, with the UID as a precondition. The pod's own grace
/// period applies.
std::string FormatEviction(const EvictPodParams& params);

/// Returns the body of `DELETE .../pods/NAME`, with the UID as a precondition.
std::string FormatDeleteOptions(const DeletePodParams& params);
/// Returns the same body for `DELETE .../nodemaintenances/NAME`.
std::string FormatDeleteOptions(const DeleteNodeMaintenanceParams& params);
/// Returns the same body for `DELETE .../devicetaintrules/NAME`.
std::string FormatDeleteOptions(const DeleteDeviceTaintRuleParams& params);

/// Returns the body of `POST .../nodemaintenances`. Values that are zero or false are written explicitly, because the
/// server's defaults differ. Timeouts are in whole seconds, from 0 to the 32-bit maximum.
std::string FormatNodeMaintenance(const CreateNodeMaintenanceParams& params);

/// Returns the merge patch of a NodeMaintenance, or of its status if `params` has conditions. The patch contains uid
/// and resourceVersion, like FormatNodePatch; lists are replaced as a whole.
std::string FormatNodeMaintenancePatch(const PatchNodeMaintenanceParams& params);

/// Returns the body of `POST .../devicetaintrules`, resource.k8s.io/v1. The rule does not block the deletion of its
/// owner, the Node.
std::string FormatDeviceTaintRule(const CreateDeviceTaintRuleParams& params);

/// Returns the merge patch of a DeviceTaintRule: uid and resourceVersion as in FormatNodePatch, and the effect.
std::string FormatDeviceTaintRulePatch(const PatchDeviceTaintRuleParams& params);

/// Returns the merge patch of a ConfigMap: uid and resourceVersion as in FormatNodePatch, and the keys of `data` that
/// change; removed keys are null.
std::string FormatConfigMapPatch(const PatchConfigMapParams& params);

/// Returns the namespace of an Event: the pod's namespace, or `default` for an Event on a node.
std::string EventNamespace(const RecordEventParams& params);

/// Returns the name of an Event, of at most 253 characters. The name consists of the object's name, `.`, the time in
/// nanoseconds since the epoch as 16 hex digits, and a hash of the content as 8 hex digits. Names sort by time, two
/// Events with the same time have different names, and an Event that is sent twice keeps its name. All Events of a
/// series have the first Event's name.
std::string EventName(const RecordEventParams& params);

/// Returns a core/v1 Event, written by `component`, with count 1 unless it belongs to a series. The message is
/// truncated to 1024 bytes. A time that is not finite is written as null.
std::string FormatEvent(const RecordEventParams& params, std::string_view component);

/// Returns the merge patch that updates the existing Event of a series with the latest message, time and count.
std::string FormatEventPatch(const RecordEventParams& params);

/// Returns the object as the API server would return it, reduced to the members that ParseObject reads. Reading the
/// text back yields an equal object if its times are whole seconds, its selector contains no `<` or `>`, and its `data`
/// is compact JSON.
///
/// For a Lease, or for the creation of a ConfigMap, this is also the body of the write; uid and version are left out if
/// they are empty. A Lease has all members, including zeros. Its duration is limited to the range from 0 to the 32-bit
/// maximum. Times keep whole microseconds, as six digits, and a time that is not finite is null.
template <typename T>
std::string FormatObject(const T& object);

template <typename T>
std::string FormatList(const ListPage<T>& page);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_WIRE_KUBERNETES_JSON_H_
