#include "simulation/wire/api_server.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/status_macros.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "simulation/wire/api_answer.h"
#include "simulation/wire/event_lines.h"

namespace driverupgrade::tests {
namespace {

using testing::WireSeam;

// Maximum number of pages that are kept for continue tokens. The limit is necessary because clients abandon some lists.
constexpr std::size_t kPagesMax = 200;

template <typename T>
absl::StatusOr<std::vector<T>> ListFrom(ClusterFacade& cluster, const CallContext& context, const ApiRequest& request) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const WatchParams wanted, SelectionOf(request));
  if constexpr (std::is_same_v<T, Node>) {
    return cluster.ListNodes(context, {.label_selector = wanted.label_selector});
  } else if constexpr (std::is_same_v<T, Pod>) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(std::string node, NodeNameOf(request));
    return cluster.ListPods(context,
                            {.ns = wanted.ns, .label_selector = wanted.label_selector, .node_name = std::move(node)});
  } else if constexpr (std::is_same_v<T, DaemonSet>) {
    return cluster.ListDaemonSets(context, {.ns = wanted.ns, .label_selector = wanted.label_selector});
  } else if constexpr (std::is_same_v<T, ControllerRevision>) {
    return cluster.ListControllerRevisions(context, {.ns = wanted.ns, .label_selector = wanted.label_selector});
  } else if constexpr (std::is_same_v<T, PodDisruptionBudget>) {
    return cluster.ListPodDisruptionBudgets(context, {.ns = wanted.ns});
  } else if constexpr (std::is_same_v<T, DeviceTaintRule>) {
    return cluster.ListDeviceTaintRules(context, {});
  } else if constexpr (std::is_same_v<T, ResourceClaim>) {
    return cluster.ListResourceClaims(context, {.ns = wanted.ns});
  } else if constexpr (std::is_same_v<T, ResourceSlice>) {
    DRIVERUPGRADE_ASSIGN_OR_RETURN(std::string node, NodeNameOf(request));
    return cluster.ListResourceSlices(context, {.node_name = std::move(node)});
  } else {
    return cluster.ListNodeMaintenances(context, {.ns = wanted.ns});
  }
}

template <typename T>
absl::Status WatchFrom(ClusterFacade& cluster, const CallContext& context, const WatchParams& params,
                       WatchSink<T>& sink) {
  if constexpr (std::is_same_v<T, Node>) {
    return cluster.WatchNodes(context, params, sink);
  } else if constexpr (std::is_same_v<T, Pod>) {
    return cluster.WatchPods(context, params, sink);
  } else if constexpr (std::is_same_v<T, DaemonSet>) {
    return cluster.WatchDaemonSets(context, params, sink);
  } else if constexpr (std::is_same_v<T, ControllerRevision>) {
    return cluster.WatchControllerRevisions(context, params, sink);
  } else if constexpr (std::is_same_v<T, DeviceTaintRule>) {
    return cluster.WatchDeviceTaintRules(context, params, sink);
  } else if constexpr (std::is_same_v<T, ResourceClaim>) {
    return cluster.WatchResourceClaims(context, params, sink);
  } else if constexpr (std::is_same_v<T, ResourceSlice>) {
    return cluster.WatchResourceSlices(context, params, sink);
  } else {
    return cluster.WatchNodeMaintenances(context, params, sink);
  }
}

}  // namespace

ApiServer::ApiServer(WireSeam seam)
    : seam_([&] {
        if (!seam.draw) seam.draw = [](int) { return 0; };
        if (!seam.breaks) seam.breaks = [] { return false; };
        if (!seam.unseen) seam.unseen = [](const std::function<void()>& read) { read(); };
        if (!seam.unanswered) seam.unanswered = [](const std::function<void()>& write) { write(); };
        if (!seam.swallowed) seam.swallowed = [](const auto&) {};
        if (!seam.on_trouble) seam.on_trouble = [] {};
        return std::move(seam);
      }()) {}

