#include "driverupgrade/kubernetes/rest_cluster.h"

#include <initializer_list>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "internal/quote.h"
#include "internal/status_macros.h"
#include "kubernetes/rest_cluster_status.h"
#include "wire/utf8.h"

namespace driverupgrade::inline v1 {
namespace {

using internal::FailureOf;
using internal::IsSuccess;
using internal::NotUnderstood;
using Query = std::vector<std::pair<std::string, std::string>>;

// A name of Kubernetes has at most 253 bytes; a selector or a wrong name may have any number.
constexpr std::size_t kShownBytesMax = 300;
// Five million objects at 500 a page: a server that goes on beyond this has lost its way.
constexpr int kPageCountMax = 10'000;
constexpr char kMergePatch[] = "application/merge-patch+json";

std::string Shown(std::string_view text) { return internal::EscapeForText(text, kShownBytesMax); }

absl::Status Refuse(std::string_view attempted, std::string_view why) {
  return MarkRequestNotSent(absl::InvalidArgumentError(fmt::format("{}: {}", attempted, why)));
}

// What may be a segment of a path (S11). `%` is refused because some proxies decode twice.
bool IsSegment(std::string_view text) {
  if (text.empty() || text == "." || text == ".." || text.size() > kShownBytesMax) return false;
  for (const char c : text) {
    if (c == '/' || c == '%' || static_cast<unsigned char>(c) <= 0x20 || c == 0x7F) return false;
  }
  return true;
}

struct Named {
  std::string_view what;
  std::string_view value;
};
absl::Status CheckSegments(std::string_view attempted, std::initializer_list<Named> names) {
  for (const Named& name : names) {
    if (!IsSegment(name.value))
      return Refuse(attempted, fmt::format("{} {} is not valid", name.what, internal::Quote(name.value)));
  }
  return absl::OkStatus();
}

// All but the unreserved characters of RFC 3986, of which names of Kubernetes are made.
std::string EncodeSegment(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool alphanumeric = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (alphanumeric || c == '-' || c == '.' || c == '_' || c == '~') {
      result += c;
    } else {
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return result;
}

// `/api/v1/namespaces/NS/pods`, or `/api/v1/pods` for all namespaces. `group`: "/api/v1".
std::string CollectionPath(std::string_view group, std::string_view ns, std::string_view resource) {
  if (ns.empty()) return fmt::format("{}/{}", group, resource);
  return fmt::format("{}/namespaces/{}/{}", group, EncodeSegment(ns), resource);
}

std::string PodPath(const PodRef& pod) {
  return CollectionPath("/api/v1", pod.ns, "pods") + "/" + EncodeSegment(pod.name);
}

constexpr char kMaintenanceGroup[] = "/apis/maintenance.nvidia.com/v1alpha1";
constexpr char kMaintenances[] = "nodemaintenances";

std::string MaintenancePath(std::string_view ns, std::string_view name) {
  return CollectionPath(kMaintenanceGroup, ns, kMaintenances) + "/" + EncodeSegment(name);
}

// "get node maintenance NS/NAME".
std::string MaintenanceAttempt(std::string_view verb, const std::string& ns, const std::string& name) {
  return fmt::format("{} node maintenance {}", verb, Shown(ns + "/" + name));
}

// S14.
std::string EscapeFieldValue(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\' || c == ',' || c == '=') result += '\\';
    result += c;
  }
  return result;
}

// " in namespace NS with labels SELECTOR": the end of what is attempted by a list.
std::string Scope(std::string_view ns, const LabelSelector& selector) {
  std::string text = ns.empty() ? std::string() : fmt::format(" in namespace {}", Shown(ns));
  if (!selector.empty()) text += fmt::format(" with labels {}", Shown(selector.ToString()));
  return text;
}

void AddLabelSelector(Query& query, const LabelSelector& selector) {
  if (!selector.empty()) query.emplace_back("labelSelector", selector.ToString());
}

class RestCluster final : public ClusterFacade {
 public:
  RestCluster(std::shared_ptr<HttpTransport> transport, RestClusterOptions options)
      : transport_(std::move(transport)), options_(std::move(options)) {}

