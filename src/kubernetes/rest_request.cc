#include "kubernetes/rest_request.h"

#include "base/status_macros.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

constexpr char kMergePatch[] = "application/merge-patch+json";

// The body of a change must contain the UID and the resource version of the object.
absl::Status CheckPreconditions(std::string_view attempted, const std::string& uid,
                                const std::string& resource_version) {
  if (uid.empty()) return Refuse(attempted, "no uid given");
  if (resource_version.empty()) return Refuse(attempted, "no resource version given");
  return absl::OkStatus();
}

absl::StatusOr<RestRequest> Get(const Place& place) {
  std::string attempted = Attempt("get", place);
  DRIVERUPGRADE_RETURN_IF_ERROR(Check(attempted, place));
  return RestRequest{std::move(attempted), {.path = ObjectPath(place)}};
}

absl::StatusOr<RestRequest> Delete(const Place& place, const std::string& uid, std::string body) {
  std::string attempted = Attempt("delete", place);
  DRIVERUPGRADE_RETURN_IF_ERROR(Check(attempted, place));
  if (uid.empty()) return Refuse(attempted, "no uid given");
  return RestRequest{std::move(attempted),
                     {.verb = HttpVerb::kDelete, .path = ObjectPath(place), .body = std::move(body)}};
}

// Formats an object to create. Omits the UID and the version, because the server assigns them.
template <typename T>
std::string FormatNew(T object) {
  object.uid.clear();
  object.resource_version.clear();
  return FormatObject(object);
}

// Describes the attempt to record `event`. Returns an error if the name of the Event's object is not valid.
absl::StatusOr<std::string> AttemptOf(const RecordEventParams& event) {
  const Place about = event.pod ? PlaceOf(*event.pod) : Place{.resource = kNodes, .name = event.node_name};
  std::string attempted = Attempt(fmt::format("record event {} on", Shown(event.reason)), about);
  DRIVERUPGRADE_RETURN_IF_ERROR(Check(attempted, about));
  return attempted;
}

}  // namespace

Selection SelectionOf(const ListNodesParams& params) { return {.resource = kNodes, .labels = params.label_selector}; }

Selection SelectionOf(const ListPodsParams& params) {
  return {.resource = kPods, .ns = params.ns, .labels = params.label_selector, .node_name = params.node_name};
}

Selection SelectionOf(const ListDaemonSetsParams& params) {
  return {.resource = kDaemonSets, .ns = params.ns, .labels = params.label_selector, .in_one_namespace = true};
}

Selection SelectionOf(const ListControllerRevisionsParams& params) {
  return {.resource = kControllerRevisions, .ns = params.ns, .labels = params.label_selector, .in_one_namespace = true};
}

Selection SelectionOf(const ListPodDisruptionBudgetsParams& params) { return {.resource = kBudgets, .ns = params.ns}; }

Selection SelectionOf(const ListNodeMaintenancesParams& params) { return {.resource = kMaintenances, .ns = params.ns}; }

Selection SelectionOf(const ListDeviceTaintRulesParams&) { return {.resource = kDeviceTaintRules}; }

Selection SelectionOf(const ListResourceClaimsParams& params) { return {.resource = kResourceClaims, .ns = params.ns}; }

Selection SelectionOf(const ListResourceSlicesParams& params) {
  return {.resource = kResourceSlices, .node_name = params.node_name};
}

Selection SelectionOf(const Resource& resource, const WatchParams& params) {
  const std::string_view ns = resource.namespaced ? std::string_view(params.ns) : std::string_view();
  return {.resource = resource, .ns = ns, .labels = params.label_selector};
}

