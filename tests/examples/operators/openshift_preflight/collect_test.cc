#include "openshift_preflight/collect.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "driverupgrade/kubernetes/http_transport.h"
#include "examples/operators/openshift_preflight/testdata.h"
#include "support/catch.h"
#include "unit/wire/scripted_transport.h"

namespace openshift_preflight {
namespace {

using driverupgrade::CallContext;
using driverupgrade::HttpRequest;
using driverupgrade::HttpResponse;
using driverupgrade::LineSink;
using driverupgrade::ObjectClient;
using driverupgrade::StatusBody;

constexpr char kVersions[] = "/apis/config.openshift.io/v1/clusterversions/version";
constexpr char kStream[] = "/apis/image.openshift.io/v1/namespaces/openshift/imagestreams/driver-toolkit";
constexpr char kPolicies[] = "/apis/nvidia.com/v1/clusterpolicies";
constexpr char kRegistry[] = "/apis/imageregistry.operator.openshift.io/v1/configs/cluster";
constexpr char kBuilder[] = "/api/v1/namespaces/nvidia-gpu-operator/serviceaccounts/builder";
constexpr char kNodesPath[] = "/api/v1/nodes";
constexpr char kPodsPath[] = "/api/v1/namespaces/nvidia-gpu-operator/pods";
constexpr char kPod[] = "nvidia-driver-daemonset-49.84.202111111343-0-6mpw4";

// A read-only API server with fixed responses. All other requests return 404.
class Pages final : public driverupgrade::HttpTransport {
 public:
  absl::StatusOr<HttpResponse> Send(const CallContext&, const HttpRequest& request) override {
    CHECK(request.verb == driverupgrade::HttpVerb::kGet);
    std::string name = request.path;
    for (const auto& [key, value] : request.query) {
      if (key == "container") name += "?" + value;
    }
    asked.push_back(name);
    const auto page = pages.find(name);
    if (page == pages.end()) return HttpResponse{.status = 404, .body = StatusBody(404, "NotFound", "not found")};
    return page->second;
  }
  absl::StatusOr<HttpResponse> Stream(const CallContext&, const HttpRequest&, LineSink&) override {
    return absl::InternalError("nothing is watched");
  }
  void Put(const std::string& path, std::string body) { pages[path] = {.status = 200, .body = std::move(body)}; }
  void Refuse(const std::string& path, int status, const std::string& reason) {
    pages[path] = {.status = status, .body = StatusBody(status, reason, "said the server")};
  }

  std::map<std::string, HttpResponse> pages;
  std::vector<std::string> asked;
};

std::string List(const std::string& kind, const std::string& api_version, const std::string& items) {
  return R"({"kind":")" + kind + R"(List","apiVersion":")" + api_version +
         R"(","metadata":{"resourceVersion":"9"},"items":[)" + items + "]}";
}

std::string Object(const std::string& kind, const std::string& api_version, const std::string& name,
                   const std::string& rest, const std::string& metadata = "") {
  return R"({"kind":")" + kind + R"(","apiVersion":")" + api_version + R"(","metadata":{"name":")" + name +
         R"(","uid":"u","resourceVersion":"1")" + metadata + "}," + rest + "}";
}

std::string NodeJson(const std::string& name, const std::string& os_image, const std::string& labels) {
  return Object(
      "Node", "v1", name,
      R"("status":{"nodeInfo":{"kernelVersion":"4.18.0-305.25.1.el8_4.x86_64","osImage":")" + os_image + R"("}})",
      R"(,"labels":{)" + labels + "}");
}

