#include "driverupgrade/kubernetes/rest_cluster.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "kubernetes/rest_caller.h"
#include "kubernetes/rest_cluster_status.h"
#include "kubernetes/rest_path.h"

namespace driverupgrade::inline v1 {
namespace {

using internal::Attempt;
using internal::CheckNamespace;
using internal::CollectionPath;
using internal::FailureOf;
using internal::IsSuccess;
using internal::ObjectPath;
using internal::Place;
using internal::PlaceOf;
using internal::Query;
using internal::Refuse;
using internal::Resource;
using internal::Selection;

class RestCluster final : public ClusterFacade {
 public:
  RestCluster(std::shared_ptr<HttpTransport> transport, RestClusterOptions options)
      : caller_(std::move(transport), options.page_size), options_(std::move(options)) {}

  bool Supports(Operation) const override { return true; }

  absl::StatusOr<Node> GetNode(const CallContext& context, const GetNodeParams& params) override {
    return Get<Node>(context, {.resource = internal::kNodes, .name = params.name});
  }
  absl::StatusOr<Pod> GetPod(const CallContext& context, const GetPodParams& params) override {
    return Get<Pod>(context, {internal::kPods, params.ns, params.name});
  }
  absl::StatusOr<NodeMaintenance> GetNodeMaintenance(const CallContext& context,
                                                     const GetNodeMaintenanceParams& params) override {
    return Get<NodeMaintenance>(context, {internal::kMaintenances, params.ns, params.name});
  }
  absl::StatusOr<Lease> GetLease(const CallContext& context, const GetLeaseParams& params) override {
    return Get<Lease>(context, {internal::kLeases, params.ns, params.name});
  }
  absl::StatusOr<ConfigMap> GetConfigMap(const CallContext& context, const GetConfigMapParams& params) override {
    return Get<ConfigMap>(context, {internal::kConfigMaps, params.ns, params.name});
  }

  absl::StatusOr<std::vector<Node>> ListNodes(const CallContext& context, const ListNodesParams& params) override {
    return List<Node>(context, {.resource = internal::kNodes, .labels = params.label_selector}, params.on_unreadable);
  }
  absl::StatusOr<std::vector<Pod>> ListPods(const CallContext& context, const ListPodsParams& params) override {
    return List<Pod>(context, {internal::kPods, params.ns, params.label_selector, params.node_name},
                     params.on_unreadable);
  }
  absl::StatusOr<std::vector<DaemonSet>> ListDaemonSets(const CallContext& context,
                                                        const ListDaemonSetsParams& params) override {
    return ListInOne<DaemonSet>(context, {internal::kDaemonSets, params.ns, params.label_selector},
                                params.on_unreadable);
  }
  absl::StatusOr<std::vector<ControllerRevision>> ListControllerRevisions(
      const CallContext& context, const ListControllerRevisionsParams& params) override {
    return ListInOne<ControllerRevision>(context, {internal::kControllerRevisions, params.ns, params.label_selector},
                                         params.on_unreadable);
  }
  absl::StatusOr<std::vector<PodDisruptionBudget>> ListPodDisruptionBudgets(
      const CallContext& context, const ListPodDisruptionBudgetsParams& params) override {
    return List<PodDisruptionBudget>(context, {.resource = internal::kBudgets, .ns = params.ns}, OnUnreadable::kFail);
  }
  absl::StatusOr<std::vector<NodeMaintenance>> ListNodeMaintenances(const CallContext& context,
                                                                    const ListNodeMaintenancesParams& params) override {
    return List<NodeMaintenance>(context, {.resource = internal::kMaintenances, .ns = params.ns}, params.on_unreadable);
  }

  absl::Status WatchNodes(const CallContext& context, const WatchParams& params, WatchSink<Node>& sink) override {
    return Watch(context, {.resource = internal::kNodes, .labels = params.label_selector}, params, sink);
  }
  absl::Status WatchPods(const CallContext& context, const WatchParams& params, WatchSink<Pod>& sink) override {
    return Watch(context, {internal::kPods, params.ns, params.label_selector}, params, sink);
  }
  absl::Status WatchDaemonSets(const CallContext& context, const WatchParams& params,
                               WatchSink<DaemonSet>& sink) override {
    return Watch(context, {internal::kDaemonSets, params.ns, params.label_selector}, params, sink);
  }
  absl::Status WatchControllerRevisions(const CallContext& context, const WatchParams& params,
                                        WatchSink<ControllerRevision>& sink) override {
    return Watch(context, {internal::kControllerRevisions, params.ns, params.label_selector}, params, sink);
  }
  absl::Status WatchNodeMaintenances(const CallContext& context, const WatchParams& params,
                                     WatchSink<NodeMaintenance>& sink) override {
    return Watch(context, {internal::kMaintenances, params.ns, params.label_selector}, params, sink);
  }

