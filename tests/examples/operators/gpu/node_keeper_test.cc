#include "gpu/node_keeper.h"

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using gpu_operator::kGpuPresentLabel;
using gpu_operator::kOwnerLabel;
using gpu_operator::kUpgradeEnabledAnnotation;
using gpu_operator::MarksPatch;
using gpu_operator::NodeKeeper;
using gpu_operator::NodeWishes;
using gpu_operator::NvidiaDriver;
using gpu_operator::Orphaned;
using gpu_operator::OwnersOf;
using testing::FakeClock;
using testing::FakeCluster;

NvidiaDriver Driver(const std::string& name, StringMap node_labels, bool on = true) {
  return {.name = name, .node_labels = std::move(node_labels), .upgrade = {.auto_upgrade = on}};
}

NodeWishes By(std::vector<NvidiaDriver> owners) { return {.by_owners = true, .owners = std::move(owners)}; }

Node GpuNode(StringMap labels = {}) {
  labels[kGpuPresentLabel] = "true";
  return {.name = "n1", .uid = "u", .resource_version = "3", .labels = std::move(labels)};
}

TEST_CASE(
    "upstream 1.4: a node belongs to the NVIDIADriver that selects it, or otherwise to the default NVIDIADriver") {
  NvidiaDriver fallback = Driver("fallback", {});
  fallback.is_default = true;
  const NvidiaDriver a = Driver("a", {{"pool", "a"}});
  CHECK(OwnersOf(GpuNode({{"pool", "a"}}), {a, fallback}) == std::vector<std::string>{"a"});
  CHECK(OwnersOf(GpuNode({{"pool", "b"}}), {a, fallback}) == std::vector<std::string>{"fallback"});
  CHECK(OwnersOf(GpuNode(), {a}).empty());
  CHECK(OwnersOf(GpuNode({{"pool", "a"}}), {a, Driver("all", {})}).size() == 2);
  NvidiaDriver leaving = a;
  leaving.deleting = true;
  CHECK(OwnersOf(GpuNode({{"pool", "a"}}), {leaving}).empty());
}

TEST_CASE("owner labels follow the selectors, but stay unchanged in a conflict or if a selector cannot be read") {
  const auto owner = [](const Node& node, const std::vector<NvidiaDriver>& drivers) -> std::string {
    const auto patch = MarksPatch(node, false, By(drivers), Gpu());
    if (!patch || !patch->labels.contains(kOwnerLabel)) return "stays";
    return patch->labels.at(kOwnerLabel).value_or("removed");
  };
  const NvidiaDriver a = Driver("a", {{"pool", "a"}});
  const NvidiaDriver unread{.name = "unread", .understood = false};
  CHECK(owner(GpuNode({{"pool", "a"}}), {a}) == "a");
  CHECK(owner(GpuNode({{"pool", "a"}, {kOwnerLabel, "a"}}), {a}) == "stays");
  CHECK(owner(GpuNode({{kOwnerLabel, "a"}}), {a}) == "removed");
  CHECK(owner(GpuNode({{"pool", "a"}, {kOwnerLabel, "old"}}), {a, Driver("all", {})}) == "stays");
  CHECK(owner(GpuNode({{kOwnerLabel, "old"}}), {a, unread}) == "stays");
  NvidiaDriver fallback = Driver("fallback", {});
  fallback.is_default = true;
  const auto busy = [&](const std::string& state) {
    return GpuNode({{kOwnerLabel, "a"}, {Gpu().StateLabel(), state}});
  };
  for (const char* state : {"drain-required", "upgrade-failed"}) {
    CHECK(owner(busy(state), {a, fallback}) == "stays");  // GPU feature discovery may have removed the label
    CHECK(owner(busy(state), {a}) == "stays");
    CHECK(owner(busy(state), {fallback}) == "fallback");
    Node moved = busy(state);
    moved.labels["pool"] = "b";
    CHECK(owner(moved, {a, fallback, Driver("b", {{"pool", "b"}})}) == "b");
  }
  CHECK(owner(busy("upgrade-done"), {a, fallback}) == "fallback");
  Node no_gpu = GpuNode({{"pool", "a"}});
  no_gpu.labels.erase(kGpuPresentLabel);
  CHECK(owner(no_gpu, {a}) == "stays");
}