absl::StatusOr<ApiRequest> ApiServer::Receive(const HttpRequest& request) const {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(std::string target, EncodeRequestTarget(request));
  std::string body = request.body;
  if (seam_.change_request) seam_.change_request(target, body);
  DRIVERUPGRADE_ASSIGN_OR_RETURN(ApiRequest received, ParseRequest(request.verb, target));
  received.content_type = request.content_type;
  received.body = std::move(body);
  return received;
}

absl::StatusOr<HttpResponse> ApiServer::Send(const CallContext& context, const HttpRequest& request) {
  const absl::StatusOr<ApiRequest> received = Receive(request);
  if (!received.ok()) return AnswerOf(received.status(), seam_.draw);
  const bool read = received->verb == HttpVerb::kGet;
  // The first page of a list determines whether the list breaks. All other pages are served at the same moment, from
  // memory.
  const bool broken = received->Query("continue").empty() && seam_.breaks();
  // A proxy with a login page intercepts the request, so nothing reaches the server.
  Answer answer;
  const auto serve = [&] { answer = Serve(context, *received); };
  if (broken && !read && seam_.draw(4) == 0) {
    seam_.swallowed(serve);
    return Garble({.status = 200});
  }
  const std::size_t pages = pages_.size();
  if (read && (broken || received->Query("limit") == "1")) {
    seam_.unseen(serve);
  } else if (broken) {
    seam_.unanswered(serve);
  } else {
    serve();
  }
  // Either the list cannot be continued (api-A9), or the response is unreadable.
  const bool expires = broken && pages_.size() > pages && seam_.draw(2) == 0;
  if (expires) pages_.clear();
  if (answer.ok() && broken && !expires) answer = Garble(*std::move(answer));
  const bool arrived = answer.ok() && answer->status == 200 && !broken;
  if (read && received->name.empty() && !arrived) seam_.on_trouble();
  if (answer.ok() && seam_.change_answer) seam_.change_answer(answer->body);
  return answer;
}

HttpResponse ApiServer::Garble(HttpResponse answer) const {
  switch (answer.body.empty() ? 3 : seam_.draw(5)) {
    case 0: answer.body.resize(answer.body.size() / 2); return answer;
    case 1: return Success(R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"})");
    case 2: return Success(R"({"metadata":[],"items":7})");
    case 3: return Success("<!DOCTYPE html><html><body>Please log in</body></html>");
    default: return {.status = 302, .headers = {{"Location", "https://login.example.com/"}}};
  }
}

ApiServer::Answer ApiServer::Failed(const absl::Status& status) const { return AnswerOf(status, seam_.draw); }

template <typename T>
ApiServer::Answer ApiServer::ToAnswer(const absl::StatusOr<T>& object, int code) const {
  if (!object.ok()) return Failed(object.status());
  return Success(FormatObject(*object), code);
}

ApiServer::Answer ApiServer::Serve(const CallContext& context, const ApiRequest& request) {
  const bool collection = request.name.empty() && request.verb == HttpVerb::kGet;
  if (collection && !request.Query("continue").empty()) return ServeNext(request.Query("continue"));
  const std::string kind = request.group + "/" + request.resource;
  if (kind == "/api/v1/nodes") return collection ? ServeList<Node>(context, request) : ServeNode(context, request);
  if (kind == "/api/v1/pods") return collection ? ServeList<Pod>(context, request) : ServePod(context, request);
  if (kind == "/api/v1/configmaps") return ServeConfigMap(context, request);
  if (kind == "/api/v1/events") return ServeEvent(context, request);
  if (kind == "/apis/coordination.k8s.io/v1/leases") return ServeLease(context, request);
  if (kind == "/apis/maintenance.nvidia.com/v1alpha1/nodemaintenances") {
    return collection ? ServeList<NodeMaintenance>(context, request) : ServeMaintenance(context, request);
  }
  if (kind == "/apis/resource.k8s.io/v1/devicetaintrules") {
    return collection ? ServeList<DeviceTaintRule>(context, request) : ServeDeviceTaintRule(context, request);
  }
  if (collection && kind == "/apis/resource.k8s.io/v1/resourceclaims")
    return ServeList<ResourceClaim>(context, request);
  if (collection && kind == "/apis/resource.k8s.io/v1/resourceslices")
    return ServeList<ResourceSlice>(context, request);
  if (collection && kind == "/apis/apps/v1/daemonsets") return ServeList<DaemonSet>(context, request);
  if (collection && kind == "/apis/apps/v1/controllerrevisions") {
    return ServeList<ControllerRevision>(context, request);
  }
  if (collection && kind == "/apis/policy/v1/poddisruptionbudgets") {
    return ServeList<PodDisruptionBudget>(context, request);
  }
  return Failed(absl::NotFoundError("404 page not found"));
}

