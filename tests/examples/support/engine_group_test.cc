// Engines of several owners on one cache, under one limit.
#include "support/engine_group.h"

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using examples::EngineGroup;
using examples::EngineSpec;
using testing::FakeClock;
using testing::FakeCluster;

constexpr char kOwner[] = "example.com/owner";

/// node-1 to node-3 are a's, node-4 to node-6 are b's. Each may have all its nodes in progress at once.
struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster =
      std::make_shared<FakeCluster>(clock, testing::FakeClusterOptions{.watches_follow = false});
  testing::Fleet fleet = AddFleet(*cluster, {.node_count = 6, .workload = ""});
  examples::FiguresByName figures = {};
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

TEST_CASE("owners of nodes keep a limit over all of them, also when the engines are made anew in the middle") {
  World world;
  world.Run({"a", "b"}, 2);
  int most = 0;
  for (int i = 0; i < 1000 && !(world.group->totals().total == 6 && world.group->IsOver()); ++i) {
    if (i == 20 || i == 45) world.Run({"a", "b"}, 2);
    world.Turn();
    most = std::max(most, world.InProgress());
    REQUIRE(world.InProgress() <= 2);
  }
  CHECK(most == 2);
  CHECK(world.group->IsOver());
  CHECK(world.group->totals().done == 6);
  CHECK(world.group->Ready().ok());
}

TEST_CASE("without a limit over all each owner has its own") {
  World world;
  world.Run({"a", "b"}, std::nullopt);
  int most = 0;
  for (int i = 0; i < 20; ++i) {
    world.Turn();
    most = std::max(most, world.InProgress());
  }
  CHECK(most == 6);
}

TEST_CASE("policies change without new engines, and counters outlive them") {
  World world;
  world.Run({"a"}, std::nullopt);
  std::vector<EngineSpec> frozen = world.Specs({"a"});
  frozen[0].policy.auto_upgrade = false;
  world.group->SetPolicies(frozen);
  for (int i = 0; i < 20; ++i) world.Turn();
  CHECK(world.InProgress() == 0);
  world.group->SetPolicies(world.Specs({"a"}));
  for (int i = 0; i < 400 && !world.group->IsOver(); ++i) world.Turn();
  CHECK(world.group->totals().done == 3);
  world.Run({"b"}, std::nullopt);
  CHECK(world.figures.at("a")->Snapshot().driver_pods_deleted == 3);
  CHECK(examples::SameEngines(frozen, world.Specs({"a"})));
  CHECK_FALSE(examples::SameEngines(frozen, world.Specs({"b"})));
  CHECK_FALSE(examples::SameEngines(frozen, world.Specs({"a", "b"})));
}

TEST_CASE("lines say whose nodes they are about") {
  World world;
  world.Run({"a"}, std::nullopt);
  for (int i = 0; i < 5; ++i) world.Turn();
  CHECK(std::any_of(world.log.begin(), world.log.end(), [](const std::string& line) {
    return line.find("msg=\"node moved\"") != std::string::npos && line.find("owner=a") != std::string::npos;
  }));
  CHECK(examples::LedgerName("lock", "") == "lock");
  CHECK(examples::LedgerName("lock", "a") == "lock-a");
}

}  // namespace
}  // namespace driverupgrade::tests