  bool Supports(Operation) const override { return true; }

  absl::StatusOr<Node> GetNode(const CallContext& context, const GetNodeParams& params) override {
    const std::string attempted = fmt::format("get node {}", Shown(params.name));
    DRIVERUPGRADE_RETURN_IF_ERROR(CheckSegments(attempted, {{"the node's name", params.name}}));
    return Get<Node>(context, attempted, "/api/v1/nodes/" + EncodeSegment(params.name));
  }

  absl::StatusOr<Pod> GetPod(const CallContext& context, const GetPodParams& params) override {
    const PodRef pod{.ns = params.ns, .name = params.name};
    const std::string attempted = fmt::format("get pod {}", Shown(pod.ToString()));
    DRIVERUPGRADE_RETURN_IF_ERROR(CheckPodNames(attempted, pod));
    return Get<Pod>(context, attempted, PodPath(pod));
  }

  absl::StatusOr<std::vector<Node>> ListNodes(const CallContext& context, const ListNodesParams& params) override {
    return List<Node>(context, "list nodes" + Scope("", params.label_selector), "/api/v1/nodes", params.label_selector);
  }

  absl::StatusOr<std::vector<Pod>> ListPods(const CallContext& context, const ListPodsParams& params) override {
    std::string attempted = "list pods" + Scope(params.ns, params.label_selector);
    Query query;
    if (!params.node_name.empty()) {
      attempted += fmt::format(" on node {}", Shown(params.node_name));
      query.emplace_back("fieldSelector", "spec.nodeName=" + EscapeFieldValue(params.node_name));
    }
    return ListIn<Pod>(context, attempted, {"/api/v1", params.ns, "pods", /*all_allowed=*/true}, params.label_selector,
                       std::move(query));
  }

  absl::StatusOr<std::vector<DaemonSet>> ListDaemonSets(const CallContext& context,
                                                        const ListDaemonSetsParams& params) override {
    return ListIn<DaemonSet>(context, "list daemon sets" + Scope(params.ns, params.label_selector),
                             {"/apis/apps/v1", params.ns, "daemonsets"}, params.label_selector);
  }

  absl::StatusOr<std::vector<ControllerRevision>> ListControllerRevisions(
      const CallContext& context, const ListControllerRevisionsParams& params) override {
    return ListIn<ControllerRevision>(context, "list controller revisions" + Scope(params.ns, params.label_selector),
                                      {"/apis/apps/v1", params.ns, "controllerrevisions"}, params.label_selector);
  }

  absl::StatusOr<std::vector<PodDisruptionBudget>> ListPodDisruptionBudgets(
      const CallContext& context, const ListPodDisruptionBudgetsParams& params) override {
    return ListIn<PodDisruptionBudget>(context, "list pod disruption budgets" + Scope(params.ns, {}),
                                       {"/apis/policy/v1", params.ns, "poddisruptionbudgets", /*all_allowed=*/true},
                                       {});
  }

  absl::StatusOr<NodeMaintenance> GetNodeMaintenance(const CallContext& context,
                                                     const GetNodeMaintenanceParams& params) override {
    const std::string attempted = MaintenanceAttempt("get", params.ns, params.name);
    DRIVERUPGRADE_RETURN_IF_ERROR(CheckMaintenanceNames(attempted, params.ns, params.name));
    return Get<NodeMaintenance>(context, attempted, MaintenancePath(params.ns, params.name));
  }

  absl::StatusOr<std::vector<NodeMaintenance>> ListNodeMaintenances(const CallContext& context,
                                                                    const ListNodeMaintenancesParams& params) override {
    return ListIn<NodeMaintenance>(context, "list node maintenances" + Scope(params.ns, {}),
                                   {kMaintenanceGroup, params.ns, kMaintenances, /*all_allowed=*/true}, {});
  }