  absl::StatusOr<Node> PatchNode(const CallContext& context, const PatchNodeParams& params) override {
    return Patch<Node>(context, {.resource = internal::kNodes, .name = params.name}, params, "",
                       FormatNodePatch(params));
  }
  absl::StatusOr<EvictionAnswer> EvictPod(const CallContext& context, const EvictPodParams& params) override;
  absl::Status DeletePod(const CallContext& context, const DeletePodParams& params) override {
    return Delete(context, PlaceOf(params.pod), params.pod.uid, FormatDeleteOptions(params));
  }

  absl::StatusOr<NodeMaintenance> CreateNodeMaintenance(const CallContext& context,
                                                        const CreateNodeMaintenanceParams& params) override {
    return Create<NodeMaintenance>(context, {internal::kMaintenances, params.object.ns, params.object.name},
                                   FormatNodeMaintenance(params));
  }
  absl::StatusOr<NodeMaintenance> PatchNodeMaintenance(const CallContext& context,
                                                       const PatchNodeMaintenanceParams& params) override;
  absl::Status DeleteNodeMaintenance(const CallContext& context, const DeleteNodeMaintenanceParams& params) override {
    return Delete(context, {internal::kMaintenances, params.ns, params.name}, params.uid, FormatDeleteOptions(params));
  }

  absl::StatusOr<Lease> CreateLease(const CallContext& context, const Lease& lease) override {
    return CreateNew(context, internal::kLeases, lease);
  }
  absl::StatusOr<Lease> UpdateLease(const CallContext& context, const Lease& lease) override;
  absl::StatusOr<ConfigMap> CreateConfigMap(const CallContext& context, const ConfigMap& config_map) override {
    return CreateNew(context, internal::kConfigMaps, config_map);
  }
  absl::StatusOr<ConfigMap> PatchConfigMap(const CallContext& context, const PatchConfigMapParams& params) override {
    return Patch<ConfigMap>(context, {internal::kConfigMaps, params.ns, params.name}, params, "",
                            FormatConfigMapPatch(params));
  }

  absl::Status RecordEvent(const CallContext& context, const RecordEventParams& params) override;

 private:
  template <typename T>
  absl::StatusOr<T> Get(const CallContext& context, const Place& place) const {
    const std::string attempted = Attempt("get", place);
    DRIVERUPGRADE_RETURN_IF_ERROR(Check(attempted, place));
    return caller_.SendForObject<T>(context, attempted, {.path = ObjectPath(place)});
  }

  template <typename T>
  absl::StatusOr<std::vector<T>> List(const CallContext& context, const Selection& selection,
                                      OnUnreadable on_unreadable) const {
    const std::string attempted = Attempt("list", selection);
    if (!selection.ns.empty()) DRIVERUPGRADE_RETURN_IF_ERROR(CheckNamespace(attempted, selection.ns));
    if (selection.labels == LabelSelector::Nothing()) return std::vector<T>();
    absl::StatusOr<ListPage<T>> all = caller_.List<T>(
        context, attempted, CollectionPath(selection.resource, selection.ns), QueryOf(selection), on_unreadable);
    if (!all.ok()) return all.status();
    return std::move(all->items);
  }

  // Where an empty namespace does not mean all of them.
  template <typename T>
  absl::StatusOr<std::vector<T>> ListInOne(const CallContext& context, const Selection& selection,
                                           OnUnreadable on_unreadable) const {
    DRIVERUPGRADE_RETURN_IF_ERROR(CheckNamespace(Attempt("list", selection), selection.ns));
    return List<T>(context, selection, on_unreadable);
  }

  template <typename T>
  absl::Status Watch(const CallContext& context, const Selection& selection, const WatchParams& params,
                     WatchSink<T>& sink) const {
    const std::string attempted = Attempt("watch", selection);
    if (!selection.ns.empty()) DRIVERUPGRADE_RETURN_IF_ERROR(CheckNamespace(attempted, selection.ns));
    if (selection.labels == LabelSelector::Nothing()) {
      // The answer is of no interest: it ends here either way.
      if (params.resource_version.empty()) (void)sink.OnList({}, "");
      return absl::OkStatus();
    }
    return caller_.Watch(context, attempted, CollectionPath(selection.resource, selection.ns), QueryOf(selection),
                         params, sink);
  }

  Query FieldManager() const { return {{"fieldManager", options_.field_manager}}; }

  // `body` is a merge patch with the UID and the version of `params`. `subresource`: "/status", or empty.
  template <typename T, typename Params>
  absl::StatusOr<T> Patch(const CallContext& context, const Place& place, const Params& params,
                          std::string_view subresource, std::string body) const {
    const std::string attempted = Attempt("patch", place);
    DRIVERUPGRADE_RETURN_IF_ERROR(Check(attempted, place));
    return caller_.SendChange<T>(context, attempted, params.uid, params.resource_version,
                                 {.verb = HttpVerb::kPatch,
                                  .path = fmt::format("{}{}", ObjectPath(place), subresource),
                                  .query = FieldManager(),
                                  .content_type = "application/merge-patch+json",
                                  .body = std::move(body)});
  }