template <typename T>
ApiServer::Answer ApiServer::ServeList(const CallContext& context, const ApiRequest& request) {
  absl::StatusOr<std::vector<T>> all = ListFrom<T>(*seam_.cluster, context, request);
  if (!all.ok()) return Failed(all.status());
  const std::string version = seam_.list_version();
  const std::string limit = request.Query("limit");
  const std::size_t size =
      limit.empty() || limit == "0" ? std::max<std::size_t>(all->size(), 1) : std::strtoul(limit.c_str(), nullptr, 10);
  const std::size_t count = std::max<std::size_t>(1, (all->size() + size - 1) / size);
  const int list = ++lists_;
  const auto token = [&](std::size_t page) { return page < count ? fmt::format("list-{}/{}", list, page) : ""; };
  HttpResponse first;
  for (std::size_t page = 0; page < count; ++page) {
    const auto begin = all->begin() + static_cast<std::ptrdiff_t>(page * size);
    const auto end = all->begin() + static_cast<std::ptrdiff_t>(std::min(all->size(), (page + 1) * size));
    HttpResponse answer = Success(
        WithOtherOwners(FormatList(ListPage<T>{.items = {std::make_move_iterator(begin), std::make_move_iterator(end)},
                                               .continue_token = token(page + 1),
                                               .resource_version = version})));
    if (page == 0) {
      first = std::move(answer);
      // A client that lists a single object only to learn the version never requests the next page.
      if (limit == "1") break;
    } else {
      pages_.emplace_back(token(page), std::move(answer));
    }
  }
  while (pages_.size() > kPagesMax) pages_.pop_front();
  return first;
}

ApiServer::Answer ApiServer::ServeNext(const std::string& token) {
  const auto page = std::find_if(pages_.begin(), pages_.end(), [&](const auto& one) { return one.first == token; });
  if (page == pages_.end()) return Failed(absl::OutOfRangeError("410 The provided continue parameter is too old"));
  return page->second;
}

ApiServer::Answer ApiServer::ServeNode(const CallContext& context, const ApiRequest& request) {
  if (request.verb == HttpVerb::kGet) return ToAnswer(seam_.cluster->GetNode(context, {.name = request.name}));
  const absl::StatusOr<PatchNodeParams> params = NodePatchOf(request);
  if (!params.ok()) return Failed(params.status());
  const absl::StatusOr<Node> node = seam_.cluster->PatchNode(context, *params);
  if (absl::IsAborted(node.status())) {
    const absl::StatusOr<Node> found = seam_.cluster->GetNode({}, {.name = request.name});
    if (found.ok() && found->uid != params->uid) return OtherUidAnswer(std::string(node.status().message()));
  }
  return ToAnswer(node);
}