  absl::StatusOr<Node> PatchNode(const CallContext& context, const PatchNodeParams& params) override;
  absl::StatusOr<EvictionAnswer> EvictPod(const CallContext& context, const EvictPodParams& params) override;
  absl::Status DeletePod(const CallContext& context, const DeletePodParams& params) override;
  absl::StatusOr<NodeMaintenance> CreateNodeMaintenance(const CallContext& context,
                                                        const CreateNodeMaintenanceParams& params) override;
  absl::StatusOr<NodeMaintenance> PatchNodeMaintenance(const CallContext& context,
                                                       const PatchNodeMaintenanceParams& params) override;
  absl::Status DeleteNodeMaintenance(const CallContext& context, const DeleteNodeMaintenanceParams& params) override;
  absl::Status RecordEvent(const CallContext& context, const RecordEventParams& params) override;

 private:
  struct Collection {
    std::string_view group;
    std::string_view ns;
    std::string_view resource;
    /// Whether an empty namespace means all of them.
    bool all_allowed = false;
  };

  static absl::Status CheckPodNames(std::string_view attempted, const PodRef& pod) {
    return CheckSegments(attempted, {{"the namespace", pod.ns}, {"the pod's name", pod.name}});
  }

  static absl::Status CheckMaintenanceNames(std::string_view attempted, std::string_view ns, std::string_view name) {
    return CheckSegments(attempted, {{"the namespace", ns}, {"the node maintenance's name", name}});
  }

  absl::StatusOr<HttpResponse> Send(const CallContext& context, std::string_view attempted,
                                    const HttpRequest& request) {
    absl::StatusOr<HttpResponse> response = transport_->Send(context, request);
    if (!response.ok()) return internal::TransportFailure(attempted, response.status());
    return response;
  }

  template <typename T>
  absl::StatusOr<T> Get(const CallContext& context, std::string_view attempted, std::string path) {
    const HttpRequest request{.verb = HttpVerb::kGet, .path = std::move(path)};
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse response, Send(context, attempted, request));
    if (!IsSuccess(response)) return FailureOf(attempted, request.verb, response);
    absl::StatusOr<T> object = ParseObject<T>(response.body);
    if (!object.ok()) return NotUnderstood(attempted, object.status());
    return object;
  }

  template <typename T>
  absl::StatusOr<std::vector<T>> ListIn(const CallContext& context, std::string_view attempted,
                                        const Collection& collection, const LabelSelector& selector, Query query = {}) {
    if (!collection.ns.empty() || !collection.all_allowed) {
      DRIVERUPGRADE_RETURN_IF_ERROR(CheckSegments(attempted, {{"the namespace", collection.ns}}));
    }
    return List<T>(context, attempted, CollectionPath(collection.group, collection.ns, collection.resource), selector,
                   std::move(query));
  }

  template <typename T>
  absl::StatusOr<std::vector<T>> List(const CallContext& context, std::string_view attempted, std::string path,
                                      const LabelSelector& selector, Query query = {}) {
    if (selector == LabelSelector::Nothing()) return std::vector<T>();
    AddLabelSelector(query, selector);
    if (options_.page_size > 0) query.emplace_back("limit", std::to_string(options_.page_size));
    const HttpRequest request{.verb = HttpVerb::kGet, .path = std::move(path), .query = std::move(query)};
    bool expired = false;
    absl::StatusOr<std::vector<T>> items = ListOnce<T>(context, attempted, request, expired);
    if (expired) items = ListOnce<T>(context, attempted, request, expired);
    return items;
  }

  template <typename T>
  absl::StatusOr<std::vector<T>> ListOnce(const CallContext& context, std::string_view attempted,
                                          const HttpRequest& first, bool& expired);