std::shared_ptr<Pages> Cluster() {
  auto pages = std::make_shared<Pages>();
  pages->Put(kVersions, Object("ClusterVersion", "config.openshift.io/v1", "version",
                               R"("status":{"desired":{"version":"4.9.9"},"history":[)"
                               R"({"state":"Partial","version":"4.9.9"},{"state":"Completed","version":"4.9.8"},)"
                               R"({"state":"Completed","version":"4.9.5"}]})"));
  pages->Put(kStream, TestData("imagestream-empty-tag.json"));
  pages->Put(kPolicies, List("ClusterPolicy", "nvidia.com/v1",
                             Object("ClusterPolicy", "nvidia.com/v1", "newer", R"("spec":{})",
                                    R"(,"creationTimestamp":"2026-02-01T00:00:00Z")") +
                                 "," +
                                 Object("ClusterPolicy", "nvidia.com/v1", "gpu-cluster-policy",
                                        R"("spec":{"operator":{"use_ocp_driver_toolkit":true},)"
                                        R"("driver":{"use_ocp_driver_toolkit":false}})",
                                        R"(,"creationTimestamp":"2026-01-01T00:00:00Z")")));
  pages->Put(kRegistry, Object("Config", "imageregistry.operator.openshift.io/v1", "cluster",
                               R"("spec":{"managementState":"Removed","storage":{"managementState":"Managed"}})"));
  pages->Put(kBuilder, Object("ServiceAccount", "v1", "builder", R"("secrets":[{"name":"builder-dockercfg-rnt7v"}])"));
  pages->Put(kNodesPath,
             List("Node", "v1",
                  NodeJson("cpu", "Red Hat Enterprise Linux CoreOS 49.84.202111111343-0 (Ootpa)", "") + "," +
                      NodeJson("gpu", "Red Hat Enterprise Linux CoreOS 49.84.202111111343-0 (Ootpa)",
                               R"("feature.node.kubernetes.io/pci-10de.present":"true")")));
  pages->Put(kPodsPath, List("Pod", "v1",
                             Object("Pod", "v1", kPod,
                                    R"("spec":{"nodeName":"gpu","containers":[{"name":"nvidia-driver-ctr"},)"
                                    R"({"name":"openshift-driver-toolkit-ctr"},{"name":"other"}]})")));
  const std::string log = std::string(kPodsPath) + "/" + kPod + "/log?";
  pages->Put(log + "openshift-driver-toolkit-ctr", TestData("toolkit.log"));
  pages->Put(log + "nvidia-driver-ctr", TestData("driver.log"));
  return pages;
}

absl::StatusOr<Facts> CollectFrom(const std::shared_ptr<Pages>& pages) { return Collect({}, ObjectClient(pages), {}); }

TEST_CASE("the facts are read from the resources of OpenShift") {
  const auto pages = Cluster();
  const absl::StatusOr<Facts> facts = CollectFrom(pages);
  REQUIRE(facts.ok());
  CHECK(facts->version->desired == "4.9.9");
  CHECK(facts->version->installed == "4.9.8");
  REQUIRE(facts->toolkit->tags.size() == 2);
  CHECK(facts->toolkit->tags[0].name == "");
  CHECK(facts->toolkit->tags[0].image.starts_with("quay.io/openshift-release-dev/"));
  CHECK(facts->policy->name == "gpu-cluster-policy");  // the older of two ClusterPolicies
  CHECK(facts->policy->operator_uses_toolkit == true);
  CHECK(facts->policy->driver_uses_toolkit == false);
  CHECK(facts->registry->management_state == "Removed");
  CHECK_FALSE(facts->registry->has_storage);
  CHECK(facts->has_builder_secret);
  REQUIRE(facts->nodes.size() == 1);
  CHECK(facts->nodes[0].name == "gpu");
  CHECK(facts->nodes[0].rhcos == "49.84.202111111343-0");
  REQUIRE(facts->pods.size() == 1);
  CHECK(facts->pods[0].node == "gpu");
  CHECK(facts->pods[0].toolkit_log == TestData("toolkit.log"));
  CHECK(facts->pods[0].driver_log == TestData("driver.log"));
  CHECK(facts->pods[0].unread.empty());
  for (const std::string& path : pages->asked) CHECK(path.find("secrets") == std::string::npos);
}

