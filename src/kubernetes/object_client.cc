#include "driverupgrade/kubernetes/object_client.h"

#include "base/status_macros.h"
#include "fmt/format.h"
#include "kubernetes/rest_answer.h"
#include "kubernetes/rest_caller.h"
#include "kubernetes/rest_path.h"

namespace driverupgrade {
namespace {

using internal::FailureOf;
using internal::IsSuccess;
using internal::Query;
using internal::RestCaller;
using internal::RestRequest;

// Objects per page of a list, same as client-go (api-A9).
constexpr int kPageSize = 500;

// Identifies one object or, with an empty name, the collection. For kinds known in advance, Place and Resource serve
// this purpose.
class Location {
 public:
  Location(std::string_view verb, const ObjectKind& kind, const ObjectName& name, std::string_view subresource = {})
      : kind_(kind), name_(name), subresource_(subresource) {
    attempted_ = fmt::format("{} {} {}", verb, kind.group_version, kind.resource);
    if (!name.name.empty()) attempted_ += kind.namespaced ? fmt::format(" {}/{}", name.ns, name.name) : " " + name.name;
    if (!subresource.empty()) attempted_ += fmt::format(" ({})", subresource);
    attempted_ = internal::Shown(attempted_);
  }

  absl::Status Check(bool collection) const {
    if (kind_.namespaced ? !collection && name_.ns.empty() : !name_.ns.empty()) {
      return internal::Refuse(attempted_, kind_.namespaced ? "no namespace given" : "the kind has no namespaces");
    }
    if (!collection) DRIVERUPGRADE_RETURN_IF_ERROR(Segment("name", name_.name));
    if (!name_.ns.empty()) DRIVERUPGRADE_RETURN_IF_ERROR(Segment("namespace", name_.ns));
    if (!subresource_.empty()) DRIVERUPGRADE_RETURN_IF_ERROR(Segment("subresource", subresource_));
    const std::size_t slash = kind_.group_version.find('/');
    DRIVERUPGRADE_RETURN_IF_ERROR(Segment("group", std::string_view(kind_.group_version).substr(0, slash)));
    if (slash != std::string::npos) {
      DRIVERUPGRADE_RETURN_IF_ERROR(Segment("version", std::string_view(kind_.group_version).substr(slash + 1)));
    }
    return Segment("resource", kind_.resource);
  }

  std::string CollectionPath() const {
    const bool core = kind_.group_version.find('/') == std::string::npos;
    const std::string group = fmt::format("{}/{}", core ? "/api" : "/apis", kind_.group_version);
    return internal::CollectionPath({.group = group, .name = kind_.resource, .in_words = {}}, name_.ns);
  }
  std::string Path() const {
    const std::string path = fmt::format("{}/{}", CollectionPath(), internal::EncodeSegment(name_.name));
    return subresource_.empty() ? path : fmt::format("{}/{}", path, subresource_);
  }

  // Adds the description of the attempted operation to `request`.
  RestRequest Request(HttpRequest request) const { return {attempted_, std::move(request)}; }
  // Returns the request for all objects that the query selects.
  RestRequest Collection(Query query) const { return Request({.path = CollectionPath(), .query = std::move(query)}); }

 private:
  absl::Status Segment(std::string_view what, std::string_view value) const {
    return internal::CheckSegment(attempted_, fmt::format("the {}", what), value);
  }

  const ObjectKind& kind_;
  const ObjectName& name_;
  const std::string_view subresource_;
  std::string attempted_;
};

Query QueryOf(const LabelSelector& labels) {
  return labels.empty() ? Query{} : Query{{"labelSelector", labels.ToString()}};
}

absl::StatusOr<ApiObject> SendForObject(const CallContext& context, const std::shared_ptr<HttpTransport>& transport,
                                        const RestRequest& request) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse response, RestCaller(transport, kPageSize).Send(context, request));
  return internal::DecodeObject<ApiObject>(request, response);
}

}  // namespace

ObjectClient::ObjectClient(std::shared_ptr<HttpTransport> transport, std::string field_manager)
    : transport_(std::move(transport)), field_manager_(std::move(field_manager)) {}

absl::StatusOr<ApiObject> ObjectClient::Get(const CallContext& context, const ObjectKind& kind,
                                            const ObjectName& name) const {
  const Location location("get", kind, name);
  DRIVERUPGRADE_RETURN_IF_ERROR(location.Check(/*collection=*/false));
  return SendForObject(context, transport_, location.Request({.path = location.Path()}));
}