  template <typename T>
  absl::StatusOr<T> Create(const CallContext& context, const Place& place, std::string body) const {
    const std::string attempted = Attempt("create", place);
    DRIVERUPGRADE_RETURN_IF_ERROR(Check(attempted, place));
    return caller_.SendForObject<T>(context, attempted,
                                    {.verb = HttpVerb::kPost,
                                     .path = CollectionPath(place.resource, place.ns),
                                     .query = FieldManager(),
                                     .body = std::move(body)});
  }

  // Lease and ConfigMap.
  template <typename T>
  absl::StatusOr<T> CreateNew(const CallContext& context, const Resource& resource, T object) const {
    object.uid.clear();
    object.resource_version.clear();
    return Create<T>(context, {resource, object.ns, object.name}, FormatObject(object));
  }

  absl::Status Delete(const CallContext& context, const Place& place, const std::string& uid, std::string body) const {
    const std::string attempted = Attempt("delete", place);
    DRIVERUPGRADE_RETURN_IF_ERROR(Check(attempted, place));
    if (uid.empty()) return Refuse(attempted, "no uid given");
    const HttpRequest request{.verb = HttpVerb::kDelete, .path = ObjectPath(place), .body = std::move(body)};
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse response, caller_.Send(context, attempted, request));
    if (IsSuccess(response) || internal::SaysGone(response)) return absl::OkStatus();
    return FailureOf(attempted, request.verb, response);
  }

  const internal::RestCaller caller_;
  const RestClusterOptions options_;
};

absl::StatusOr<Lease> RestCluster::UpdateLease(const CallContext& context, const Lease& lease) {
  const Place place{internal::kLeases, lease.ns, lease.name};
  const std::string attempted = Attempt("update", place);
  DRIVERUPGRADE_RETURN_IF_ERROR(Check(attempted, place));
  return caller_.SendChange<Lease>(
      context, attempted, lease.uid, lease.resource_version,
      {.verb = HttpVerb::kPut, .path = ObjectPath(place), .query = FieldManager(), .body = FormatObject(lease)});
}

absl::StatusOr<EvictionAnswer> RestCluster::EvictPod(const CallContext& context, const EvictPodParams& params) {
  const Place place = PlaceOf(params.pod);
  const std::string attempted = Attempt("evict", place);
  DRIVERUPGRADE_RETURN_IF_ERROR(Check(attempted, place));
  if (params.pod.uid.empty()) return Refuse(attempted, "no uid given");
  const HttpRequest request{
      .verb = HttpVerb::kPost, .path = ObjectPath(place) + "/eviction", .body = FormatEviction(params)};
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse response, caller_.Send(context, attempted, request));
  return internal::EvictionAnswerOf(attempted, response);
}

absl::StatusOr<NodeMaintenance> RestCluster::PatchNodeMaintenance(const CallContext& context,
                                                                  const PatchNodeMaintenanceParams& params) {
  const Place place{internal::kMaintenances, params.ns, params.name};
  if (params.additional_requestors.has_value() && params.conditions.has_value()) {
    return Refuse(Attempt("patch", place), "additional requestors and conditions are two patches");
  }
  return Patch<NodeMaintenance>(context, place, params, params.conditions.has_value() ? "/status" : "",
                                FormatNodeMaintenancePatch(params));
}

absl::Status RestCluster::RecordEvent(const CallContext& context, const RecordEventParams& params) {
  const Place about =
      params.pod.has_value() ? PlaceOf(*params.pod) : Place{.resource = internal::kNodes, .name = params.node_name};
  const std::string verb = fmt::format("record event {} on", internal::Shown(params.reason));
  const std::string attempted = Attempt(verb, about);
  DRIVERUPGRADE_RETURN_IF_ERROR(Check(attempted, about));
  const std::string ns = EventNamespace(params);
  if (params.series) {
    const std::string name = EventName(params);
    const HttpRequest patch{.verb = HttpVerb::kPatch,
                            .path = ObjectPath({internal::kEvents, ns, name}),
                            .content_type = "application/merge-patch+json",
                            .body = FormatEventPatch(params)};
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse patched, caller_.Send(context, attempted, patch));
    if (IsSuccess(patched)) return absl::OkStatus();
    // Events are kept for an hour or so, and the first of the series may never have been written.
    if (patched.status != 404) return FailureOf(attempted, patch.verb, patched);
  }
  const HttpRequest request{.verb = HttpVerb::kPost,
                            .path = CollectionPath(internal::kEvents, ns),
                            .body = FormatEvent(params, options_.event_component)};
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse response, caller_.Send(context, attempted, request));
  if (IsSuccess(response)) return absl::OkStatus();
  absl::Status failure = FailureOf(attempted, request.verb, response);
  return absl::IsAlreadyExists(failure) ? absl::OkStatus() : failure;
}

}  // namespace

std::shared_ptr<ClusterFacade> MakeRestCluster(std::shared_ptr<HttpTransport> transport, RestClusterOptions options) {
  return std::make_shared<RestCluster>(std::move(transport), std::move(options));
}

}  // namespace driverupgrade::inline v1
