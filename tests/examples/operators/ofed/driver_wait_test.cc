#include "ofed/driver_wait.h"

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using ofed_operator::DriverWaitKeeper;
using ofed_operator::kDriverContainer;
using ofed_operator::kDriverWaitLabel;
using ofed_operator::WaitLabelPatch;
using ofed_operator::WaitsForDriver;
using testing::FakeClock;
using testing::FakeCluster;

Pod Driver(bool ready) {
  return {.container_statuses = {{.name = "other"}, {.name = kDriverContainer, .ready = ready}}};
}

TEST_CASE("a node waits unless a driver container on it is ready, and nothing is known without a driver pod") {
  CHECK_FALSE(WaitsForDriver({}).has_value());
  CHECK(WaitsForDriver({Driver(false)}) == true);
  CHECK(WaitsForDriver({Driver(true)}) == false);
  CHECK(WaitsForDriver({Driver(false), Driver(true)}) == false);
  CHECK(WaitsForDriver({{.container_statuses = {{.name = "other", .ready = true}}}}) == true);
  Pod leaving = Driver(true);
  leaving.deletion_timestamp = absl::UnixEpoch();
  CHECK(WaitsForDriver({leaving}) == true);
}

std::string Written(const Node& node, const std::vector<Pod>& pods, bool driver_wanted = true) {
  const auto patch = WaitLabelPatch(node, pods, driver_wanted, Ofed());
  return patch ? patch->labels.at(kDriverWaitLabel).value_or("removed") : "nothing";
}

TEST_CASE("the label is patched only if it is not true") {
  Node node{.name = "n", .uid = "u", .resource_version = "3"};
  CHECK(WaitLabelPatch(node, {Driver(true)}, true, Ofed()) ==
        PatchNodeParams{.name = "n", .uid = "u", .resource_version = "3", .labels = {{kDriverWaitLabel, "false"}}});
  node.labels[kDriverWaitLabel] = "false";
  CHECK(Written(node, {Driver(true)}) == "nothing");
  CHECK(Written(node, {Driver(false)}) == "true");
}

TEST_CASE("what a dead driver pod has left is removed, but for the moment in which an upgrade replaces it") {
  const std::string value = GENERATE("true", "false");
  Node node{.name = "n", .labels = {{kDriverWaitLabel, value}}};
  CHECK(Written(node, {}) == "removed");
  node.labels[Ofed().StateLabel()] = "upgrade-done";
  CHECK(Written(node, {}) == "removed");
  node.labels[Ofed().StateLabel()] = "pod-restart-required";
  CHECK(Written(node, {}) == "nothing");
  CHECK(Written({.name = "n"}, {}) == "nothing");
}

TEST_CASE("where no policy has a driver nobody waits for one") {
  Node node{.name = "n", .labels = {{kDriverWaitLabel, "true"}}};
  CHECK(Written(node, {}, false) == "removed");
  node.labels[ofed_operator::kNicLabel] = "true";
  CHECK(Written(node, {}, false) == "false");
  CHECK(Written({.name = "n"}, {}, false) == "nothing");
  CHECK(Written(node, {Driver(false)}, false) == "nothing");  // while its pod ends
}

struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster =
      std::make_shared<FakeCluster>(clock, testing::FakeClusterOptions{.watches_follow = false});
  testing::Fleet fleet = AddFleet(*cluster, {.node_count = 3, .workload = ""});
  std::shared_ptr<WatchCache> cache = *WatchCache::Create(
      cluster,
      {.drivers = {{.ns = fleet.ns, .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}})}},
       .clock = clock});
  DriverWaitKeeper keeper{cluster, Ofed(), clock};

  void SetReady(const std::string& node, bool ready) {
    for (const Pod& pod : cluster->pods_on(node)) {
      cluster->EditPod(pod.ref.ns, pod.ref.name,
                       [&](Pod& p) { p.container_statuses = Driver(ready).container_statuses; });
    }
  }
  absl::Time Keep() {
    cache->Turn({});
    return keeper.Keep({}, *cache, 0);
  }
  std::string Label(const std::string& node) {
    const StringMap labels = cluster->node(node)->labels;
    const auto label = labels.find(kDriverWaitLabel);
    return label == labels.end() ? "" : label->second;
  }
};

TEST_CASE("the labels follow the drivers, and nothing is written where nothing has changed") {
  World world;
  for (const std::string& node : world.fleet.node_names) world.SetReady(node, node != "node-2");
  CHECK(world.Keep() == absl::InfiniteFuture());
  CHECK(world.Label("node-1") == "false");
  CHECK(world.Label("node-2") == "true");
  CHECK(world.cluster->CallCount(Operation::kPatchNode) == 3);
  world.Keep();
  CHECK(world.cluster->CallCount(Operation::kPatchNode) == 3);
  world.SetReady("node-2", true);
  world.Keep();
  CHECK(world.Label("node-2") == "false");
  CHECK(world.cluster->CallCount(Operation::kPatchNode) == 4);
  // What somebody else has made of the label is mended.
  world.cluster->EditNode("node-1", [](Node& node) { node.labels.erase(kDriverWaitLabel); });
  world.Keep();
  CHECK(world.Label("node-1") == "false");
}

TEST_CASE("a node whose driver pod is gone for the moment keeps its label, and one that has lost its driver loses it") {
  World world;
  world.SetReady("node-1", false);
  world.Keep();
  const Pod pod = world.cluster->pods_on("node-1").front();
  world.cluster->EditNode("node-1", [](Node& node) { node.labels[Ofed().StateLabel()] = "pod-restart-required"; });
  world.cluster->RemoveDaemonSet(world.fleet.ns, world.fleet.daemon_set);
  world.cluster->RemovePod(pod.ref.ns, pod.ref.name);
  world.Keep();
  CHECK(world.Label("node-1") == "true");
  world.cluster->EditNode("node-1", [](Node& node) { node.labels.erase(Ofed().StateLabel()); });
  world.Keep();
  CHECK(world.Label("node-1").empty());
}

TEST_CASE("when the driver goes from all policies, all nodes are looked at") {
  World world;
  world.SetReady("node-1", false);
  world.cluster->EditNode("node-1", [](Node& node) { node.labels[ofed_operator::kNicLabel] = "true"; });
  world.Keep();
  const Pod pod = world.cluster->pods_on("node-1").front();
  world.cluster->RemoveDaemonSet(world.fleet.ns, world.fleet.daemon_set);
  world.cluster->RemovePod(pod.ref.ns, pod.ref.name);
  world.Keep();
  CHECK(world.Label("node-1").empty());
  world.keeper.Wish(false);
  world.Keep();
  CHECK(world.Label("node-1") == "false");
}

TEST_CASE("a write that fails is tried again, and the others are made meanwhile") {
  World world;
  world.cluster->FailNext(Operation::kPatchNode, absl::PermissionDeniedError("cannot patch resource nodes"));
  CHECK(world.Keep() == world.clock->Now() + absl::Seconds(1));
  CHECK(world.keeper.status() == absl::PermissionDeniedError("cannot patch resource nodes"));
  CHECK(world.cluster->CallCount(Operation::kPatchNode) == 3);
  CHECK(world.Keep() == absl::InfiniteFuture());
  CHECK(world.keeper.status().ok());
  for (const std::string& node : world.fleet.node_names) CHECK_FALSE(world.Label(node).empty());
}

}  // namespace
}  // namespace driverupgrade::tests
