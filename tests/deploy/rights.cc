#include "deploy/rights.h"

#include <mutex>
#include <utility>
#include <vector>

#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "kubernetes/api_request.h"
#include "support/catch.h"
#include "yaml-cpp/yaml.h"

namespace driverupgrade::tests {
namespace {

// Records the permissions that requests require. If `next` is null, list requests return an empty list and watch
// requests return 200, so that watches can start. All other requests return 404.
class NotingTransport final : public HttpTransport {
 public:
  NotingTransport(std::shared_ptr<Rights> rights, std::shared_ptr<HttpTransport> next)
      : rights_(std::move(rights)), next_(std::move(next)) {}
  absl::StatusOr<HttpResponse> Send(const CallContext& context, const HttpRequest& request) override {
    const std::string verb = Note(request);
    if (next_) return next_->Send(context, request);
    if (verb != "list") return HttpResponse{.status = 404};
    return HttpResponse{.status = 200,
                        .body = R"({"kind": "AnyList", "metadata": {"resourceVersion": "1"}, "items": []})"};
  }
  absl::StatusOr<HttpResponse> Stream(const CallContext& context, const HttpRequest& request, LineSink& sink) override {
    Note(request);
    if (next_) return next_->Stream(context, request, sink);
    return HttpResponse{.status = 200};
  }

 private:
  std::string Note(const HttpRequest& request) {
    const internal::ApiRequest api = internal::ApiRequestOf(request);
    const std::lock_guard lock(mutex_);
    rights_->insert({.ns = api.ns, .group = api.group, .resource = api.resource, .verb = api.verb});
    return api.verb;
  }
  std::mutex mutex_;
  const std::shared_ptr<Rights> rights_;
  const std::shared_ptr<HttpTransport> next_;
};

template <typename T>
class NoSink final : public WatchSink<T> {
 public:
  bool OnList(std::vector<T>, std::string_view) override { return true; }
  bool OnChange(T, std::string_view) override { return true; }
  bool OnDelete(T, std::string_view) override { return true; }
  bool OnBookmark(std::string_view) override { return true; }
};

// Makes each call twice: first to a RestCluster whose transport only records the permissions, then to the next facade.
class NotingFacade final : public ForwardingFacade {
 public:
  NotingFacade(std::shared_ptr<ClusterFacade> next, std::shared_ptr<Rights> rights)
      : ForwardingFacade(std::move(next)),
        void_(MakeRestCluster(std::make_shared<NotingTransport>(std::move(rights), nullptr))) {}

#define DRIVERUPGRADE_NOTE(Result, Name, Params)                           \
  Result Name(const CallContext& context, const Params& params) override { \
    (void)void_->Name({}, params);                                         \
    return ForwardingFacade::Name(context, params);                        \
  }
#define DRIVERUPGRADE_NOTE_WATCH(Name, Kind)                                                                 \
  absl::Status Name(const CallContext& context, const WatchParams& params, WatchSink<Kind>& sink) override { \
    NoSink<Kind> nobody;                                                                                     \
    (void)void_->Name({}, params, nobody);                                                                   \
    return ForwardingFacade::Name(context, params, sink);                                                    \
  }
  DRIVERUPGRADE_NOTE(absl::StatusOr<Node>, GetNode, GetNodeParams)
  DRIVERUPGRADE_NOTE(absl::StatusOr<std::vector<Node>>, ListNodes, ListNodesParams)
  DRIVERUPGRADE_NOTE(absl::StatusOr<Pod>, GetPod, GetPodParams)
  DRIVERUPGRADE_NOTE(absl::StatusOr<std::vector<Pod>>, ListPods, ListPodsParams)
  DRIVERUPGRADE_NOTE(absl::StatusOr<std::vector<DaemonSet>>, ListDaemonSets, ListDaemonSetsParams)
  DRIVERUPGRADE_NOTE(absl::StatusOr<std::vector<ControllerRevision>>, ListControllerRevisions,
                     ListControllerRevisionsParams)
  DRIVERUPGRADE_NOTE(absl::StatusOr<std::vector<PodDisruptionBudget>>, ListPodDisruptionBudgets,
                     ListPodDisruptionBudgetsParams)
  DRIVERUPGRADE_NOTE(absl::StatusOr<NodeMaintenance>, GetNodeMaintenance, GetNodeMaintenanceParams)
  DRIVERUPGRADE_NOTE(absl::StatusOr<std::vector<NodeMaintenance>>, ListNodeMaintenances, ListNodeMaintenancesParams)
  DRIVERUPGRADE_NOTE_WATCH(WatchNodes, Node)
  DRIVERUPGRADE_NOTE_WATCH(WatchPods, Pod)
  DRIVERUPGRADE_NOTE_WATCH(WatchDaemonSets, DaemonSet)
  DRIVERUPGRADE_NOTE_WATCH(WatchControllerRevisions, ControllerRevision)
  DRIVERUPGRADE_NOTE_WATCH(WatchNodeMaintenances, NodeMaintenance)
  DRIVERUPGRADE_NOTE(absl::StatusOr<Lease>, GetLease, GetLeaseParams)
  DRIVERUPGRADE_NOTE(absl::StatusOr<ConfigMap>, GetConfigMap, GetConfigMapParams)
  DRIVERUPGRADE_NOTE(absl::StatusOr<Node>, PatchNode, PatchNodeParams)
  DRIVERUPGRADE_NOTE(absl::StatusOr<EvictionAnswer>, EvictPod, EvictPodParams)
  DRIVERUPGRADE_NOTE(absl::Status, DeletePod, DeletePodParams)
  DRIVERUPGRADE_NOTE(absl::StatusOr<NodeMaintenance>, CreateNodeMaintenance, CreateNodeMaintenanceParams)
  DRIVERUPGRADE_NOTE(absl::StatusOr<NodeMaintenance>, PatchNodeMaintenance, PatchNodeMaintenanceParams)
  DRIVERUPGRADE_NOTE(absl::Status, DeleteNodeMaintenance, DeleteNodeMaintenanceParams)
  DRIVERUPGRADE_NOTE(absl::StatusOr<Lease>, CreateLease, Lease)
  DRIVERUPGRADE_NOTE(absl::StatusOr<Lease>, UpdateLease, Lease)
  DRIVERUPGRADE_NOTE(absl::StatusOr<ConfigMap>, CreateConfigMap, ConfigMap)
  DRIVERUPGRADE_NOTE(absl::StatusOr<ConfigMap>, PatchConfigMap, PatchConfigMapParams)
  DRIVERUPGRADE_NOTE(absl::Status, RecordEvent, RecordEventParams)
#undef DRIVERUPGRADE_NOTE
#undef DRIVERUPGRADE_NOTE_WATCH

