#include "ofed/ofed_director.h"

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "support/node_under_test.h"
#include "unit/wire/scripted_transport.h"

namespace driverupgrade::tests {
namespace {

using ofed_operator::OfedDirector;
using testing::FakeClock;
using testing::FakeCluster;

std::string Page(const std::string& upgrade) {
  return R"({"kind":"NicClusterPolicyList","metadata":{"resourceVersion":"70"},"items":[{"apiVersion":"mellanox.com/v1alpha1",)"
         R"("kind":"NicClusterPolicy","metadata":{"name":"nic-cluster-policy","uid":"u","resourceVersion":"1"},)"
         R"("spec":{"ofedDriver":{"upgradePolicy":)" +
         upgrade + "}}}]}";
}

struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster =
      std::make_shared<FakeCluster>(clock, testing::FakeClusterOptions{.watches_follow = false});
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  std::vector<std::string> log = {};
  OfedDirector director;

  explicit World(std::optional<UpgradePolicy> policy = std::nullopt, bool migrate = true,
                 examples::DriverDaemonSets daemon_sets = examples::DriverDaemonSets::kLeave)
      : director({.cluster = cluster, .objects = std::make_shared<const ObjectClient>(transport, "op")},
                 {.identity = Ofed(),
                  .ns = "net",
                  .driver_labels = Selector("nvidia.com/ofed-driver="),
                  .policy = std::move(policy),
                  .migrate = migrate,
                  .daemon_sets = daemon_sets,
                  .bell = std::make_shared<driverupgrade::Doorbell>(),
                  .log = [this](const LogRecord& record) { log.push_back(FormatLogfmt(record)); },
                  .clock = clock}) {}
};

TEST_CASE("the policy in the cluster takes effect, and only drains spare pods with the skip label") {
  World world;
  CHECK_FALSE(world.director.Wanted());
  CHECK(absl::IsUnavailable(world.director.Prepare({})));
  world.transport->Answer(200, Page(R"({"autoUpgrade":true,"safeLoad":true,"drain":{}})"));
  world.transport->AnswerLines({});
  world.transport->Answer(404, "404 page not found\n");
  world.director.Turn({});
  const auto wanted = world.director.Wanted();
  REQUIRE(wanted);
  REQUIRE(wanted->size() == 1);
  CHECK(wanted->front().policy.auto_upgrade);
  CHECK(wanted->front().policy.drain->pod_selector.ToString().find("nvidia.com/ofed-driver-upgrade-drain.skip") !=
        std::string::npos);
  CHECK(world.director.Prepare({}).ok());
  world.transport->Answer(200, Page("{}"));  // response to the condition's patch
  world.director.Work({}, nullptr, 0);
  CHECK(world.cluster->config_map("net", ofed_operator::kInitConfigMap).has_value());
  CHECK(world.transport->lines.back() ==
        "PATCH /apis/mellanox.com/v1alpha1/nicclusterpolicies/nic-cluster-policy/status?fieldManager=op");
}

TEST_CASE("status.state of a NicClusterPolicy is notReady while its nodes are in progress, and ready afterwards") {
  World world;
  world.transport->Answer(200, Page(R"({"autoUpgrade":true})"));
  world.transport->AnswerLines({});
  world.transport->Answer(404, "404 page not found\n");
  world.director.Turn({});
  REQUIRE(world.director.Wanted());
  const auto body_of_report = [&](const EngineProgress& progress) {
    world.transport->Answer(200, Page("{}"));
    world.director.OnProgress({{"", progress}});
    world.director.Work({}, nullptr, 0);
    return world.transport->requests.back().body;
  };
  CHECK(body_of_report({.totals = {.total = 2, .pending = 1, .done = 1}}).find(R"("state":"notReady")") !=
        std::string::npos);
  CHECK(body_of_report({.totals = {.total = 2, .pending = 1, .done = 1}, .left_out = 1}).find(R"("state":"ready")") !=
        std::string::npos);
}

TEST_CASE("a DaemonSet of the OFED driver that cannot be created is reported on its policy") {
  World world(std::nullopt, /*migrate=*/true, examples::DriverDaemonSets::kMake);
  world.transport->Answer(
      200,
      R"({"kind":"NicClusterPolicyList","metadata":{"resourceVersion":"70"},"items":[{"apiVersion":"mellanox.com/v1alpha1",)"
      R"("kind":"NicClusterPolicy","metadata":{"name":"nic-cluster-policy","uid":"u","resourceVersion":"1"},)"
      R"("spec":{"ofedDriver":{"image":"doca","version":"1","forcePrecompiled":true}}}]})");
  world.transport->AnswerLines({});
  world.transport->Answer(404, "404 page not found\n");
  world.director.Turn({});
  REQUIRE(world.director.Wanted());
  world.transport->Answer(200, Page("{}"));
  world.transport->Answer(201, R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"default"}})");
  world.director.Work({}, nullptr, 0);
  const std::string& told = world.transport->requests[world.transport->requests.size() - 2].body;
  CHECK(told.find(R"("reason":"DriverNotMade")") != std::string::npos);
  CHECK(told.find("spec.ofedDriver.forcePrecompiled is set") != std::string::npos);
  CHECK(told.find(R"("state":"notReady")") != std::string::npos);
}

