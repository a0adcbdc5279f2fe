#include "gpu/policy_director.h"

#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "support/node_under_test.h"
#include "unit/wire/scripted_transport.h"

namespace driverupgrade::tests {
namespace {

using gpu_operator::ClusterPolicyDirector;

std::string Policy(const std::string& upgrade, const std::string& version) {
  return R"({"apiVersion":"nvidia.com/v1","kind":"ClusterPolicy","metadata":{"name":"p","uid":"u",)"
         R"("generation":1,"resourceVersion":")" +
         version + R"("},"spec":{"driver":{"upgradePolicy":)" + upgrade + "}}}";
}

std::string Page(const std::string& items) {
  return R"({"kind":"ClusterPolicyList","metadata":{"resourceVersion":"70"},"items":[)" + items + "]}";
}

struct World {
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  std::vector<std::string> log = {};
  std::shared_ptr<testing::FakeClock> clock = std::make_shared<testing::FakeClock>();
  std::shared_ptr<testing::FakeCluster> cluster = std::make_shared<testing::FakeCluster>(clock);
  bool write_state = true;
  examples::DriverDaemonSets daemon_sets = examples::DriverDaemonSets::kLeave;
  ClusterPolicyDirector director{std::make_shared<const ObjectClient>(transport, "op"),
                                 cluster,
                                 {.identity = Gpu(),
                                  .labels = {.cluster_policy = LabelSelector::FromMatchLabels({{"app", "driver"}})},
                                  .write_state = write_state,
                                  .ns = "gpu",
                                  .daemon_sets = daemon_sets,
                                  .bell = std::make_shared<driverupgrade::Doorbell>(),
                                  .log = [this](const LogRecord& record) { log.push_back(FormatLogfmt(record)); },
                                  .clock = clock}};
};

TEST_CASE(
    "policy changes take effect, pods with the skip label stay, and no engine runs before both policy kinds are read") {
  World world;
  CHECK_FALSE(world.director.Wanted());
  world.transport->Answer(200, Page(Policy(R"({"autoUpgrade":true,"drain":{"enable":true}})", "1")));
  world.transport->AnswerLines({});
  world.transport->Answer(403, StatusBody(403, "Forbidden", "cannot list resource nvidiadrivers"));
  world.director.Turn({});
  CHECK_FALSE(world.director.Wanted());
  CHECK(absl::IsPermissionDenied(world.director.Ready()));
  CHECK(world.log.back().find("cannot list resource nvidiadrivers") != std::string::npos);

  world.transport->AnswerLines(
      {R"({"type":"MODIFIED","object":)" +
       Policy(R"({"autoUpgrade":true,"maxParallelUpgrades":4,"drain":{"enable":true}})", "71") + "}"});
  world.transport->Answer(404, "404 page not found\n");
  world.director.Turn({});
  const auto wanted = world.director.Wanted();
  REQUIRE(wanted);
  REQUIRE(wanted->size() == 1);
  CHECK(wanted->front().policy.max_parallel == 4);
  CHECK(wanted->front().policy.drain->pod_selector.ToString() == "nvidia.com/gpu-driver-upgrade-drain.skip!=true");
  CHECK(world.director.Ready().ok());
}

TEST_CASE("an invalid policy is reported in the status of its resource, and the last valid version stays in effect") {
  World world;
  world.transport->Answer(200, Page(Policy(R"({"autoUpgrade":true})", "1")));
  world.transport->AnswerLines(
      {R"({"type":"MODIFIED","object":)" + Policy(R"({"autoUpgrade":true,"maxUnavailable":"5"})", "71") + "}"});
  world.transport->Answer(404, "404 page not found\n");
  world.director.Turn({});
  REQUIRE(world.director.Wanted());
  // Both versions arrived between two checks, so the first version never took effect.
  CHECK_FALSE(world.director.Wanted()->front().policy.auto_upgrade);
  world.transport->Answer(200, Policy("{}", "72"));
  world.transport->Answer(201, R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"default"}})");
  world.director.Work({}, nullptr, 0);
  CHECK(world.transport->requests[world.transport->requests.size() - 2].body.find(
            "spec.driver.upgradePolicy: maxUnavailable") != std::string::npos);
  CHECK(world.transport->lines.back() == "POST /api/v1/namespaces/default/events?fieldManager=op");
}

