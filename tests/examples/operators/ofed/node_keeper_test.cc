#include "ofed/node_keeper.h"

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "ofed/driver_wait.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using ofed_operator::DriverOwner;
using ofed_operator::kDriverContainer;
using ofed_operator::kDriverWaitLabel;
using ofed_operator::NodeKeeper;
using ofed_operator::WhyOwnerless;
using testing::FakeClock;
using testing::FakeCluster;

Pod Driver(bool ready) {
  return {.container_statuses = {{.name = "other"}, {.name = kDriverContainer, .ready = ready}}};
}

Pod DriverOf(const std::string& owner) { return {.labels = {{"nvidia.com/ofed-driver", ""}, {"ds-owner", owner}}}; }

TEST_CASE("a driver pod has an owner if a policy applies to its labels and its node") {
  const Node node{.name = "n1", .labels = {{"rack", "1"}}};
  const DriverOwner rack_1{Selector("ds-owner=nnp-rack-1"), Selector("rack=1")};
  const DriverOwner all{Selector("ds-owner=NicClusterPolicy"), {}};
  CHECK_FALSE(WhyOwnerless(node, {}, {}));
  CHECK_FALSE(WhyOwnerless(node, {DriverOf("nnp-rack-1")}, {all, rack_1}));
  CHECK(WhyOwnerless(node, {DriverOf("nnp-rack-1")}, {all}) ==
        "node n1 has a driver pod labeled ds-owner=nnp-rack-1, but no policy with a driver applies to the node, so "
        "the driver is not upgraded");
  CHECK(WhyOwnerless({.name = "n2"}, {DriverOf("nnp-rack-1")}, {rack_1}).has_value());
  CHECK(WhyOwnerless(node, {Pod{}}, {all})->find("a driver pod without the label ds-owner") != std::string::npos);
  // The node has the owner's driver pod and an abandoned driver pod.
  CHECK_FALSE(WhyOwnerless(node, {DriverOf("nnp-old"), DriverOf("nnp-rack-1")}, {rack_1}));
  Pod leaving = DriverOf("nnp-old");
  leaving.deletion_timestamp = absl::UnixEpoch();
  CHECK_FALSE(WhyOwnerless(node, {leaving}, {rack_1}));
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
  NodeKeeper keeper{cluster, Ofed(), clock};

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

TEST_CASE("the labels follow the drivers, and unchanged labels are not written") {
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
  // The keeper repairs a label that another client has changed.
  world.cluster->EditNode("node-1", [](Node& node) { node.labels.erase(kDriverWaitLabel); });
  world.Keep();
  CHECK(world.Label("node-1") == "false");
}

TEST_CASE("a node with a briefly missing driver pod keeps its label, and a node without a driver loses it") {
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

TEST_CASE("all nodes are checked when no policy has a driver any longer") {
  World world;
  world.SetReady("node-1", false);
  world.cluster->EditNode("node-1", [](Node& node) { node.labels[ofed_operator::kNicLabel] = "true"; });
  world.Keep();
  const Pod pod = world.cluster->pods_on("node-1").front();
  world.cluster->RemoveDaemonSet(world.fleet.ns, world.fleet.daemon_set);
  world.cluster->RemovePod(pod.ref.ns, pod.ref.name);
  world.Keep();
  CHECK(world.Label("node-1").empty());
  world.keeper.Wish({.driver_wanted = false});
  world.Keep();
  CHECK(world.Label("node-1") == "false");
}

TEST_CASE("a failed write is retried, and does not block other writes") {
  World world;
  world.cluster->FailNext(Operation::kPatchNode, absl::PermissionDeniedError("cannot patch resource nodes"));
  CHECK(world.Keep() == world.clock->Now() + absl::Seconds(1));
  CHECK(world.keeper.status() == absl::PermissionDeniedError("cannot patch resource nodes"));
  CHECK(world.cluster->CallCount(Operation::kPatchNode) == 3);
  CHECK(world.Keep() == absl::InfiniteFuture());
  CHECK(world.keeper.status().ok());
  for (const std::string& node : world.fleet.node_names) CHECK_FALSE(world.Label(node).empty());
}

TEST_CASE("nodes whose driver has no policy are reported until a policy applies or the nodes are deleted") {
  World world;
  world.Keep();
  CHECK(world.keeper.Findings().empty());  // the owners of drivers are not known yet
  world.keeper.Wish({.owners = std::vector<DriverOwner>{}});
  world.Keep();
  REQUIRE(world.keeper.Findings().size() == 3);
  CHECK(world.keeper.Findings()[0].code == FindingCode::kNoOwner);
  CHECK(world.keeper.Findings()[0].node == "node-1");
  const DriverOwner owner{LabelSelector::FromMatchLabels({{"app", world.fleet.daemon_set}}), Selector("pool=a")};
  world.cluster->EditNode("node-2", [](Node& node) { node.labels["pool"] = "a"; });
  world.keeper.Wish({.owners = std::vector{owner}});
  world.Keep();
  CHECK(world.keeper.Findings().size() == 2);
  world.cluster->EditNode("node-3", [](Node& node) { node.labels["pool"] = "a"; });
  world.Keep();
  CHECK(world.keeper.Findings().size() == 1);
  world.cluster->RemoveNode("node-1");
  world.Keep();
  CHECK(world.keeper.Findings().empty());
}

}  // namespace
}  // namespace driverupgrade::tests