TEST_CASE("a node whose driver pods have no policy causes a finding, unless a policy is invalid") {
  const bool understood = GENERATE(true, false);
  World world;
  testing::Fleet fleet = AddFleet(*world.cluster, {.node_count = 1, .workload = ""});
  const auto cache = *WatchCache::Create(
      world.cluster,
      {.drivers = {{.ns = fleet.ns, .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}})}},
       .clock = world.clock});
  world.transport->Answer(200, Page(understood ? "{}" : "7"));
  world.transport->AnswerLines({});
  world.transport->Answer(404, "404 page not found\n");
  world.director.Turn({});
  REQUIRE(world.director.Wanted());
  cache->Turn({});
  world.transport->Answer(200, Page("{}"));
  world.transport->Answer(201, R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"default"}})");
  world.director.Work({}, cache.get(), 0);
  REQUIRE(world.director.Findings().size() == (understood ? 1 : 0));
  if (understood) CHECK(world.director.Findings().front().code == FindingCode::kNoOwner);
}

TEST_CASE("without a policy, nodes are frozen but not released, and no configuration is written") {
  World world;
  world.transport->Answer(404, "404 page not found\n");
  world.transport->Answer(404, "404 page not found\n");
  world.director.Turn({});
  REQUIRE(world.director.Wanted());
  REQUIRE(world.director.Wanted()->size() == 1);
  CHECK_FALSE(world.director.Wanted()->front().policy.auto_upgrade);
  world.director.Work({}, nullptr, 0);
  CHECK_FALSE(world.cluster->config_map("net", ofed_operator::kInitConfigMap).has_value());
}

TEST_CASE("a NicNodePolicy reports that it is not accepted next to a NicClusterPolicy with a driver") {
  World world;
  world.transport->Answer(200, Page(R"({"autoUpgrade":true})"));
  world.transport->AnswerLines({});
  world.transport->Answer(
      200,
      R"({"kind":"NicNodePolicyList","metadata":{"resourceVersion":"70"},"items":[{"apiVersion":"mellanox.com/v1alpha1",)"
      R"("kind":"NicNodePolicy","metadata":{"name":"rack-1","uid":"n","resourceVersion":"1"},"spec":{"ofedDriver":{}}}]})");
  world.transport->AnswerLines({});
  CHECK_FALSE(world.director.Wanted());
  world.director.Turn({});
  REQUIRE(world.director.Wanted());
  CHECK(world.director.Wanted()->size() == 1);
  REQUIRE(world.director.Prepare({}).ok());
  world.transport->Answer(200, Page("{}"));  // responses to the patches of conditions
  world.transport->Answer(200, Page("{}"));
  world.transport->Answer(201, R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"default"}})");
  world.director.Work({}, nullptr, 0);
  const std::size_t last = world.transport->requests.size() - 1;
  CHECK(world.transport->lines[last - 1] ==
        "PATCH /apis/mellanox.com/v1alpha1/nicnodepolicies/rack-1/status?fieldManager=op");
  CHECK(world.transport->requests[last - 1].body.find("already has a driver for all nodes") != std::string::npos);
  CHECK(world.transport->lines[last] == "POST /api/v1/namespaces/default/events?fieldManager=op");
}

TEST_CASE(
    "a NicClusterPolicy with another name reports that it is ignored, and a deleted NicClusterPolicy releases its "
    "nodes") {
  World world;
  world.transport->Answer(
      200,
      R"({"kind":"NicClusterPolicyList","metadata":{"resourceVersion":"70"},"items":[{"apiVersion":"mellanox.com/v1alpha1",)"
      R"("kind":"NicClusterPolicy","metadata":{"name":"mine","uid":"u","resourceVersion":"1"},"spec":{"ofedDriver":{}}}]})");
  world.transport->AnswerLines({});
  world.transport->Answer(404, "404 page not found\n");
  CHECK(world.director.Gone().empty());
  world.director.Turn({});
  REQUIRE(world.director.Wanted());
  CHECK(world.director.Gone().size() == 1);
  CHECK(world.director.Wanted()->front().policy.frozen_because == "there is no policy with a driver");
  world.transport->Answer(200, Page("{}"));
  world.transport->Answer(201, R"({"kind":"Event","apiVersion":"v1","metadata":{"name":"e","namespace":"default"}})");
  world.director.Work({}, nullptr, 0);
  const std::size_t last = world.transport->requests.size() - 1;
  CHECK(world.transport->lines[last - 1] ==
        "PATCH /apis/mellanox.com/v1alpha1/nicclusterpolicies/mine/status?fieldManager=op");
  CHECK(world.transport->requests[last - 1].body.find(R"("state":"ignore")") != std::string::npos);
}

TEST_CASE("DISABLE_MIGRATION keeps the data of earlier versions, and with a policy file the cluster is not queried") {
  World world(UpgradePolicy{.auto_upgrade = true}, false);
  world.cluster->AddNode(
      testing::NodeBuilder("n1").WithAnnotation(ofed_operator::kLegacyStateAnnotation, "Done").Build());
  CHECK(world.director.Wanted()->front().policy.auto_upgrade);
  CHECK(world.director.Prepare({}).ok());
  CHECK(world.cluster->node("n1")->annotations.contains(ofed_operator::kLegacyStateAnnotation));
  CHECK(world.transport->lines.empty());
}

}  // namespace
}  // namespace driverupgrade::tests