TEST_CASE(
    "a second ClusterPolicy reports that it is not in effect, and failure to create an engine is reported with its "
    "reason") {
  World world;
  const std::string second =
      R"({"apiVersion":"nvidia.com/v1","kind":"ClusterPolicy","metadata":{"name":"q","uid":"v","generation":1,)"
      R"("resourceVersion":"2"},"spec":{}})";
  world.transport->Answer(200, Page(Policy(R"({"autoUpgrade":true})", "1") + "," + second));
  world.transport->AnswerLines({});
  world.transport->Answer(404, "404 page not found\n");
  world.director.Turn({});
  REQUIRE(world.director.Wanted());
  CHECK(world.director.Gone().empty());
  REQUIRE(world.director.OnRefused({{"", absl::InvalidArgumentError("no such Lease")}}).ok());
  const std::string event = R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"default"}})";
  world.transport->Answer(200, Policy("{}", "72"));
  world.transport->Answer(201, event);
  world.transport->Answer(200, Policy("{}", "73"));
  world.transport->Answer(201, event);
  world.director.Work({}, nullptr, 0);
  const std::size_t count = world.transport->requests.size();
  CHECK(world.transport->requests[count - 4].body.find("no such Lease") != std::string::npos);
  CHECK(world.transport->requests[count - 2].body.find(R"("state":"ignored")") != std::string::npos);
  CHECK(world.transport->requests[count - 2].body.find(R"("reason":"NotInEffect")") != std::string::npos);
}

// Returns the bodies of the status patches, in the order of the resources.
std::vector<std::string> Report(World& world, const std::map<std::string, EngineProgress>& progress, int resources) {
  for (int i = 0; i < resources; ++i) world.transport->Answer(200, Policy("{}", "80"));
  world.director.OnProgress(progress);
  const std::size_t before = world.transport->requests.size();
  world.director.Work({}, nullptr, 0);
  std::vector<std::string> bodies;
  for (std::size_t i = before; i < world.transport->requests.size(); ++i) {
    bodies.push_back(world.transport->requests[i].body);
  }
  return bodies;
}

bool Says(const std::string& body, const std::string& state) {
  return body.find(R"("state":")" + state + "\"") != std::string::npos;
}

constexpr EngineProgress kUnderWay{.totals = {.total = 2, .in_progress = 1, .done = 1}};
constexpr EngineProgress kOver{.totals = {.total = 2, .done = 2}};

TEST_CASE("a DaemonSet that cannot be created is reported on its policy, and status.state is notReady") {
  World world{.daemon_sets = examples::DriverDaemonSets::kMake};
  world.transport->Answer(
      200,
      Page(R"({"apiVersion":"nvidia.com/v1","kind":"ClusterPolicy","metadata":{"name":"p","uid":"u",)"
           R"("generation":1,"resourceVersion":"1"},"spec":{"driver":{"image":"driver","version":"550-ubuntu22.04",)"
           R"("upgradePolicy":{"autoUpgrade":true}}}})"));
  world.transport->AnswerLines({});
  world.transport->Answer(404, "404 page not found\n");
  world.director.Turn({});
  REQUIRE(world.director.Wanted());
  world.transport->Answer(403, StatusBody(403, "Forbidden", "cannot get resource daemonsets"));
  world.transport->Answer(200, Policy("{}", "72"));
  world.transport->Answer(201, R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"default"}})");
  world.director.Work({}, nullptr, 0);
  const std::string& told = world.transport->requests[world.transport->requests.size() - 2].body;
  CHECK(told.find(R"("reason":"DriverNotMade")") != std::string::npos);
  CHECK(told.find("cannot get resource daemonsets") != std::string::npos);
  CHECK(told.find(R"("state":"notReady")") != std::string::npos);
  CHECK(world.transport->requests.back().body.find("DriverNotMade") != std::string::npos);
}

