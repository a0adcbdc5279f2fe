#include "gpu/policy_director.h"

#include "driverupgrade/testing/fake_clock.h"
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
  std::shared_ptr<testing::FakeCluster> cluster =
      std::make_shared<testing::FakeCluster>(std::make_shared<testing::FakeClock>());
  ClusterPolicyDirector director{std::make_shared<const ObjectClient>(transport, "op"),
                                 cluster,
                                 {.identity = Gpu(),
                                  .labels = {.cluster_policy = LabelSelector::FromMatchLabels({{"app", "driver"}})},
                                  .bell = std::make_shared<driverupgrade::Doorbell>(),
                                  .log = [this](const LogRecord& record) { log.push_back(FormatLogfmt(record)); },
                                  .clock = std::make_shared<testing::FakeClock>()}};
};

TEST_CASE("policies are followed, pods with the skip label are spared, and nothing runs before both kinds are read") {
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

TEST_CASE("a policy that is not understood is told on the resource, and the last one goes on") {
  World world;
  world.transport->Answer(200, Page(Policy(R"({"autoUpgrade":true})", "1")));
  world.transport->AnswerLines(
      {R"({"type":"MODIFIED","object":)" + Policy(R"({"autoUpgrade":true,"maxUnavailable":"5"})", "71") + "}"});
  world.transport->Answer(404, "404 page not found\n");
  world.director.Turn({});
  REQUIRE(world.director.Wanted());
  // Both versions came between two looks: the first was never in effect.
  CHECK_FALSE(world.director.Wanted()->front().policy.auto_upgrade);
  world.transport->Answer(200, Policy("{}", "72"));
  world.transport->Answer(201, R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"default"}})");
  world.director.Work({}, nullptr, 0);
  CHECK(world.transport->requests[world.transport->requests.size() - 2].body.find(
            "spec.driver.upgradePolicy: maxUnavailable") != std::string::npos);
  CHECK(world.transport->lines.back() == "POST /api/v1/namespaces/default/events?fieldManager=op");
}

TEST_CASE("a second ClusterPolicy is told that it is not in effect, and an engine that cannot be made why") {
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

}  // namespace
}  // namespace driverupgrade::tests
