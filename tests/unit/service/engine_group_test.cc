// Tests the engines of several owners, which share a cache and a limit.
#include "service/engine_group.h"

#include <set>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using internal::EngineGroup;
using testing::FakeClock;
using testing::FakeCluster;

constexpr char kOwner[] = "example.com/owner";

/// Owner a has node-1 to node-3, and owner b has node-4 to node-6. The limit of each owner allows all its nodes to be
/// in progress at the same time.
struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster =
      std::make_shared<FakeCluster>(clock, testing::FakeClusterOptions{.watches_follow = false});
  testing::Fleet fleet = AddFleet(*cluster, {.node_count = 6, .workload = ""});
  bool ledger = false;
  internal::FiguresByName figures = {};
  std::vector<std::string> log = {};
  std::unique_ptr<EngineGroup> group = nullptr;

  World() {
    for (int i = 1; i <= 6; ++i) {
      cluster->EditNode("node-" + std::to_string(i), [&](Node& node) { node.labels[kOwner] = i <= 3 ? "a" : "b"; });
    }
    cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  }
  std::vector<EngineSpec> Specs(const std::vector<std::string>& owners) const {
    std::vector<EngineSpec> specs;
    for (const std::string& owner : owners) {
      specs.push_back({.name = owner,
                       .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}}),
                       .node_selector = LabelSelector::FromMatchLabels({{kOwner, owner}}),
                       .policy = {.auto_upgrade = true, .max_parallel = 3}});
    }
    return specs;
  }
  void Run(const std::vector<std::string>& owners, std::optional<int> total) {
    EngineOptions engine{.snapshot = {.ns = fleet.ns}};
    if (ledger) engine.ledger = {.ns = fleet.ns, .name = "lock"};
    engine.executor.calls_in_flight = 1;
    auto made = EngineGroup::Create({.identity = Gpu(),
                                     .cluster = cluster,
                                     .engine = std::move(engine),
                                     .parallel_total = total,
                                     .log = [this](const LogRecord& record) { log.push_back(FormatLogfmt(record)); },
                                     .clock = clock},
                                    Specs(owners), figures);
    INFO(made.status().ToString());
    REQUIRE(made.ok());
    group = *std::move(made);
  }
  int InProgress() const {
    int count = 0;
    for (const Node& node : cluster->nodes()) {
      const auto label = node.labels.find(Gpu().StateLabel());
      count += label != node.labels.end() && IsInProgress(*ParseUpgradeState(label->second));
    }
    return count;
  }
  void Turn() {
    group->cache().Turn({});
    group->Step({});
    cluster->Advance(absl::Milliseconds(500));
  }
};

TEST_CASE("owners stay within their common limit, even if the engines are recreated during the rollout") {
  World world;
  world.Run({"a", "b"}, 2);
  int most = 0;
  for (int i = 0; i < 1000 && !(world.group->End()); ++i) {
    if (i == 20 || i == 45) world.Run({"a", "b"}, 2);
    world.Turn();
    most = std::max(most, world.InProgress());
    REQUIRE(world.InProgress() <= 2);
  }
  CHECK(most == 2);
  REQUIRE(world.group->End());
  CHECK(world.group->End()->IsGood());
  CHECK(world.group->totals().done == 6);
  CHECK(world.group->Ready().ok());
}

TEST_CASE("without a common limit, each owner has its own limit") {
  World world;
  world.Run({"a", "b"}, std::nullopt);
  int most = 0;
  for (int i = 0; i < 20; ++i) {
    world.Turn();
    most = std::max(most, world.InProgress());
  }
  CHECK(most == 6);
}

TEST_CASE("a change of policies does not recreate the engines, and counters outlive the engines") {
  World world;
  world.Run({"a"}, std::nullopt);
  std::vector<EngineSpec> frozen = world.Specs({"a"});
  frozen[0].policy.auto_upgrade = false;
  world.group->SetPolicies(frozen);
  for (int i = 0; i < 20; ++i) world.Turn();
  CHECK(world.InProgress() == 0);
  world.group->SetPolicies(world.Specs({"a"}));
  for (int i = 0; i < 400 && !world.group->End(); ++i) world.Turn();
  CHECK(world.group->totals().done == 3);
  world.Run({"b"}, std::nullopt);
  CHECK(world.figures.at("a")->Snapshot().driver_pods_deleted == 3);
  CHECK(internal::SameEngines(frozen, world.Specs({"a"})));
  CHECK_FALSE(internal::SameEngines(frozen, world.Specs({"b"})));
  CHECK_FALSE(internal::SameEngines(frozen, world.Specs({"a", "b"})));
}