TEST_CASE("upstream 1.9: an annotation tells the driver manager which nodes are upgraded by a policy") {
  const auto told = [](const Node& node, const NodeWishes& wishes) -> std::string {
    const auto patch = MarksPatch(node, false, wishes, Gpu());
    if (!patch || !patch->annotations.contains(kUpgradeEnabledAnnotation)) return "stays";
    return patch->annotations.at(kUpgradeEnabledAnnotation).value_or("removed");
  };
  Node marked = GpuNode();
  marked.annotations[kUpgradeEnabledAnnotation] = "true";
  CHECK(told(GpuNode(), {.upgraded = true}) == "true");
  CHECK(told(marked, {.upgraded = true}) == "stays");
  CHECK(told(marked, {}) == "removed");
  CHECK(told(GpuNode(), {}) == "stays");
  CHECK(told(GpuNode({{"pool", "a"}}), By({Driver("a", {{"pool", "a"}})})) == "true");
  CHECK(told(marked, By({Driver("a", {}, /*on=*/false)})) == "removed");
  CHECK(told(marked, By({Driver("a", {{"pool", "a"}})})) == "removed");
}

TEST_CASE(
    "upstream 1.4: for an orphaned driver pod on an owner's node, an upgrade is requested once, unless one is "
    "running") {
  const NodeWishes wishes = By({Driver("a", {})});
  const auto asks = [&](const Node& node, bool orphaned = true) {
    const auto patch = MarksPatch(node, orphaned, wishes, Gpu());
    return patch && patch->annotations.contains(Gpu().UpgradeRequestedAnnotation());
  };
  CHECK(asks(GpuNode()));
  CHECK(asks(GpuNode({{Gpu().StateLabel(), "upgrade-done"}})));
  CHECK_FALSE(asks(GpuNode(), false));
  CHECK_FALSE(asks(GpuNode({{Gpu().StateLabel(), "drain-required"}})));
  CHECK_FALSE(asks(GpuNode({{Gpu().StateLabel(), "upgrade-failed"}})));
  Node asked = GpuNode();
  asked.annotations[Gpu().UpgradeRequestedAnnotation()] = "true";
  CHECK_FALSE(asks(asked));
  const Pod orphan = testing::PodBuilder("gpu", "p").OnNode("n1").Build();
  CHECK(Orphaned({orphan}));
  CHECK_FALSE(Orphaned({testing::PodBuilder("gpu", "p").OwnedByDaemonSet("driver", "rev").Build()}));
  // W32: a pod whose owner is not a controller is an orphan, because no controller replaces the pod.
  Pod owned = orphan;
  owned.owners = {{.kind = "ConfigMap", .name = "c", .uid = "u", .controller = false}};
  CHECK(Orphaned({owned}));
  CHECK_FALSE(Orphaned({testing::PodBuilder("gpu", "p").Pending().Build()}));
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
  int told = 0;

  World() {
    for (const Node& node : cluster->nodes()) {
      cluster->EditNode(node.name, [](Node& edited) { edited.labels[kGpuPresentLabel] = "true"; });
    }
  }
  absl::Time Keep(NodeKeeper& keeper, bool with_cache = true) {
    if (with_cache) cache->Turn({});
    return keeper.Keep({}, with_cache ? cache.get() : nullptr, 0, [this] { ++told; });
  }
  std::string Owner(const std::string& node) const {
    const Node found = *cluster->node(node);
    const auto label = found.labels.find(kOwnerLabel);
    return label == found.labels.end() ? "" : label->second;
  }
  int Enabled() const {
    int count = 0;
    for (const Node& node : cluster->nodes()) count += node.annotations.contains(kUpgradeEnabledAnnotation);
    return count;
  }
};