  // `body` is a merge patch with uid and resourceVersion; those are given here to see that they are there.
  template <typename T>
  absl::StatusOr<T> Patch(const CallContext& context, std::string_view attempted, std::string path,
                          const std::string& uid, const std::string& resource_version, std::string body);

  absl::Status Delete(const CallContext& context, std::string_view attempted, std::string path, std::string body) {
    const HttpRequest request{.verb = HttpVerb::kDelete, .path = std::move(path), .body = std::move(body)};
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse response, Send(context, attempted, request));
    if (IsSuccess(response) || internal::SaysGone(response)) return absl::OkStatus();
    return FailureOf(attempted, request.verb, response);
  }

  const std::shared_ptr<HttpTransport> transport_;
  const RestClusterOptions options_;
};

// All pages of one snapshot (A8). Sets `expired` if the server has dropped the snapshot in between (A9).
template <typename T>
absl::StatusOr<std::vector<T>> RestCluster::ListOnce(const CallContext& context, std::string_view attempted,
                                                     const HttpRequest& first, bool& expired) {
  expired = false;
  std::vector<T> items;
  std::string token;
  for (int page_count = 1;; ++page_count) {
    HttpRequest request = first;
    if (!token.empty()) request.query.emplace_back("continue", token);
    DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse response, Send(context, attempted, request));
    if (!IsSuccess(response)) {
      expired = response.status == 410 && !token.empty();
      return FailureOf(attempted, request.verb, response);
    }
    absl::StatusOr<ListPage<T>> page = ParseList<T>(response.body);
    if (!page.ok()) return NotUnderstood(attempted, page.status());
    items.insert(items.end(), std::make_move_iterator(page->items.begin()), std::make_move_iterator(page->items.end()));
    if (page->continue_token.empty()) return items;
    if (page->continue_token == token || page_count == kPageCountMax) {
      return absl::UnavailableError(fmt::format("{}: the server's list has no end", attempted));
    }
    token = std::move(page->continue_token);
  }
}

template <typename T>
absl::StatusOr<T> RestCluster::Patch(const CallContext& context, std::string_view attempted, std::string path,
                                     const std::string& uid, const std::string& resource_version, std::string body) {
  if (uid.empty()) return Refuse(attempted, "no uid given");
  if (resource_version.empty()) return Refuse(attempted, "no resource version given");
  const HttpRequest request{.verb = HttpVerb::kPatch,
                            .path = std::move(path),
                            .query = {{"fieldManager", options_.field_manager}},
                            .content_type = kMergePatch,
                            .body = std::move(body)};
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse response, Send(context, attempted, request));
  if (!IsSuccess(response)) {
    absl::Status failure = FailureOf(attempted, request.verb, response);
    return internal::SaysOtherUid(response) ? absl::AbortedError(failure.message()) : failure;
  }
  absl::StatusOr<T> object = ParseObject<T>(response.body);
  if (!object.ok()) return NotUnderstood(attempted, object.status());
  return object;
}

absl::StatusOr<Node> RestCluster::PatchNode(const CallContext& context, const PatchNodeParams& params) {
  const std::string attempted = fmt::format("patch node {}", Shown(params.name));
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckSegments(attempted, {{"the node's name", params.name}}));
  return Patch<Node>(context, attempted, "/api/v1/nodes/" + EncodeSegment(params.name), params.uid,
                     params.resource_version, FormatNodePatch(params));
}

absl::StatusOr<EvictionAnswer> RestCluster::EvictPod(const CallContext& context, const EvictPodParams& params) {
  const std::string attempted = fmt::format("evict pod {}", Shown(params.pod.ToString()));
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckPodNames(attempted, params.pod));
  if (params.pod.uid.empty()) return Refuse(attempted, "no uid given");
  const HttpRequest request{
      .verb = HttpVerb::kPost, .path = PodPath(params.pod) + "/eviction", .body = FormatEviction(params)};
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse response, Send(context, attempted, request));
  return internal::EvictionAnswerOf(attempted, response);
}