// According to NVIDIA's documentation for OpenShift 4.15, this is the symptom of a missing image registry: the pod
// shows `0/2 PodInitializing` after 69 s.
TEST_CASE("W32: a driver pod is stalled if its containers have not started a minute after its init containers ended") {
  const auto stalled = [](const std::string& init_state, const std::string& now) {
    const auto pages = Cluster();
    pages->Put(kPodsPath,
               List("Pod", "v1",
                    Object("Pod", "v1", "a",
                           R"("spec":{},"status":{"initContainerStatuses":[{"name":"i","state":{)" + init_state +
                               R"(}}],"containerStatuses":[{"name":"nvidia-driver-ctr",)"
                               R"("state":{"waiting":{"reason":"PodInitializing"}}}]})",
                           R"(,"creationTimestamp":"2026-01-01T00:00:00Z")")));
    CollectOptions options;
    std::string error;
    REQUIRE(absl::ParseTime(absl::RFC3339_full, now, &options.now, &error));
    const absl::StatusOr<Facts> facts = Collect({}, ObjectClient(pages), options);
    REQUIRE(facts.ok());
    return facts->pods.at(0).stalled;
  };
  const std::string ended = R"("terminated":{"finishedAt":"2026-01-01T00:05:00Z"})";
  CHECK(stalled(ended, "2026-01-01T00:06:09Z") == "container nvidia-driver-ctr: PodInitializing");
  CHECK(stalled(ended, "2026-01-01T00:05:30Z").empty());
  CHECK(stalled(R"("running":{"startedAt":"2026-01-01T00:00:05Z"})", "2026-01-01T01:00:00Z").empty());
}

TEST_CASE("machine config pools, node feature discovery and the wait reason of a pod are read") {
  const auto pages = Cluster();
  pages->Put(
      "/apis/machineconfiguration.openshift.io/v1/machineconfigpools",
      List("MachineConfigPool", "machineconfiguration.openshift.io/v1",
           Object("MachineConfigPool", "machineconfiguration.openshift.io/v1", "worker",
                  R"("spec":{"paused":true},"status":{"machineCount":3,"updatedMachineCount":1,)"
                  R"("conditions":[{"type":"Updating","status":"True"},{"type":"Degraded","status":"False"}]})")));
  pages->Put(kPodsPath, List("Pod", "v1",
                             Object("Pod", "v1", "a",
                                    R"("spec":{},"status":{"containerStatuses":[{"name":"nvidia-driver-ctr",)"
                                    R"("state":{"waiting":{"reason":"CrashLoopBackOff"}}}]})") +
                                 "," +
                                 Object("Pod", "v1", "b",
                                        R"("spec":{},"status":{"initContainerStatuses":[{"name":"i",)"
                                        R"("state":{"waiting":{"reason":"PodInitializing"}}}]})") +
                                 "," +
                                 Object("Pod", "v1", "c",
                                        R"("spec":{},"status":{"conditions":[{"type":"PodScheduled",)"
                                        R"("status":"False","reason":"Unschedulable","message":"no node"}]})")));
  const absl::StatusOr<Facts> facts = CollectFrom(pages);
  REQUIRE(facts.ok());
  CHECK(facts->has_nfd);
  REQUIRE(facts->pools.size() == 1);
  CHECK(facts->pools[0].updating);
  CHECK_FALSE(facts->pools[0].degraded);
  CHECK(facts->pools[0].paused);
  CHECK(facts->pools[0].updated == 1);
  REQUIRE(facts->pods.size() == 3);
  CHECK(facts->pods[0].stalled == "container nvidia-driver-ctr: CrashLoopBackOff");
  CHECK(facts->pods[1].stalled == "container i: PodInitializing");
  CHECK(facts->pods[2].stalled == "Unschedulable: no node");
  pages->Put(kNodesPath, List("Node", "v1", NodeJson("cpu", "x", "")));
  CHECK_FALSE(CollectFrom(pages)->has_nfd);
}