absl::StatusOr<RestRequest> EncodeCollection(std::string_view verb, const Selection& selection) {
  std::string attempted = Attempt(verb, selection);
  if (selection.in_one_namespace || !selection.ns.empty()) {
    DRIVERUPGRADE_RETURN_IF_ERROR(CheckNamespace(attempted, selection.ns));
  }
  return RestRequest{std::move(attempted),
                     {.path = CollectionPath(selection.resource, selection.ns), .query = QueryOf(selection)}};
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const GetNodeParams& params) const {
  return Get({.resource = kNodes, .name = params.name});
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const GetPodParams& params) const {
  return Get({kPods, params.ns, params.name});
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const GetNodeMaintenanceParams& params) const {
  return Get({kMaintenances, params.ns, params.name});
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const GetLeaseParams& params) const {
  return Get({kLeases, params.ns, params.name});
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const GetConfigMapParams& params) const {
  return Get({kConfigMaps, params.ns, params.name});
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const PatchNodeParams& params) const {
  return Patch({.resource = kNodes, .name = params.name}, params, "", FormatNodePatch(params));
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const EvictPodParams& params) const {
  const Place place = PlaceOf(params.pod);
  std::string attempted = Attempt("evict", place);
  DRIVERUPGRADE_RETURN_IF_ERROR(Check(attempted, place));
  if (params.pod.uid.empty()) return Refuse(attempted, "no uid given");
  return RestRequest{
      std::move(attempted),
      {.verb = HttpVerb::kPost, .path = ObjectPath(place) + "/eviction", .body = FormatEviction(params)}};
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const DeletePodParams& params) const {
  return Delete(PlaceOf(params.pod), params.pod.uid, FormatDeleteOptions(params));
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const CreateNodeMaintenanceParams& params) const {
  return Create({kMaintenances, params.object.ns, params.object.name}, FormatNodeMaintenance(params));
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const PatchNodeMaintenanceParams& params) const {
  const Place place{kMaintenances, params.ns, params.name};
  if (params.additional_requestors.has_value() && params.conditions.has_value()) {
    return Refuse(Attempt("patch", place), "additional requestors and conditions are two patches");
  }
  return Patch(place, params, params.conditions.has_value() ? "/status" : "", FormatNodeMaintenancePatch(params));
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const DeleteNodeMaintenanceParams& params) const {
  return Delete({kMaintenances, params.ns, params.name}, params.uid, FormatDeleteOptions(params));
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const CreateDeviceTaintRuleParams& params) const {
  const Place place{.resource = kDeviceTaintRules, .name = params.object.name};
  // A rule with an empty driver or pool could select the devices of the whole cluster.
  if (params.object.driver.empty() || params.object.pool.empty()) {
    return Refuse(Attempt("create", place), "no driver or no pool given");
  }
  return Create(place, FormatDeviceTaintRule(params));
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const PatchDeviceTaintRuleParams& params) const {
  return Patch({.resource = kDeviceTaintRules, .name = params.name}, params, "", FormatDeviceTaintRulePatch(params));
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const DeleteDeviceTaintRuleParams& params) const {
  return Delete({.resource = kDeviceTaintRules, .name = params.name}, params.uid, FormatDeleteOptions(params));
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const CreateLeaseParams& params) const {
  return Create({kLeases, params.lease.ns, params.lease.name}, FormatNew(params.lease));
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const UpdateLeaseParams& params) const {
  const Lease& lease = params.lease;
  const Place place{kLeases, lease.ns, lease.name};
  std::string attempted = Attempt("update", place);
  DRIVERUPGRADE_RETURN_IF_ERROR(Check(attempted, place));
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckPreconditions(attempted, lease.uid, lease.resource_version));
  return RestRequest{
      std::move(attempted),
      {.verb = HttpVerb::kPut, .path = ObjectPath(place), .query = FieldManager(), .body = FormatObject(lease)}};
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const CreateConfigMapParams& params) const {
  return Create({kConfigMaps, params.config_map.ns, params.config_map.name}, FormatNew(params.config_map));
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const PatchConfigMapParams& params) const {
  return Patch({kConfigMaps, params.ns, params.name}, params, "", FormatConfigMapPatch(params));
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const PatchEventParams& params) const {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(std::string attempted, AttemptOf(params.event));
  const std::string ns = EventNamespace(params.event);
  const std::string name = EventName(params.event);
  return RestRequest{std::move(attempted),
                     {.verb = HttpVerb::kPatch,
                      .path = ObjectPath({kEvents, ns, name}),
                      .content_type = kMergePatch,
                      .body = FormatEventPatch(params.event)}};
}

absl::StatusOr<RestRequest> RestEncoder::Encode(const CreateEventParams& params) const {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(std::string attempted, AttemptOf(params.event));
  return RestRequest{std::move(attempted),
                     {.verb = HttpVerb::kPost,
                      .path = CollectionPath(kEvents, EventNamespace(params.event)),
                      .body = FormatEvent(params.event, event_component_)}};
}

absl::StatusOr<RestRequest> RestEncoder::Create(const Place& place, std::string body) const {
  std::string attempted = Attempt("create", place);
  DRIVERUPGRADE_RETURN_IF_ERROR(Check(attempted, place));
  return RestRequest{std::move(attempted),
                     {.verb = HttpVerb::kPost,
                      .path = CollectionPath(place.resource, place.ns),
                      .query = FieldManager(),
                      .body = std::move(body)}};
}

template <typename Params>
absl::StatusOr<RestRequest> RestEncoder::Patch(const Place& place, const Params& params, std::string_view subresource,
                                               std::string body) const {
  std::string attempted = Attempt("patch", place);
  DRIVERUPGRADE_RETURN_IF_ERROR(Check(attempted, place));
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckPreconditions(attempted, params.uid, params.resource_version));
  return RestRequest{std::move(attempted),
                     {.verb = HttpVerb::kPatch,
                      .path = fmt::format("{}{}", ObjectPath(place), subresource),
                      .query = FieldManager(),
                      .content_type = kMergePatch,
                      .body = std::move(body)}};
}

}  // namespace driverupgrade::internal
