// Tests several engines that share one driver's nodes, each with its own policy (upstream-behaviour §1.4).
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::AddFleet;
using testing::FakeClock;
using testing::FakeCluster;
using testing::Fleet;

constexpr char kOwner[] = "example.com/owner";

LabelSelector Owned(const std::string& owner) { return LabelSelector::FromMatchLabels({{kOwner, owner}}); }

/// Owner a has the nodes node-1 to node-4, owner b has node-5 and node-6, and node-7 has no owner. Each owner has its
/// own engine.
struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster =
      std::make_shared<FakeCluster>(clock, testing::FakeClusterOptions{.watches_follow = false});
  Fleet fleet = AddFleet(*cluster, {.node_count = 7, .workload = ""});
  std::shared_ptr<WatchCache> cache = nullptr;
  std::map<std::string, std::unique_ptr<UpgradeEngine>> engines = {};
  std::map<std::string, UpgradePolicy> policies = {{"a", {.auto_upgrade = true, .max_parallel = 2}},
                                                   {"b", {.auto_upgrade = true, .max_parallel = 1}}};

  explicit World(bool cached) {
    for (int i = 1; i <= 6; ++i) Give("node-" + std::to_string(i), i <= 4 ? "a" : "b");
    cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
    const LabelSelector labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
    if (cached) {
      cache = *WatchCache::Create(cluster,
                                  {.drivers = {{.ns = fleet.ns, .driver_labels = labels, .node_selector = Owned("a")},
                                               {.ns = fleet.ns, .driver_labels = labels, .node_selector = Owned("b")}},
                                   .clock = clock});
    }
    for (const auto& [owner, policy] : policies) {
      EngineOptions options{.snapshot = {.ns = fleet.ns, .driver_labels = labels, .node_selector = Owned(owner)},
                            .cache = cache,
                            .clock = clock};
      options.executor.calls_in_flight = 1;
      engines[owner] = *UpgradeEngine::Create(Gpu(), cluster, std::move(options));
    }
  }
  void Give(const std::string& node, const std::string& owner) {
    cluster->EditNode(node, [&](Node& changed) { changed.labels[kOwner] = owner; });
  }
  Plan Pass(const std::string& owner) {
    if (cache) cache->Turn({});
    const auto pass = engines[owner]->Reconcile({}, policies[owner]);
    REQUIRE(pass.ok());
    engines[owner]->Quiesce();
    return pass->plan;
  }
  std::string State(const std::string& node) const {
    const StringMap labels = cluster->node(node)->labels;
    const auto label = labels.find(Gpu().StateLabel());
    return label == labels.end() ? "" : label->second;
  }
  int InProgress(int first, int last) const {
    int count = 0;
    for (int i = first; i <= last; ++i) {
      const std::string state = State("node-" + std::to_string(i));
      count += !state.empty() && IsInProgress(*ParseUpgradeState(state));
    }
    return count;
  }
};

TEST_CASE("an engine upgrades the nodes that its selector matches, under its own policy, and counts no other nodes") {
  World world(GENERATE(false, true));
  CHECK(world.Pass("a").totals.total == 4);
  CHECK(world.InProgress(1, 4) == 2);
  CHECK(world.InProgress(5, 7) == 0);
  CHECK(world.Pass("b").totals.total == 2);
  CHECK(world.InProgress(5, 6) == 1);
  for (int i = 0; i < 400; ++i) {
    world.Pass("a");
    world.Pass("b");
    CHECK(world.InProgress(1, 4) <= 2);
    CHECK(world.InProgress(5, 6) <= 1);
    world.cluster->Advance(absl::Seconds(1));
  }
  for (int i = 1; i <= 6; ++i) CHECK(world.State("node-" + std::to_string(i)) == "upgrade-done");
  CHECK(world.State("node-7").empty());
}

TEST_CASE("a node in progress whose label is removed stays with its engine, until it has finished") {
  World world(GENERATE(false, true));
  world.policies["a"].max_parallel = 1;
  world.Pass("a");
  REQUIRE(world.InProgress(1, 1) == 1);
  world.cluster->EditNode("node-1", [](Node& node) { node.labels.erase(kOwner); });
  for (int i = 0; i < 200 && world.State("node-1") != "upgrade-done"; ++i) {
    CHECK(world.Pass("a").totals.total == 4);
    CHECK(world.InProgress(2, 4) == 0);
    world.cluster->Advance(absl::Seconds(1));
  }
  CHECK(world.State("node-1") == "upgrade-done");
  CHECK(world.Pass("a").totals.total == 3);
}

TEST_CASE("if a node gets a new owner, the engine of the new owner finishes the node's upgrade") {
  World world(GENERATE(false, true));
  world.Pass("a");
  REQUIRE(world.InProgress(1, 1) == 1);
  world.Give("node-1", "b");
  CHECK(world.Pass("a").totals.total == 3);
  const Plan taken = world.Pass("b");
  CHECK(taken.totals.total == 3);
  CHECK(taken.totals.in_progress >= 1);
  for (int i = 0; i < 100; ++i) {
    world.Pass("b");
    world.cluster->Advance(absl::Seconds(1));
  }
  CHECK(world.State("node-1") == "upgrade-done");
}

}  // namespace
}  // namespace driverupgrade::tests
