// Tests one driver whose nodes have different owners. Each owner has its own policy, DaemonSet, and rollout, as with
// several NVIDIADrivers.
#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "c/engine_host.h"
#include "driverupgrade/policy_codec.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#include "simulation/wire/api_server.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

constexpr char kOwner[] = "example.com/owner";
constexpr char kNamespace[] = "driver-system";
constexpr std::string_view kOptions =
    R"({"identity":{"domain":"nvidia.com","driver":"gpu"},"namespace":"driver-system","driverLabels":"app=driver")";
constexpr std::string_view kLedger = R"(,"ledger":{"namespace":"driver-system","name":"driver-upgrades"})";
constexpr std::string_view kStages =
    R"({"autoUpgrade":true,"maxParallelUpgrades":0,"maxUnavailable":null,"drain":{"enable":true},"rollout":{"stages":[)"
    R"({"name":"canary","nodes":1,"soakSeconds":60,"approval":"Manual"}]}})";
constexpr std::string_view kAllAtOnce =
    R"({"autoUpgrade":true,"maxParallelUpgrades":0,"maxUnavailable":null,"drain":{"enable":true}})";

// Three nodes of each owner, and one engine for all nodes.
struct World {
  World() {
    for (const std::string owner : {"gold", "silver"}) {
      for (const char* number : {"-1", "-2", "-3"}) {
        nodes[owner].insert(owner + number);
        cluster->AddNode({.name = owner + number, .labels = {{kOwner, owner}}});
      }
      cluster->AddDaemonSet({.ns = kNamespace,
                             .name = "driver-" + owner,
                             .labels = {{"app", "driver"}},
                             .match_labels = {{"app", "driver"}, {"set", owner}},
                             .node_selector = {{kOwner, owner}},
                             .hash = owner + "-1"});
    }
  }
  std::unique_ptr<EngineHost> Host(std::string_view options = kLedger) {
    testing::WireSeam seam{.cluster = cluster};
    seam.list_version = [cluster = cluster] { return std::to_string(cluster->revision()); };
    return std::make_unique<EngineHost>(HostedDriver{.options = std::string(kOptions) + std::string(options) + "}",
                                                     .ns = kNamespace,
                                                     .driver_labels = "app=driver"},
                                        std::make_shared<ApiServer>(std::move(seam)), [this](const auto& send) {
                                          if (is_down) return HttpAnswer{.status = 503};
                                          const HttpAnswer answer = send();
                                          conflicts += answer.status == 409;
                                          return answer;
                                        });
  }
  // Runs passes for both owners, two seconds apart.
  void Run(EngineHost& host, absl::Duration time = absl::Minutes(10)) {
    for (absl::Duration passed; passed < time; passed += absl::Seconds(2)) {
      for (const auto& [owner, names] : nodes) {
        host.Pass(names, kStages, clock->Now(), owner);
        last[owner] = host.last();
      }
      cluster->Advance(absl::Seconds(2));
    }
  }
  void Approve(const std::string& owner, const std::string& approval) {
    cluster->EditDaemonSet(kNamespace, "driver-" + owner,
                           [&](DaemonSet& set) { set.annotations[identity.ApprovedAnnotation()] = approval; });
  }
  int NodesWith(const std::string& owner, std::string_view hash) const {
    const std::vector<Pod> pods = cluster->daemon_set_pods(kNamespace, "driver-" + owner);
    return static_cast<int>(
        std::count_if(pods.begin(), pods.end(), [&](const Pod& pod) { return RevisionHash(pod) == hash; }));
  }
  void SetTemplates() {
    for (const auto& [owner, names] : nodes) cluster->SetTemplate(kNamespace, "driver-" + owner, owner + "-2");
  }

  std::shared_ptr<testing::FakeClock> clock = std::make_shared<testing::FakeClock>();
  std::shared_ptr<testing::FakeCluster> cluster = std::make_shared<testing::FakeCluster>(clock);
  const DriverIdentity identity = *DriverIdentity::Create("nvidia.com", "gpu");
  std::map<std::string, std::set<std::string>> nodes = {};  // by owner
  std::map<std::string, std::string> last = {};             // result of the last pass, by owner
  int conflicts = 0;
  bool is_down = false;  // no write succeeds
};