ApiServer::Answer ApiServer::Delete(const CallContext& context, const ApiRequest& request, const PodRef& pod) {
  const bool of_pod = request.resource == "pods";
  // The facade does not report whether the object to delete existed.
  std::optional<std::string> uid;
  if (const auto found = seam_.cluster->GetPod({}, {.ns = pod.ns, .name = pod.name}); of_pod && found.ok()) {
    uid = found->ref.uid;
  }
  const absl::Status status =
      of_pod ? seam_.cluster->DeletePod(context, {.pod = pod, .force = IsForced(request)})
             : seam_.cluster->DeleteNodeMaintenance(context, {.ns = pod.ns, .name = pod.name, .uid = pod.uid});
  if (!status.ok()) return Failed(status);
  if (of_pod && !uid) return GoneAnswer(false, fmt::format("pods \"{}\" not found", pod.name));
  if (uid && *uid != pod.uid) {
    return GoneAnswer(true, fmt::format("Operation cannot be fulfilled on Pod \"{}\": the UID in the precondition ({}) "
                                        "does not match the UID in record ({})",
                                        pod.name, pod.uid, *uid));
  }
  return Done();
}

ApiServer::Answer ApiServer::ServePod(const CallContext& context, const ApiRequest& request) {
  if (request.verb == HttpVerb::kGet) {
    return ToAnswer(seam_.cluster->GetPod(context, {.ns = request.ns, .name = request.name}));
  }
  const absl::StatusOr<std::string> uid = PreconditionOf(request);
  if (!uid.ok()) return Failed(uid.status());
  const PodRef pod{.ns = request.ns, .name = request.name, .uid = *uid};
  if (request.subresource.empty()) return Delete(context, request, pod);
  const absl::StatusOr<EvictionAnswer> answer = seam_.cluster->EvictPod(context, {.pod = pod});
  if (!answer.ok()) return Failed(answer.status());
  return AnswerOf(*answer, seam_.draw);
}

ApiServer::Answer ApiServer::ServeMaintenance(const CallContext& context, const ApiRequest& request) {
  ClusterFacade& cluster = *seam_.cluster;
  if (request.verb == HttpVerb::kGet) {
    return ToAnswer(cluster.GetNodeMaintenance(context, {.ns = request.ns, .name = request.name}));
  }
  if (request.verb == HttpVerb::kDelete) {
    const absl::StatusOr<std::string> uid = PreconditionOf(request);
    if (!uid.ok()) return Failed(uid.status());
    return Delete(context, request, {.ns = request.ns, .name = request.name, .uid = *uid});
  }
  if (request.verb == HttpVerb::kPost) {
    const absl::StatusOr<NodeMaintenance> object = ParseObject<NodeMaintenance>(request.body);
    if (!object.ok()) return Failed(object.status());
    return ToAnswer(cluster.CreateNodeMaintenance(context, {.object = *object}), 201);
  }
  const absl::StatusOr<PatchNodeMaintenanceParams> params = MaintenancePatchOf(request);
  if (!params.ok()) return Failed(params.status());
  return ToAnswer(cluster.PatchNodeMaintenance(context, *params));
}

ApiServer::Answer ApiServer::ServeDeviceTaintRule(const CallContext& context, const ApiRequest& request) {
  ClusterFacade& cluster = *seam_.cluster;
  if (request.verb == HttpVerb::kDelete) {
    const absl::StatusOr<std::string> uid = PreconditionOf(request);
    if (!uid.ok()) return Failed(uid.status());
    const absl::Status status = cluster.DeleteDeviceTaintRule(context, {.name = request.name, .uid = *uid});
    return status.ok() ? Done() : Failed(status);
  }
  if (request.verb == HttpVerb::kPost) {
    const absl::StatusOr<DeviceTaintRule> rule = ParseObject<DeviceTaintRule>(request.body);
    if (!rule.ok()) return Failed(rule.status());
    return ToAnswer(cluster.CreateDeviceTaintRule(context, {.object = *rule}), 201);
  }
  const absl::StatusOr<PatchDeviceTaintRuleParams> params = DeviceTaintRulePatchOf(request);
  if (!params.ok()) return Failed(params.status());
  return ToAnswer(cluster.PatchDeviceTaintRule(context, *params));
}

ApiServer::Answer ApiServer::ServeLease(const CallContext& context, const ApiRequest& request) {
  ClusterFacade& cluster = *seam_.cluster;
  if (request.verb == HttpVerb::kGet) {
    return ToAnswer(cluster.GetLease(context, {.ns = request.ns, .name = request.name}));
  }
  const absl::StatusOr<Lease> lease = ParseObject<Lease>(request.body);
  if (!lease.ok()) return Failed(lease.status());
  if (request.verb == HttpVerb::kPost) return ToAnswer(cluster.CreateLease(context, *lease), 201);
  return ToAnswer(cluster.UpdateLease(context, *lease));
}

