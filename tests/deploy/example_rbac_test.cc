// Checks that the rbac.yaml of each tool and each init container grants exactly the permissions that its requests need.
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "deploy/rights.h"
#include "driver_manager/lookups.h"
#include "driver_manager/operand_labels.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/snapshot_builder.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "examples/operators/driver_manager/node_world.h"
#include "openshift_preflight/collect.h"
#include "safe_load_init/one_node_facade.h"
#include "safe_load_init/safe_load.h"
#include "support/catch.h"
#include "support/node_under_test.h"
#include "unit/wire/scripted_transport.h"

namespace driverupgrade::tests {
namespace {

using testing::FakeClock;
using testing::FakeCluster;

const std::filesystem::path kRoot = DRIVERUPGRADE_SOURCE_DIR;
const std::filesystem::path kOperators = kRoot / "examples/operators";

// Returns a fixed response for each object and each list, regardless of the query.
class Answers final : public HttpTransport {
 public:
  explicit Answers(std::map<std::string, std::string> answers) : answers_(std::move(answers)) {}
  absl::StatusOr<HttpResponse> Send(const CallContext&, const HttpRequest& request) override {
    const auto answer = answers_.find(request.path);
    if (answer == answers_.end()) return HttpResponse{.status = 404, .body = StatusBody(404, "NotFound", "not found")};
    return HttpResponse{.status = 200, .body = answer->second};
  }
  absl::StatusOr<HttpResponse> Stream(const CallContext&, const HttpRequest&, LineSink&) override {
    return HttpResponse{.status = 200};
  }