TEST_CASE("Each owner has its own rollout through the C interface, with its own record and approval") {
  World world;
  const auto host = world.Host();
  world.Run(*host, absl::Minutes(1));
  world.SetTemplates();
  world.Run(*host);
  CHECK(world.NodesWith("gold", "gold-2") == 1);
  CHECK(world.NodesWith("silver", "silver-2") == 1);
  CHECK(world.last["gold"].find("waits for the approval canary@gold-2") != std::string::npos);
  CHECK(world.last["silver"].find("waits for the approval canary@silver-2") != std::string::npos);
  const std::string all = Call(du_engine_everything, host->engine()).text;
  for (const std::string owner : {"gold", "silver"}) {
    const std::size_t part = all.find(R"({"owner":")" + owner + R"(","totals":{"total":3,"pending":2,)");
    REQUIRE(part != std::string::npos);
    const std::string rest = all.substr(part);
    CHECK(rest.find(R"("waiting":{"Approval":2},"warnings":[],"rollout":{"revision":")" + owner + "-2") < 500);
  }
  const std::string page =
      Call(du_engine_rollout, host->engine(), Str("{}"), absl::ToUnixMillis(world.clock->Now())).text;
  CHECK(page.find(R"("name":"gold")") != std::string::npos);

  world.Approve("gold", "canary@gold-2");
  world.Run(*host);
  CHECK(world.NodesWith("gold", "gold-2") == 3);
  CHECK(world.NodesWith("silver", "silver-2") == 1);
  world.Approve("silver", "canary@silver-2");
  world.Run(*host);
  CHECK(world.NodesWith("silver", "silver-2") == 3);

  const auto ledger = world.cluster->config_map(kNamespace, "driver-upgrades");
  REQUIRE(ledger);
  for (const char* owner : {"gold", "silver"}) {
    CAPTURE(owner);
    CHECK(ledger->data.contains(std::string("_rollout_nvidia.com_gpu_") + owner));
    CHECK(ledger->data.contains(std::string("nvidia.com_gpu_") + owner));
  }
  CHECK_FALSE(ledger->data.contains("_rollout_nvidia.com_gpu"));
  CHECK(world.conflicts == 0);
}

TEST_CASE("A new driver of one owner does not start a new rollout of another owner") {
  World world;
  const auto host = world.Host();
  world.Run(*host, absl::Minutes(1));
  world.SetTemplates();
  world.Run(*host);
  world.cluster->SetTemplate(kNamespace, "driver-silver", "silver-3");
  world.Approve("gold", "canary@gold-2");
  world.Run(*host);
  CHECK(world.NodesWith("gold", "gold-2") == 3);
  CHECK(world.NodesWith("silver", "silver-3") == 1);
}

TEST_CASE("A native engine of one owner takes over in the middle of a stage, and a host can take over again") {
  World world;
  {
    const auto host = world.Host();
    world.Run(*host, absl::Minutes(1));
    world.SetTemplates();
    world.Run(*host);
  }
  const auto record = [&] {
    return world.cluster->config_map(kNamespace, "driver-upgrades")->data.at("_rollout_nvidia.com_gpu_gold");
  };
  const std::string before = record();
  EngineOptions options{.snapshot = {.ns = kNamespace,
                                     .driver_labels = LabelSelector::FromMatchLabels({{"app", "driver"}}),
                                     .node_selector = LabelSelector::FromMatchLabels({{kOwner, "gold"}})},
                        .clock = world.clock};
  options.ledger = AdmissionLedgerOptions{.ns = kNamespace, .name = "driver-upgrades", .owner = "gold"};
  options.executor.calls_in_flight = 1;
  const auto engine = *UpgradeEngine::Create(world.identity, world.cluster, options);
  const auto run = [&] {
    for (int pass = 0; pass < 300; ++pass) {
      REQUIRE(engine->Reconcile({}, *ParseUpgradePolicyJson(kStages)).ok());
      world.cluster->Advance(absl::Seconds(2));
    }
  };
  run();
  CHECK(record() == before);
  CHECK(world.NodesWith("gold", "gold-2") == 1);
  SECTION("the native engine finishes") {
    world.Approve("gold", "canary@gold-2");
    run();
  }
  SECTION("a host takes over again") {
    const auto host = world.Host();
    world.Run(*host);
    CHECK(world.NodesWith("gold", "gold-2") == 1);
    world.Approve("gold", "canary@gold-2");
    world.Run(*host);
  }
  CHECK(world.NodesWith("gold", "gold-2") == 3);
  CHECK(world.NodesWith("silver", "silver-2") == 1);
}

TEST_CASE("The owners of an engine share the limit parallelTotal") {
  World world;
  auto host = world.Host(R"(,"parallelTotal":2)");
  int most = 0;
  const auto run = [&](int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (const auto& [owner, names] : world.nodes) host->Pass(names, kAllAtOnce, world.clock->Now(), owner);
      int in_progress = 0;
      for (const Node& node : world.cluster->nodes()) {
        const auto label = node.labels.find(world.identity.StateLabel());
        const auto state = label == node.labels.end() ? std::nullopt : ParseUpgradeState(label->second);
        in_progress += state && IsInProgress(*state);
      }
      most = std::max(most, in_progress);
      world.cluster->Advance(absl::Seconds(2));
    }
  };
  run(10);
  world.SetTemplates();
  run(10);
  CHECK(most == 2);
  SECTION("a new engine counts nodes in progress before it knows their owners") {
    host = world.Host(R"(,"parallelTotal":2)");
  }
  run(300);
  CHECK(most == 2);
  CHECK(world.NodesWith("gold", "gold-2") == 3);
  CHECK(world.NodesWith("silver", "silver-2") == 3);
}

TEST_CASE("A part that the host has dropped releases its slots of parallelTotal once its nodes are done") {
  World world;
  const auto host = world.Host(R"(,"parallelTotal":1)");
  const auto run = [&](const std::string& owner, int rounds) {
    for (int round = 0; round < rounds; ++round) {
      host->Pass(world.nodes[owner], kAllAtOnce, world.clock->Now(), owner);
      world.cluster->Advance(absl::Seconds(2));
    }
  };
  run("gold", 5);
  run("silver", 5);
  world.SetTemplates();
  run("gold", 2);
  world.nodes["silver"].insert("gold-1");  // the other nodes of gold now belong to no part
  run("silver", 300);
  CHECK(world.NodesWith("gold", "gold-2") == 1);
  CHECK(world.NodesWith("silver", "silver-2") == 3);
}

TEST_CASE("An engine with parallelTotal does not ask for a pass while its ledger cannot be written") {
  World world;
  const auto host = world.Host(std::string(kLedger) + R"(,"parallelTotal":2)");
  world.Run(*host, absl::Minutes(1));
  world.SetTemplates();
  world.is_down = true;
  for (int round = 0; round < 5; ++round) {
    for (const auto& [owner, names] : world.nodes) {
      host->Pass(names, kStages, world.clock->Now(), owner);
      CHECK(host->wake_at() > world.clock->Now());
    }
    world.cluster->Advance(absl::Milliseconds(100));
  }
}

}  // namespace
}  // namespace driverupgrade::tests