 private:
  const std::shared_ptr<ClusterFacade> void_;
};

void AddRule(const YAML::Node& rule, const std::string& ns, const std::set<std::string>& names, Rights& rights) {
  REQUIRE_FALSE(rule["nonResourceURLs"]);
  for (const YAML::Node& name : rule["resourceNames"]) CHECK(names.contains(name.as<std::string>()));
  for (const YAML::Node& group : rule["apiGroups"]) {
    for (const YAML::Node& resource : rule["resources"]) {
      for (const YAML::Node& verb : rule["verbs"]) {
        const Right right{ns, group.as<std::string>(), resource.as<std::string>(), verb.as<std::string>()};
        CAPTURE(right);
        CHECK((right.group + right.resource + right.verb).find('*') == std::string::npos);
        // A rule must not repeat what another rule grants.
        CHECK(rights.insert(right).second);
      }
    }
  }
}

// Adds the permissions of the Roles and ClusterRoles in the file to `rights`, or only those of the role named `role` if
// `role` is not empty.
void AddFile(const std::filesystem::path& file, const std::set<std::string>& names, Rights& rights,
             const std::string& role = "") {
  for (const YAML::Node& object : YAML::LoadAllFromFile(file.string())) {
    const auto kind = object["kind"].as<std::string>();
    if (kind != "Role" && kind != "ClusterRole") continue;
    if (!role.empty() && object["metadata"]["name"].as<std::string>() != role) continue;
    const std::string ns = kind == "Role" ? object["metadata"]["namespace"].as<std::string>() : "";
    for (const YAML::Node& rule : object["rules"]) AddRule(rule, ns, names, rights);
  }
}

}  // namespace

Rights RightsOf(const std::filesystem::path& folder, const std::set<std::string>& names) {
  Rights rights;
  for (const auto& file : std::filesystem::directory_iterator(folder)) AddFile(file.path(), names, rights);
  return rights;
}

Rights RightsOfFile(const std::filesystem::path& file, const std::set<std::string>& names, const std::string& role) {
  Rights rights;
  AddFile(file, names, rights, role);
  return rights;
}

void CheckBothWays(const Rights& given, const Rights& needed) {
  CHECK_FALSE(needed.empty());
  for (const Right& right : needed) {
    Right everywhere = right;
    everywhere.ns.clear();
    INFO("missing: " << right);
    CHECK((given.contains(right) || given.contains(everywhere)));
  }
  for (const Right& right : given) {
    INFO("surplus: " << right);
    CHECK(needed.contains(right));
  }
}

Rights Everywhere(const Rights& rights, const std::set<std::string>& resources) {
  Rights moved;
  for (Right right : rights) {
    if (resources.contains(right.resource)) right.ns.clear();
    moved.insert(right);
  }
  return moved;
}

std::shared_ptr<HttpTransport> MakeNotingTransport(std::shared_ptr<Rights> rights,
                                                   std::shared_ptr<HttpTransport> next) {
  return std::make_shared<NotingTransport>(std::move(rights), std::move(next));
}

std::shared_ptr<ClusterFacade> NoteRights(std::shared_ptr<ClusterFacade> next, std::shared_ptr<Rights> rights) {
  return std::make_shared<NotingFacade>(std::move(next), std::move(rights));
}

}  // namespace driverupgrade::tests