TEST_CASE("each owner has its own requestor, if the engines use requestors") {
  EngineOptions common{.snapshot = {.ns = "ns"}};
  const EngineSpec spec{.name = "a", .driver_labels = Selector("app=driver"), .requestor_suffix = "-nnp-a"};
  CHECK_FALSE(EngineOptionsOf(common, spec).state_machine.requestor);
  common.state_machine.requestor = RequestorOptions{.id = "nvidia.doca", .ns = "default"};
  const EngineOptions own = EngineOptionsOf(common, spec);
  CHECK(own.state_machine.requestor->id == "nvidia.doca-nnp-a");
  CHECK(own.snapshot.driver_labels == spec.driver_labels);
  // An ID that is too long for the maintenance operator is shortened, but still differs between owners.
  EngineSpec longer = spec;
  longer.requestor_suffix = "-nnp-" + std::string(40, 'a') + "." + std::string(40, 'b');
  const std::string id = EngineOptionsOf(common, longer).state_machine.requestor->id;
  CHECK(id.size() <= 63);
  CHECK(Validate(*EngineOptionsOf(common, longer).state_machine.requestor).ok());
  CHECK(id == EngineOptionsOf(common, longer).state_machine.requestor->id);
  longer.requestor_suffix += "c";
  CHECK(id != EngineOptionsOf(common, longer).state_machine.requestor->id);
  CHECK(own.snapshot.ns == "ns");
}

TEST_CASE("each owner has its own entry in the ledger, if the engines use a ledger") {
  EngineOptions common{.snapshot = {.ns = "ns"}};
  const EngineSpec spec{.name = "a"};
  CHECK_FALSE(EngineOptionsOf(common, spec).ledger);
  common.ledger = {.ns = "ns", .name = "lock"};
  CHECK(EngineOptionsOf(common, spec).ledger->owner == "a");
  CHECK(EngineOptionsOf(common, {}).ledger->owner.empty());
}