absl::Status RestCluster::DeletePod(const CallContext& context, const DeletePodParams& params) {
  const std::string attempted = fmt::format("delete pod {}", Shown(params.pod.ToString()));
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckPodNames(attempted, params.pod));
  if (params.pod.uid.empty()) return Refuse(attempted, "no uid given");
  return Delete(context, attempted, PodPath(params.pod), FormatDeleteOptions(params));
}

absl::StatusOr<NodeMaintenance> RestCluster::CreateNodeMaintenance(const CallContext& context,
                                                                   const CreateNodeMaintenanceParams& params) {
  const NodeMaintenance& object = params.object;
  const std::string attempted = MaintenanceAttempt("create", object.ns, object.name);
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckMaintenanceNames(attempted, object.ns, object.name));
  const HttpRequest request{.verb = HttpVerb::kPost,
                            .path = CollectionPath(kMaintenanceGroup, object.ns, kMaintenances),
                            .query = {{"fieldManager", options_.field_manager}},
                            .body = FormatNodeMaintenance(params)};
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse response, Send(context, attempted, request));
  if (!IsSuccess(response)) return FailureOf(attempted, request.verb, response);
  absl::StatusOr<NodeMaintenance> created = ParseObject<NodeMaintenance>(response.body);
  if (!created.ok()) return NotUnderstood(attempted, created.status());
  return created;
}

absl::StatusOr<NodeMaintenance> RestCluster::PatchNodeMaintenance(const CallContext& context,
                                                                  const PatchNodeMaintenanceParams& params) {
  const std::string attempted = MaintenanceAttempt("patch", params.ns, params.name);
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckMaintenanceNames(attempted, params.ns, params.name));
  if (params.additional_requestors.has_value() == params.conditions.has_value()) {
    return Refuse(attempted, "either additional requestors or conditions must be given");
  }
  std::string path = MaintenancePath(params.ns, params.name);
  if (params.conditions.has_value()) path += "/status";
  return Patch<NodeMaintenance>(context, attempted, std::move(path), params.uid, params.resource_version,
                                FormatNodeMaintenancePatch(params));
}

absl::Status RestCluster::DeleteNodeMaintenance(const CallContext& context, const DeleteNodeMaintenanceParams& params) {
  const std::string attempted = MaintenanceAttempt("delete", params.ns, params.name);
  DRIVERUPGRADE_RETURN_IF_ERROR(CheckMaintenanceNames(attempted, params.ns, params.name));
  if (params.uid.empty()) return Refuse(attempted, "no uid given");
  return Delete(context, attempted, MaintenancePath(params.ns, params.name), FormatDeleteOptions(params));
}

absl::Status RestCluster::RecordEvent(const CallContext& context, const RecordEventParams& params) {
  const std::string about = params.pod.has_value() ? "pod " + params.pod->ToString() : "node " + params.node_name;
  const std::string attempted = fmt::format("record event {} on {}", Shown(params.reason), Shown(about));
  DRIVERUPGRADE_RETURN_IF_ERROR(params.pod.has_value()
                                    ? CheckPodNames(attempted, *params.pod)
                                    : CheckSegments(attempted, {{"the node's name", params.node_name}}));
  const HttpRequest request{.verb = HttpVerb::kPost,
                            .path = CollectionPath("/api/v1", EventNamespace(params), "events"),
                            .body = FormatEvent(params, options_.event_component)};
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse response, Send(context, attempted, request));
  if (IsSuccess(response)) return absl::OkStatus();
  absl::Status failure = FailureOf(attempted, request.verb, response);
  return absl::IsAlreadyExists(failure) ? absl::OkStatus() : failure;
}

}  // namespace

std::shared_ptr<ClusterFacade> MakeRestCluster(std::shared_ptr<HttpTransport> transport, RestClusterOptions options) {
  return std::make_shared<RestCluster>(std::move(transport), std::move(options));
}

}  // namespace driverupgrade::inline v1