TEST_CASE("status.state of a ClusterPolicy is notReady while its nodes are in progress, and ready afterwards") {
  World world{.write_state = GENERATE(true, false)};
  world.transport->Answer(200, Page(Policy(R"({"autoUpgrade":true})", "1")));
  world.transport->AnswerLines({});
  world.transport->Answer(404, "404 page not found\n");
  world.director.Turn({});
  REQUIRE(world.director.Wanted());
  const auto under_way = Report(world, {{"", kUnderWay}}, 1);
  REQUIRE(under_way.size() == 1);
  CHECK(Says(under_way[0], "notReady") == world.write_state);
  CHECK(under_way[0].find(R"("reason":"UnderWay")") != std::string::npos);
  const auto over = Report(world, {{"", kOver}}, 1);
  REQUIRE(over.size() == 1);
  CHECK(Says(over[0], "ready") == world.write_state);
}

TEST_CASE("status.state is set for each NVIDIADriver, and a ClusterPolicy is notReady while any NVIDIADriver is") {
  World world;
  const auto driver = [](const std::string& name) {
    return R"({"apiVersion":"nvidia.com/v1alpha1","kind":"NVIDIADriver","metadata":{"name":")" + name +
           R"(","uid":"u-)" + name + R"(","generation":1,"resourceVersion":"1"},"spec":{"nodeSelector":{"pool":")" +
           name + R"("}}})";
  };
  world.transport->Answer(
      200,
      Page(R"({"apiVersion":"nvidia.com/v1","kind":"ClusterPolicy","metadata":{"name":"p","uid":"u","generation":1,)"
           R"("resourceVersion":"1"},"spec":{"driver":{"useNvidiaDriverCRD":true}}})"));
  world.transport->AnswerLines({});
  world.transport->Answer(200, R"({"kind":"NVIDIADriverList","metadata":{"resourceVersion":"70"},"items":[)" +
                                   driver("a") + "," + driver("b") + "]}");
  world.transport->AnswerLines({});
  world.director.Turn({});
  REQUIRE(world.director.Wanted());
  REQUIRE(world.director.Wanted()->size() == 2);
  const std::string event = R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"default"}})";
  world.transport->Answer(200, Policy("{}", "80"));
  world.transport->Answer(201, event);  // the ClusterPolicy's upgradePolicy is not in effect
  const auto some = Report(world, {{"a", kOver}, {"b", kUnderWay}}, 2);
  REQUIRE(some.size() == 4);
  CHECK(Says(some[0], "notReady"));
  CHECK(Says(some[2], "ready"));
  CHECK(Says(some[3], "notReady"));
  world.transport->Answer(200, Policy("{}", "81"));
  const auto all = Report(world, {{"a", kOver}, {"b", kOver}}, 1);
  REQUIRE(all.size() >= 2);
  CHECK(Says(all[0], "ready"));
  CHECK(Says(all.back(), "ready"));
}

TEST_CASE("nodes without an owner are released once all owner labels are set, or immediately if there are no owners") {
  World world;
  world.cluster->AddNode({.name = "n", .labels = {{gpu_operator::kGpuPresentLabel, "true"}, {"pool", "a"}}});
  world.transport->Answer(404, "404 page not found\n");
  world.transport->Answer(
      200,
      R"({"kind":"NVIDIADriverList","metadata":{"resourceVersion":"70"},"items":[)"
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"NVIDIADriver","metadata":{"name":"a","uid":"u","generation":1,)"
      R"("resourceVersion":"1"},"spec":{"nodeSelector":{"pool":"a"}}}]})");
  world.transport->AnswerLines({});
  world.director.Turn({});
  REQUIRE(world.director.Wanted());
  // The node must not be released before it has its owner label.
  CHECK(world.director.Gone().empty());
  world.transport->Answer(200, Policy("{}", "80"));
  CHECK(world.director.Work({}, nullptr, 0) <= world.clock->Now());
  CHECK(world.cluster->node("n")->labels.at(gpu_operator::kOwnerLabel) == "a");
  REQUIRE(world.director.Gone().size() == 1);
  CHECK(world.director.Gone()[0].node_selector.ToString() == "nvidia.com/gpu-operator.driver.owner!=a");

  World nobody;
  nobody.transport->Answer(404, "404 page not found\n");
  nobody.transport->Answer(404, "404 page not found\n");
  nobody.director.Turn({});
  REQUIRE(nobody.director.Wanted());
  CHECK(nobody.director.Gone().size() == 1);
}

