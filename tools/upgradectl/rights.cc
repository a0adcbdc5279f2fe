#include "upgradectl/rights.h"

#include <initializer_list>

#include "absl/time/clock.h"
#include "driverupgrade/wire/kubernetes_json.h"
#include "fmt/format.h"
#include "upgradectl/json_view.h"

namespace upgradectl {
namespace {

using driverupgrade::HttpRequest;
using driverupgrade::HttpResponse;
using driverupgrade::HttpVerb;
using driverupgrade::OnTimeout;

struct Rule {
  std::string_view group;
  // Resources, possibly with a subresource, such as "pods/eviction".
  std::initializer_list<std::string_view> resources;
  std::initializer_list<std::string_view> verbs;
  std::string name = {};
};

void Add(const std::string& ns, const Rule& rule, std::vector<NeededRight>& rights) {
  for (const std::string_view resource : rule.resources) {
    const std::size_t slash = resource.find('/');
    for (const std::string_view verb : rule.verbs) {
      rights.push_back({.ns = ns,
                        .group = std::string(rule.group),
                        .resource = std::string(resource.substr(0, slash)),
                        .subresource = std::string(slash == resource.npos ? "" : resource.substr(slash + 1)),
                        .verb = std::string(verb),
                        .name = rule.name});
    }
  }
}

// If the name of the Lease is unknown, it is assumed to be the name of the ledger. If the operator reports nothing,
// both names may be unknown.
void AddOperatorNamespace(const DriverPlace& place, std::vector<NeededRight>& rights) {
  const std::string& lease = place.lease.empty() ? place.ledger : place.lease;
  const std::string& lease_ns = place.lease.empty() ? place.ledger_ns : place.lease_ns;
  Add(lease_ns, {"coordination.k8s.io", {"leases"}, {"create"}}, rights);
  if (!lease.empty()) Add(lease_ns, {"coordination.k8s.io", {"leases"}, {"get", "update"}, lease}, rights);
  Add(place.ledger_ns, {"", {"configmaps"}, {"create"}}, rights);
  if (!place.ledger.empty()) Add(place.ledger_ns, {"", {"configmaps"}, {"get", "patch"}, place.ledger}, rights);
}

// Adds the permissions of deploy/rbac/base.
void AddBase(const DriverPlace& place, std::vector<NeededRight>& rights) {
  Add("", {"", {"nodes"}, {"list", "watch", "patch"}}, rights);
  Add("", {"", {"pods"}, {"list", "watch"}}, rights);
  Add("", {"", {"pods/eviction"}, {"create"}}, rights);
  Add("default", {"", {"events"}, {"create", "patch"}}, rights);
  Add(place.ns, {"apps", {"daemonsets", "controllerrevisions"}, {"list", "watch"}}, rights);
  Add(place.ns, {"", {"pods"}, {"delete"}}, rights);
  Add(place.ns, {"", {"events"}, {"create", "patch"}}, rights);
  AddOperatorNamespace(place, rights);
}

// Adds the permission to read claims, and the permissions of deploy/rbac/cluster-policy.
void AddGpu(std::vector<NeededRight>& rights) {
  Add("", {"resource.k8s.io", {"resourceclaims"}, {"get"}}, rights);
  Add("", {"nvidia.com", {"clusterpolicies", "nvidiadrivers"}, {"list", "watch"}}, rights);
  Add("", {"nvidia.com", {"clusterpolicies/status", "nvidiadrivers/status"}, {"patch"}}, rights);
}

// Adds the permissions of deploy/rbac/ofed.
void AddOfed(const DriverPlace& place, std::vector<NeededRight>& rights) {
  Add("", {"mellanox.com", {"nicclusterpolicies", "nicnodepolicies"}, {"list", "watch"}}, rights);
  Add("", {"mellanox.com", {"nicclusterpolicies/status", "nicnodepolicies/status"}, {"patch"}}, rights);
  Add(place.ns, {"apps", {"daemonsets"}, {"delete"}}, rights);
  Add(place.ns, {"", {"pods"}, {"patch"}}, rights);
  Add(place.ledger_ns, {"", {"configmaps"}, {"get", "patch"}, "ofed-init-container-config"}, rights);
}

// Adds the permissions of deploy/rbac/requestor.
void AddRequestor(const std::string& ns, std::vector<NeededRight>& rights) {
  constexpr std::string_view kGroup = "maintenance.nvidia.com";
  Add(ns, {kGroup, {"nodemaintenances"}, {"list", "watch", "create", "patch", "delete"}}, rights);
  Add(ns, {kGroup, {"nodemaintenances/status"}, {"patch"}}, rights);
}

bool DeletesOnTimeout(const driverupgrade::UpgradePolicy& policy) {
  return (policy.drain && policy.drain->on_timeout != OnTimeout::kFail) ||
         (policy.pod_deletion && policy.pod_deletion->on_timeout != OnTimeout::kFail);
}

// Returns true if the pods of gangs that may finish first get Events, in their own namespaces.
bool AnnouncesGangs(const driverupgrade::UpgradePolicy& policy) {
  if (!policy.rollout || !policy.rollout->gangs) return false;
  const driverupgrade::NodeGangs& gangs = *policy.rollout->gangs;
  return gangs.mode == driverupgrade::GangMode::kWhenDone || gangs.wait > absl::ZeroDuration();
}

HttpRequest Review(const NeededRight& right, const Account& account) {
  json::Document review(json::kObjectType);
  auto& allocator = review.GetAllocator();
  const auto text = [&](const std::string& value) { return json::Value(value, allocator); };
  json::Value attributes(json::kObjectType);
  attributes.AddMember("namespace", text(right.ns), allocator);
  attributes.AddMember("group", text(right.group), allocator);
  attributes.AddMember("resource", text(right.resource), allocator);
  attributes.AddMember("subresource", text(right.subresource), allocator);
  attributes.AddMember("verb", text(right.verb), allocator);
  attributes.AddMember("name", text(right.name), allocator);
  json::Value spec(json::kObjectType);
  spec.AddMember("resourceAttributes", attributes, allocator);
  if (!account.IsSelf()) {
    json::Value groups(json::kArrayType);
    groups.PushBack("system:serviceaccounts", allocator);
    groups.PushBack(text("system:serviceaccounts:" + account.ns), allocator);
    groups.PushBack("system:authenticated", allocator);
    spec.AddMember("user", text(fmt::format("system:serviceaccount:{}:{}", account.ns, account.name)), allocator);
    spec.AddMember("groups", groups, allocator);
  }
  review.AddMember("apiVersion", "authorization.k8s.io/v1", allocator);
  review.AddMember("kind", json::StringRef(account.IsSelf() ? "SelfSubjectAccessReview" : "SubjectAccessReview"),
                   allocator);
  review.AddMember("spec", spec, allocator);
  return {.verb = HttpVerb::kPost,
          .path = fmt::format("/apis/authorization.k8s.io/v1/{}subjectaccessreviews", account.IsSelf() ? "self" : ""),
          .content_type = "application/json",
          .body = Compact(review)};
}

absl::StatusOr<bool> IsAllowed(driverupgrade::HttpTransport& transport, const HttpRequest& review) {
  const absl::StatusOr<HttpResponse> answer = transport.Send({.deadline = absl::Now() + absl::Minutes(1)}, review);
  if (!answer.ok()) return answer.status();
  if (answer->status < 200 || answer->status >= 300) {
    const auto status = driverupgrade::ParseApiStatus(answer->body);
    return absl::PermissionDeniedError(
        fmt::format("create {}: {}: {}", review.path, answer->status,
                    status ? status->message : "the response is not from an API server"));
  }
  json::Document document;
  document.Parse<json::kParseIterativeFlag>(answer->body.data(), answer->body.size());
  const json::Value* allowed = document.HasParseError() ? nullptr : Find(document, {"status", "allowed"});
  return allowed != nullptr && allowed->IsBool() && allowed->GetBool();
}

}  // namespace

std::string NeededRight::ToString() const {
  std::string text = fmt::format("{} {}{}", verb, resource, group.empty() ? "" : "." + group);
  if (!subresource.empty()) text += "/" + subresource;
  if (!name.empty()) text += " " + name;
  return ns.empty() ? text : text + " in " + ns;
}

std::vector<NeededRight> RightsNeeded(const Request& request) {
  const driverupgrade::DriverIdentity& identity = request.question.identity;
  std::vector<NeededRight> rights;
  AddBase(request.place, rights);
  if (identity.Name() == "nvidia.com/gpu") AddGpu(rights);
  if (identity.Name() == "nvidia.com/ofed") AddOfed(request.place, rights);
  if (!request.place.requestor_ns.empty()) AddRequestor(request.place.requestor_ns, rights);
  // These are the permissions of deploy/rbac/on-timeout-delete.
  if (DeletesOnTimeout(request.question.policy)) {
    Add("", {"", {"pods"}, {"delete"}}, rights);
    Add("", {"", {"events"}, {"create", "patch"}}, rights);
  }
  // This is the permission of deploy/rbac/gangs.
  if (AnnouncesGangs(request.question.policy)) Add("", {"", {"events"}, {"create", "patch"}}, rights);
  return rights;
}

absl::StatusOr<Account> ParseAccount(std::string_view text) {
  if (text == "self") return Account{};
  const std::size_t slash = text.find('/');
  const bool whole = slash != std::string_view::npos && slash > 0 && slash + 1 < text.size() &&
                     text.find('/', slash + 1) == std::string_view::npos;
  if (whole) return Account{.ns = std::string(text.substr(0, slash)), .name = std::string(text.substr(slash + 1))};
  return absl::InvalidArgumentError(fmt::format("--rights: `{}` is neither self nor NAMESPACE/SERVICEACCOUNT", text));
}

absl::StatusOr<std::vector<std::string>> RightsMissing(driverupgrade::HttpTransport& transport,
                                                       const std::vector<NeededRight>& needed, const Account& account) {
  std::vector<std::string> missing;
  for (const NeededRight& right : needed) {
    const absl::StatusOr<bool> allowed = IsAllowed(transport, Review(right, account));
    if (!allowed.ok()) return allowed.status();
    if (!*allowed) missing.push_back(right.ToString());
  }
  return missing;
}

}  // namespace upgradectl