TEST_CASE("the gates of nodes show why their policy is frozen if the reason is not autoUpgrade: false") {
  World world;
  world.Run({"a"}, std::nullopt);
  std::vector<EngineSpec> specs = world.Specs({"a"});
  specs[0].policy.auto_upgrade = false;
  specs[0].policy.frozen_because = "the policy is not understood";
  world.group->SetPolicies(specs);
  for (int i = 0; i < 3; ++i) world.Turn();
  const auto logged = [&](const std::string& text) {
    return std::any_of(world.log.begin(), world.log.end(),
                       [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  CHECK(logged("gate=Frozen detail=\"the policy is not understood\""));
  CHECK_FALSE(logged("autoUpgrade is off"));
}

TEST_CASE("if the policy evicts no pods, this is reported once per rollout, and counted in the metrics") {
  World world;
  world.Run({"a"}, std::nullopt);
  const auto logged = [&] {
    return std::count_if(world.log.begin(), world.log.end(), [](const std::string& line) {
      return line.find("code=NothingIsEvicted") != std::string::npos;
    });
  };
  for (int i = 0; i < 400 && !world.group->End(); ++i) world.Turn();
  REQUIRE(world.group->End());
  CHECK(logged() == 1);
  CHECK(world.figures.at("a")->Snapshot().findings.at(FindingCode::kNothingIsEvicted) == 1);
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-3");
  for (int i = 0; i < 100; ++i) world.Turn();
  CHECK(logged() == 2);
  std::vector<EngineSpec> specs = world.Specs({"a"});
  specs[0].policy.drain.emplace();
  world.group->SetPolicies(specs);
  world.Turn();
  CHECK(world.figures.at("a")->Snapshot().findings.at(FindingCode::kNothingIsEvicted) == 0);
}

TEST_CASE("labels that match no DaemonSet, and a policy that evicts no pods, are reported once while they persist") {
  World world;
  world.Run({"a"}, std::nullopt);
  const auto logged = [&](const std::string& text) {
    return std::count_if(world.log.begin(), world.log.end(),
                         [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  for (int i = 0; i < 3; ++i) world.Turn();
  CHECK(logged("code=NothingIsEvicted") == 1);
  CHECK(logged("code=NoDaemonSet") == 0);
  std::vector<EngineSpec> specs = world.Specs({"a"});
  specs[0].policy.drain.emplace();
  world.group->SetPolicies(specs);
  world.Turn();
  world.group->SetPolicies(world.Specs({"a"}));
  world.Turn();
  CHECK(logged("code=NothingIsEvicted") == 2);
  world.fleet.daemon_set = "another";
  world.Run({"a"}, std::nullopt);
  for (int i = 0; i < 3; ++i) world.Turn();
  CHECK(logged("code=NoDaemonSet") == 1);
}

TEST_CASE("log lines name the owner of their nodes") {
  World world;
  world.Run({"a"}, std::nullopt);
  for (int i = 0; i < 5; ++i) world.Turn();
  CHECK(std::any_of(world.log.begin(), world.log.end(), [](const std::string& line) {
    return line.find("msg=\"node moved\"") != std::string::npos && line.find("owner=a") != std::string::npos;
  }));
}

TEST_CASE(
    "a rollout succeeds without nodes that have the skip label, but not if a node has failed or has an invalid state "
    "label") {
  World world;
  world.Run({"a"}, std::nullopt);
  CHECK_FALSE(world.group->End());  // no engine has run a pass yet
  SECTION("left out by the skip label") {
    world.cluster->EditNode("node-2", [](Node& node) { node.labels[Gpu().SkipUpgradeLabel()] = "true"; });
    for (int i = 0; i < 400 && !world.group->End(); ++i) world.Turn();
    REQUIRE(world.group->End());
    CHECK(world.group->End()->IsGood());
    CHECK(world.group->End()->left_out == 1);
    CHECK(world.group->totals().done == 2);
  }
  SECTION("failed, or with an invalid label") {
    const std::string state = GENERATE("upgrade-failed", "upgrade-halfway");
    world.cluster->EditNode("node-2", [&](Node& node) { node.labels[Gpu().StateLabel()] = state; });
    for (int i = 0; i < 400 && !world.group->End(); ++i) world.Turn();
    REQUIRE(world.group->End());
    CHECK_FALSE(world.group->End()->IsGood());
    CHECK(world.group->totals().done == 2);
  }
}

TEST_CASE(
    "if autoUpgrade is off for one owner, the rollout ends without success, whatever the labels of the nodes are") {
  World world;
  world.Run({"a", "b"}, std::nullopt);
  std::vector<EngineSpec> specs = world.Specs({"a", "b"});
  specs[1].policy.auto_upgrade = false;
  const std::string state = GENERATE("upgrade-done", "upgrade-required", "drain-required");
  world.cluster->EditNode("node-4", [&](Node& node) { node.labels[Gpu().StateLabel()] = state; });
  world.group->SetPolicies(specs);
  for (int i = 0; i < 400 && !world.group->End(); ++i) world.Turn();
  REQUIRE(world.group->End());
  CHECK_FALSE(world.group->End()->IsGood());
  CHECK(world.group->End()->frozen == 3);
  CHECK(world.group->totals().done == 3 + (state == "upgrade-done"));
}

TEST_CASE("owners store their grants in separate entries of one ConfigMap") {
  World world;
  world.ledger = true;
  world.Run({"a", "b"}, std::nullopt);
  std::set<std::string> entries;
  for (int i = 0; i < 1000 && !world.group->End(); ++i) {
    world.Turn();
    if (const auto lock = world.cluster->config_map(world.fleet.ns, "lock")) {
      for (const auto& [name, _] : lock->data) entries.insert(name);
    }
  }
  CHECK(world.group->totals().done == 6);
  CHECK(entries == std::set<std::string>{"nvidia.com_gpu_a", "nvidia.com_gpu_b"});
}

}  // namespace
}  // namespace driverupgrade::tests