TEST_CASE("a cluster without a ClusterVersion is not OpenShift, and no other resource is queried") {
  const auto pages = std::make_shared<Pages>();
  const absl::StatusOr<Facts> facts = CollectFrom(pages);
  REQUIRE(facts.ok());
  CHECK_FALSE(facts->version.has_value());
  CHECK(pages->asked == std::vector<std::string>{kVersions});
}

TEST_CASE("missing objects result in empty facts, for example before the operator is installed") {
  const auto pages = Cluster();
  for (const char* path : {kStream, kPolicies, kRegistry, kBuilder, kPodsPath}) pages->pages.erase(path);
  pages->Put(kNodesPath, List("Node", "v1", NodeJson("a", "Red Hat Enterprise Linux 8.4 (Ootpa)", "")));
  const absl::StatusOr<Facts> facts = CollectFrom(pages);
  REQUIRE(facts.ok());
  CHECK_FALSE(facts->toolkit.has_value());
  CHECK_FALSE(facts->policy.has_value());
  CHECK_FALSE(facts->registry.has_value());
  CHECK_FALSE(facts->has_builder_secret);
  REQUIRE(facts->nodes.size() == 1);  // no node has the GPU label, so all nodes count
  CHECK(facts->nodes[0].rhcos == "");
  CHECK(facts->pods.empty());
}

TEST_CASE("a registry has storage if any kind of storage is configured") {
  for (const auto& [storage, has_storage] : std::map<std::string, bool>{
           {R"({"emptyDir":{}})", true}, {R"({"pvc":{"claim":"c"}})", true}, {"{}", false}, {"null", false}}) {
    const auto pages = Cluster();
    pages->Put(kRegistry, Object("Config", "imageregistry.operator.openshift.io/v1", "cluster",
                                 R"("spec":{"managementState":"Managed","storage":)" + storage + "}"));
    INFO(storage);
    CHECK(CollectFrom(pages)->registry->has_storage == has_storage);
  }
}

TEST_CASE("the error for a refused request names the resource") {
  for (const char* path : {kVersions, kStream, kPolicies, kRegistry, kBuilder, kNodesPath, kPodsPath}) {
    const auto pages = Cluster();
    pages->Refuse(path, 403, "Forbidden");
    const absl::StatusOr<Facts> facts = CollectFrom(pages);
    INFO(facts.status());
    CHECK(absl::IsPermissionDenied(facts.status()));
    CHECK(facts.status().message().find("said the server") != absl::string_view::npos);
    CHECK(pages->asked.back() == path);
  }
}

TEST_CASE("failure to read a log is reported, and the log of a container that has not started is empty") {
  const std::string log = std::string(kPodsPath) + "/" + kPod + "/log?";
  const auto pages = Cluster();
  pages->Refuse(log + "openshift-driver-toolkit-ctr", 500, "InternalError");
  pages->Refuse(log + "nvidia-driver-ctr", 400, "BadRequest");
  const absl::StatusOr<Facts> facts = CollectFrom(pages);
  REQUIRE(facts.ok());
  REQUIRE(facts->pods[0].unread.size() == 1);
  CHECK(facts->pods[0].unread[0].find(kPod) != std::string::npos);
  CHECK(facts->pods[0].driver_log.empty());
}

TEST_CASE("the version of RHCOS is read from the name of the system image, in the old and in the new format") {
  CHECK(RhcosVersion("Red Hat Enterprise Linux CoreOS 410.84.202203290245-0 (Ootpa)") == "410.84.202203290245-0");
  CHECK(RhcosVersion("Red Hat Enterprise Linux CoreOS 9.6.20250611-0 (Plow)") == "9.6.20250611-0");
  CHECK(RhcosVersion("Fedora CoreOS 38.20230902.3.0") == "");
  CHECK(RhcosVersion("Red Hat Enterprise Linux 8.4 (Ootpa)") == "");
  CHECK(RhcosVersion("Red Hat Enterprise Linux CoreOS ") == "");
  CHECK(RhcosVersion("") == "");
}

}  // namespace
}  // namespace openshift_preflight