TEST_CASE(
    "W30: with --driver-daemonsets=Leave, a policy with an unused image names the component that creates DaemonSets") {
  World world;
  world.transport->Answer(
      200, Page(R"({"apiVersion":"nvidia.com/v1","kind":"ClusterPolicy","metadata":{"name":"p","uid":"u",)"
                R"("generation":1,"resourceVersion":"1"},"spec":{"driver":{"image":"driver","version":"510.85.02",)"
                R"("upgradePolicy":{"autoUpgrade":true}}}})"));
  world.transport->AnswerLines({});
  world.transport->Answer(404, "404 page not found\n");
  world.director.Turn({});
  REQUIRE(world.director.Wanted());
  world.clock->Advance(absl::Seconds(10));
  world.transport->Answer(
      200, R"({"kind":"DaemonSetList","apiVersion":"apps/v1","metadata":{"resourceVersion":"1"},"items":[)"
           R"({"metadata":{"name":"d","namespace":"gpu"},"spec":{"template":{"spec":{"containers":[)"
           R"({"name":"c","image":"nvcr.io/nvidia/driver:470.57.02-ubuntu22.04"}]}}}}]})");
  world.transport->Answer(200, Policy("{}", "72"));
  world.transport->Answer(201, R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"default"}})");
  world.director.Work({}, nullptr, 0);
  const std::string& told = world.transport->requests[world.transport->requests.size() - 2].body;
  CHECK(told.find(R"("reason":"DriverNotMade")") != std::string::npos);
  CHECK(told.find("has the image driver:510.85.02 (found: nvcr.io/nvidia/driver:470.57.02-ubuntu22.04)") !=
        std::string::npos);
  CHECK(Says(told, "notReady"));
  CHECK(world.transport->requests.back().body.find("--driver-daemonsets is Leave") != std::string::npos);
}

TEST_CASE("W32: NVIDIADrivers that select the same node are not ready, although every node has the newest driver") {
  World world;
  world.cluster->AddNode({.name = "n", .labels = {{gpu_operator::kGpuPresentLabel, "true"}}});
  const auto driver = [](const std::string& name) {
    return R"({"apiVersion":"nvidia.com/v1alpha1","kind":"NVIDIADriver","metadata":{"name":")" + name +
           R"(","uid":"u-)" + name + R"(","generation":1,"resourceVersion":"1"},"spec":{}})";
  };
  world.transport->Answer(404, "404 page not found\n");
  world.transport->Answer(200, R"({"kind":"NVIDIADriverList","metadata":{"resourceVersion":"70"},"items":[)" +
                                   driver("a") + "," + driver("b") + "]}");
  world.transport->AnswerLines({});
  world.director.Turn({});
  REQUIRE(world.director.Wanted());
  world.director.OnProgress({{"a", kOver}, {"b", kOver}});
  for (const char* version : {"80", "81"}) {
    world.transport->Answer(200, Policy("{}", version));
    world.transport->Answer(201, R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"default"}})");
  }
  const std::size_t before = world.transport->requests.size();
  world.director.Work({}, nullptr, 0);
  REQUIRE(world.transport->requests.size() == before + 4);
  for (const std::size_t patch : {before, before + 2}) {
    CHECK(Says(world.transport->requests[patch].body, "notReady"));
    CHECK(world.transport->requests[patch].body.find("node n also belongs to NVIDIADriver") != std::string::npos);
  }
}

}  // namespace
}  // namespace driverupgrade::tests