TEST_CASE("the marks of all nodes follow the policies, and the marks of one node follow its labels") {
  World world;
  NodeKeeper keeper(world.cluster, Gpu(), true, world.clock);
  world.cluster->EditNode("node-1", [](Node& node) { node.labels["pool"] = "a"; });
  keeper.Wish(By({Driver("a", {{"pool", "a"}}), Driver("b", {{"pool", "b"}}, /*on=*/false)}));
  CHECK(world.Keep(keeper) == absl::InfiniteFuture());
  CHECK(world.Owner("node-1") == "a");
  CHECK(world.Enabled() == 1);
  // The other nodes have a driver pod, but no owner upgrades the driver there.
  REQUIRE(keeper.Findings().size() == 2);
  CHECK(keeper.Findings()[0].code == FindingCode::kNoOwner);
  CHECK(keeper.Findings()[0].message.find("node-2 has a driver pod and no label") != std::string::npos);
  world.cluster->EditNode("node-2", [](Node& node) { node.labels["pool"] = "b"; });
  world.Keep(keeper);
  CHECK(world.Owner("node-2") == "b");
  CHECK(keeper.Findings().size() == 1);
  keeper.Wish({.upgraded = true});
  world.Keep(keeper);
  CHECK(world.Enabled() == 3);
  CHECK(world.Owner("node-1") == "a");
  CHECK(keeper.Findings().empty());
}

TEST_CASE("two NVIDIADrivers that select the same node are reported, and the node keeps its owner") {
  World world;
  NodeKeeper keeper(world.cluster, Gpu(), true, world.clock);
  keeper.Wish(By({Driver("a", {}), Driver("b", {})}));
  world.Keep(keeper);
  CHECK(world.Owner("node-1").empty());
  CHECK(keeper.Conflicts().at("a") == "node node-1 also belongs to NVIDIADriver b, and keeps its owner");
  CHECK(keeper.Conflicts().at("b").find("NVIDIADriver a") != std::string::npos);
  keeper.Wish(By({Driver("a", {})}));
  world.Keep(keeper);
  CHECK(keeper.Conflicts().empty());
  CHECK(world.Owner("node-3") == "a");
}

TEST_CASE("a failed write is retried, and without a cache the nodes are read from a list") {
  World world;
  NodeKeeper keeper(world.cluster, Gpu(), true, world.clock);
  keeper.Wish({.upgraded = true});
  world.cluster->FailNext(Operation::kPatchNode, absl::AbortedError("changed"));
  CHECK(world.Keep(keeper) == world.clock->Now() + absl::Seconds(1));
  CHECK(absl::IsAborted(keeper.status()));
  CHECK(world.Keep(keeper) == absl::InfiniteFuture());
  CHECK(world.Enabled() == 3);
  keeper.Wish({});
  world.cluster->FailNext(Operation::kListNodes, absl::UnavailableError("away"));
  CHECK(world.Keep(keeper, /*with_cache=*/false) == world.clock->Now() + absl::Seconds(30));
  CHECK(world.Keep(keeper, /*with_cache=*/false) == absl::InfiniteFuture());
  CHECK(world.Enabled() == 0);
}

TEST_CASE("a keeper that writes marks is settled only once all nodes have the requested marks") {
  const bool with_cache = GENERATE(true, false);
  World world;
  NodeKeeper keeper(world.cluster, Gpu(), true, world.clock);
  CHECK_FALSE(keeper.Settled());
  keeper.Wish(By({Driver("a", {})}));
  world.cluster->FailNext(Operation::kPatchNode, absl::UnavailableError("away"));
  world.Keep(keeper, with_cache);
  CHECK_FALSE(keeper.Settled());
  world.Keep(keeper, with_cache);
  CHECK(keeper.Settled());
  CHECK(world.Owner("node-1") == "a");
  keeper.Wish(By({Driver("b", {})}));
  CHECK_FALSE(keeper.Settled());
  world.Keep(keeper, with_cache);
  CHECK(keeper.Settled());
  NodeKeeper onlooker(world.cluster, Gpu(), false, world.clock);
  onlooker.Wish(By({Driver("a", {})}));
  world.Keep(onlooker, with_cache);
  CHECK(onlooker.Settled());
}

TEST_CASE("if another program marks the nodes, the keeper writes nothing, but still reports problems") {
  World world;
  NodeKeeper keeper(world.cluster, Gpu(), false, world.clock);
  keeper.Wish(By({Driver("a", {})}));
  world.Keep(keeper);
  CHECK(world.Owner("node-1").empty());
  CHECK(keeper.Findings().size() == 3);
  world.cluster->EditNode("node-1", [](Node& node) { node.labels[kOwnerLabel] = "gone"; });
  world.Keep(keeper);
  CHECK(keeper.Findings()[0].message.find("the NVIDIADriver gone of its label") != std::string::npos);
}

}  // namespace
}  // namespace driverupgrade::tests