ApiServer::Answer ApiServer::ServeConfigMap(const CallContext& context, const ApiRequest& request) {
  ClusterFacade& cluster = *seam_.cluster;
  if (request.verb == HttpVerb::kGet) {
    return ToAnswer(cluster.GetConfigMap(context, {.ns = request.ns, .name = request.name}));
  }
  if (request.verb == HttpVerb::kPost) {
    const absl::StatusOr<ConfigMap> config_map = ParseObject<ConfigMap>(request.body);
    if (!config_map.ok()) return Failed(config_map.status());
    return ToAnswer(cluster.CreateConfigMap(context, *config_map), 201);
  }
  const absl::StatusOr<PatchConfigMapParams> params = ConfigMapPatchOf(request);
  if (!params.ok()) return Failed(params.status());
  return ToAnswer(cluster.PatchConfigMap(context, *params));
}

ApiServer::Answer ApiServer::ServeEvent(const CallContext& context, const ApiRequest& request) {
  const absl::StatusOr<RecordEventParams> event = EventOf(request);
  if (!event.ok()) return Failed(event.status());
  const absl::Status status = seam_.cluster->RecordEvent(context, *event);
  if (!status.ok()) return Failed(status);
  return Success(request.body, 201);
}

absl::StatusOr<HttpResponse> ApiServer::Stream(const CallContext& context, const HttpRequest& request, LineSink& sink) {
  const absl::StatusOr<ApiRequest> received = Receive(request);
  if (!received.ok()) return AnswerOf(received.status(), seam_.draw);
  const std::string& resource = received->resource;
  if (resource == "nodes") return ServeWatch<Node>(context, *received, sink);
  if (resource == "pods") return ServeWatch<Pod>(context, *received, sink);
  if (resource == "daemonsets") return ServeWatch<DaemonSet>(context, *received, sink);
  if (resource == "controllerrevisions") return ServeWatch<ControllerRevision>(context, *received, sink);
  if (resource == "nodemaintenances") return ServeWatch<NodeMaintenance>(context, *received, sink);
  if (resource == "devicetaintrules") return ServeWatch<DeviceTaintRule>(context, *received, sink);
  if (resource == "resourceclaims") return ServeWatch<ResourceClaim>(context, *received, sink);
  if (resource == "resourceslices") return ServeWatch<ResourceSlice>(context, *received, sink);
  return Failed(absl::NotFoundError("404 page not found"));
}

template <typename T>
ApiServer::Answer ApiServer::ServeWatch(const CallContext& context, const ApiRequest& request, LineSink& sink) {
  absl::StatusOr<WatchParams> params = SelectionOf(request);
  if (!params.ok()) return Failed(params.status());
  params->timeout = absl::Seconds(std::strtol(request.Query("timeoutSeconds").c_str(), nullptr, 10));
  const bool breaks = seam_.breaks();
  if (breaks) seam_.on_trouble();
  EventLines<T> lines(seam_, sink, breaks ? seam_.draw(3) : -1);
  const absl::Status ended = WatchFrom(*seam_.cluster, context, *params, lines);
  if (!lines.broken().ok()) return lines.broken();
  if (ended.ok()) {
    lines.Open();
    return HttpResponse{.status = 200};
  }
  seam_.on_trouble();
  // The server reports an expired version either in the response status or in the first line (api-A16).
  if (absl::IsOutOfRange(ended) && (lines.open() || seam_.draw(2) == 0)) {
    lines.GiveError(ErrorLine(410, "Expired", std::string(ended.message())));
    return HttpResponse{.status = 200};
  }
  if (lines.open()) return absl::UnavailableError(ended.message());
  return Failed(ended);
}

}  // namespace driverupgrade::tests