 private:
  const std::map<std::string, std::string> answers_;
};

std::string List(const std::string& kind, const std::string& items) {
  return R"({"kind":")" + kind + R"(List","metadata":{"resourceVersion":"9"},"items":[)" + items + "]}";
}

// rbac_test compares deploy/rbac/base with the requests that a controller with a Lease and a ledger sends.
TEST_CASE("examples/service/rbac.yaml grants the permissions of deploy/rbac/base except for claims") {
  Rights base;
  for (Right right : RightsOf(kRoot / "deploy/rbac/base", {"nvidia-gpu-driver-upgrade"})) {
    if (right.resource == "resourceclaims") continue;
    if (right.ns == "gpu-operator") right.ns = "fpga-operator";
    base.insert(right);
  }
  CHECK(RightsOfFile(kRoot / "examples/service/rbac.yaml", {"fpga-driver-upgrade"}) == base);
}

TEST_CASE("examples/operators/openshift_preflight/rbac.yaml grants the permissions that it needs, and nothing else") {
  const auto answers = std::make_shared<Answers>(std::map<std::string, std::string>{
      {"/apis/config.openshift.io/v1/clusterversions/version",
       R"({"kind":"ClusterVersion","metadata":{"name":"version","uid":"u","resourceVersion":"1"}})"},
      {"/apis/nvidia.com/v1/clusterpolicies", List("ClusterPolicy", "")},
      {"/api/v1/nodes", List("Node", "")},
      {"/api/v1/namespaces/nvidia-gpu-operator/pods",
       List("Pod", R"({"metadata":{"name":"p","namespace":"nvidia-gpu-operator","uid":"u","resourceVersion":"1"},)"
                   R"("spec":{"nodeName":"n","containers":[{"name":"nvidia-driver-ctr"}]}})")}});
  const auto noted = std::make_shared<Rights>();
  const ObjectClient objects(MakeNotingTransport(noted, answers));
  const auto facts = openshift_preflight::Collect({}, objects, {});
  INFO(facts.status().ToString());
  REQUIRE(facts.ok());
  CheckBothWays(
      RightsOfFile(kOperators / "openshift_preflight/rbac.yaml", {"version", "cluster", "driver-toolkit", "builder"}),
      *noted);
}

std::string NodeJson(const std::string& annotations) {
  return R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1","uid":"u","resourceVersion":"1","annotations":{)" +
         annotations + "}}}";
}

TEST_CASE("examples/operators/safe_load_init/rbac.yaml grants the permissions that it needs, and nothing else") {
  const auto transport = std::make_shared<ScriptedTransport>();
  const std::string waits = NodeJson(R"("wait":"true")");
  transport->Answer(200, R"({"kind":"ConfigMap","metadata":{"name":"ofed-init-container-config","uid":"u",)"
                         R"("namespace":"nvidia-network-operator","resourceVersion":"1"},"data":{"config.json":)"
                         R"("{\"safeDriverLoad\":{\"enable\":true,\"annotation\":\"wait\"}}"}})");
  transport->Answer(200, NodeJson(""));
  transport->Answer(200, waits);  // response to the patch
  transport->Answer(200, waits);
  transport->AnswerLines({R"({"type":"MODIFIED","object":)" + NodeJson("") + "}"});
  const auto noted = std::make_shared<Rights>();
  const std::shared_ptr<HttpTransport> noting = MakeNotingTransport(noted, transport);
  safe_load_init::OneNodeFacade cluster(MakeRestCluster(noting), noting, "n1");
  FakeClock clock;
  const absl::Status loaded = safe_load_init::AwaitSafeLoad(
      {.node_name = "n1", .configmap_ns = "nvidia-network-operator", .configmap_name = "ofed-init-container-config"},
      cluster, clock, [](const LogRecord&) {}, {});
  INFO(loaded.ToString());
  REQUIRE(loaded.ok());
  CheckBothWays(RightsOfFile(kOperators / "safe_load_init/rbac.yaml", {"ofed-init-container-config"}), *noted);
}

TEST_CASE("examples/operators/driver_manager/rbac.yaml grants the permissions that it needs, and nothing else") {
  driver_manager::NodeWorld world;
  world.cluster->EditNode(driver_manager::kNode,
                          [](Node& node) { node.labels[driver_manager::kClientLabel] = "true"; });
  Pod claims = testing::PodBuilder("team-b", "claims").OnNode(driver_manager::kNode).OwnedByStatefulSet("s").Build();
  claims.resource_claims = {"claim"};
  world.cluster->AddPod(claims);
  const auto noted = std::make_shared<Rights>();
  const driver_manager::Parts parts{
      .cluster = NoteRights(world.cluster, noted),
      .host = world.host,
      .clock = world.clock,
      .log = [](const LogRecord&) {},
      .lookups = driver_manager::MakeLookups(std::make_shared<const ObjectClient>(MakeNotingTransport(noted)))};
  const absl::Status done = driver_manager::UninstallDriver(world.settings, parts, {});
  INFO(done.ToString());
  REQUIRE(done.ok());
  CheckBothWays(RightsOfFile(kOperators / "driver_manager/rbac.yaml", {}),
                Everywhere(*noted, {"pods/eviction", "resourceclaims"}));
}

TEST_CASE("tools/upgradectl/rbac.yaml lets kubectl list the objects that a plan reads, and nothing else") {
  const auto noted = std::make_shared<Rights>();
  const auto cluster = std::make_shared<FakeCluster>(std::make_shared<FakeClock>());
  const testing::Fleet fleet = AddFleet(*cluster, {.node_count = 1});
  SnapshotBuilder builder(
      Gpu(), NoteRights(cluster, noted),
      {.ns = fleet.ns, .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}})},
      RequestorOptions{.id = "gpu.example.com", .ns = "default"});
  auto snapshot = builder.Build({});
  REQUIRE(snapshot.ok());
  builder.ReadPods({}, fleet.node_names, *snapshot);
  // `kubectl get -A` lists these objects in all namespaces.
  Rights everywhere = Everywhere(*noted, {"pods", "daemonsets", "controllerrevisions", "nodemaintenances"});
  // These objects are read only for pods with claims, or for a policy that isolates devices.
  for (const char* resource : {"resourceclaims", "resourceslices", "devicetaintrules"}) {
    everywhere.insert({.group = "resource.k8s.io", .resource = resource, .verb = "list"});
  }
  everywhere.insert({.group = "coordination.k8s.io", .resource = "leases", .verb = "list"});
  CheckBothWays(RightsOfFile(kRoot / "tools/upgradectl/rbac.yaml", {}, "driver-upgrade-dump"), everywhere);
}

}  // namespace
}  // namespace driverupgrade::tests