absl::StatusOr<std::vector<ApiObject>> ObjectClient::List(const CallContext& context, const ObjectKind& kind,
                                                          const ListObjectsParams& params) const {
  const ObjectName name{.ns = params.ns};
  const Location location("list", kind, name);
  DRIVERUPGRADE_RETURN_IF_ERROR(location.Check(/*collection=*/true));
  if (params.label_selector == LabelSelector::Nothing()) return std::vector<ApiObject>();
  DRIVERUPGRADE_ASSIGN_OR_RETURN(
      ListPage<ApiObject> all,
      RestCaller(transport_, kPageSize)
          .List<ApiObject>(context, location.Collection(QueryOf(params.label_selector)), OnUnreadable::kFail));
  return std::move(all.items);
}

absl::Status ObjectClient::Watch(const CallContext& context, const ObjectKind& kind, const WatchParams& params,
                                 WatchSink<ApiObject>& sink) const {
  const ObjectName name{.ns = params.ns};
  const Location location("watch", kind, name);
  DRIVERUPGRADE_RETURN_IF_ERROR(location.Check(/*collection=*/true));
  if (params.label_selector == LabelSelector::Nothing()) {
    // The result of OnList does not matter, because the watch ends here either way.
    if (params.resource_version.empty()) (void)sink.OnList({}, "");
    return absl::OkStatus();
  }
  return RestCaller(transport_, kPageSize)
      .Watch(context, location.Collection(QueryOf(params.label_selector)), params, sink);
}

absl::Status ObjectClient::WatchOne(const CallContext& context, const ObjectKind& kind, const ObjectName& name,
                                    const WatchParams& params, WatchSink<ApiObject>& sink) const {
  const Location location("watch", kind, name);
  DRIVERUPGRADE_RETURN_IF_ERROR(location.Check(/*collection=*/false));
  const Query query = {{"fieldSelector", "metadata.name=" + internal::EscapeFieldValue(name.name)}};
  return RestCaller(transport_, kPageSize).Watch(context, location.Collection(query), params, sink);
}

absl::StatusOr<ApiObject> ObjectClient::Create(const CallContext& context, const ObjectKind& kind,
                                               const ObjectName& name, std::string json) const {
  const Location location("create", kind, name);
  DRIVERUPGRADE_RETURN_IF_ERROR(location.Check(/*collection=*/false));
  return SendForObject(context, transport_,
                       location.Request({.verb = HttpVerb::kPost,
                                         .path = location.CollectionPath(),
                                         .query = {{"fieldManager", field_manager_}},
                                         .body = std::move(json)}));
}

absl::StatusOr<ApiObject> ObjectClient::MergePatch(const CallContext& context, const ObjectKind& kind,
                                                   const ObjectName& name, std::string json,
                                                   std::string_view subresource) const {
  const Location location("patch", kind, name, subresource);
  DRIVERUPGRADE_RETURN_IF_ERROR(location.Check(/*collection=*/false));
  return SendForObject(context, transport_,
                       location.Request({.verb = HttpVerb::kPatch,
                                         .path = location.Path(),
                                         .query = {{"fieldManager", field_manager_}},
                                         .content_type = "application/merge-patch+json",
                                         .body = std::move(json)}));
}

absl::Status ObjectClient::Delete(const CallContext& context, const ObjectKind& kind, const ObjectName& name,
                                  std::string options_json) const {
  const Location location("delete", kind, name);
  DRIVERUPGRADE_RETURN_IF_ERROR(location.Check(/*collection=*/false));
  const RestRequest request =
      location.Request({.verb = HttpVerb::kDelete, .path = location.Path(), .body = std::move(options_json)});
  DRIVERUPGRADE_ASSIGN_OR_RETURN(const HttpResponse response, RestCaller(transport_, kPageSize).Send(context, request));
  return IsSuccess(response) ? absl::OkStatus() : FailureOf(request, response);
}

absl::StatusOr<std::string> ObjectClient::GetText(const CallContext& context, const ObjectKind& kind,
                                                  const ObjectName& name, std::string_view subresource,
                                                  const Query& query) const {
  const Location location("get", kind, name, subresource);
  DRIVERUPGRADE_RETURN_IF_ERROR(location.Check(/*collection=*/false));
  const RestRequest request = location.Request({.path = location.Path(), .query = query});
  DRIVERUPGRADE_ASSIGN_OR_RETURN(HttpResponse response, RestCaller(transport_, kPageSize).Send(context, request));
  if (!IsSuccess(response)) return FailureOf(request, response);
  return std::move(response.body);
}

}  // namespace driverupgrade
