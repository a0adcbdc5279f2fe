#include "driverupgrade/snapshot_builder.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "decide/attempt_log.h"
#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "read/listed_objects.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::AddFleet;
using testing::FakeClock;
using testing::FakeCluster;
using testing::Fleet;

/// One node with a driver pod and a workload pod, and a builder that reads them from lists.
struct World {
  explicit World(PodFilter uses_driver = nullptr)
      : builder(Gpu(), cluster,
                {.ns = fleet.ns,
                 .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}}),
                 .uses_driver = std::move(uses_driver)},
                /*requestor=*/std::nullopt, &log) {}
  /// Returns the view of the only node, with its pods.
  NodeView Read() {
    auto snapshot = builder.Build({});
    REQUIRE(snapshot.ok());
    builder.ReadPods({}, {fleet.node_names[0]}, *snapshot);
    REQUIRE(snapshot->nodes.size() == 1);
    return *snapshot->nodes[0];
  }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  std::shared_ptr<FakeCluster> cluster = std::make_shared<FakeCluster>(clock);
  Fleet fleet = AddFleet(*cluster, {.node_count = 1});
  internal::AttemptLog log = {};
  SnapshotBuilder builder;
};

TEST_CASE("The filter runs again for a pod that has changed") {
  World world([](const CallContext&, const Pod& pod) -> absl::StatusOr<bool> { return pod.labels.contains("gpu"); });
  const NodeView before = world.Read();
  REQUIRE(before.pods->size() == 1);
  CHECK(before.pods_using_driver.empty());
  const PodRef pod = before.pods->front().ref;
  REQUIRE(world.cluster->EditPod(pod.ns, pod.name, [](Pod& changed) { changed.labels.emplace("gpu", "true"); }));
  CHECK(world.Read().pods_using_driver.contains(pod.uid));
}

TEST_CASE("One list of all pods yields the same pods as one list for each node, but its failure affects every node") {
  const auto cluster = std::make_shared<FakeCluster>(std::make_shared<FakeClock>());
  const Fleet fleet = AddFleet(*cluster, {.node_count = 3});
  const std::set<std::string> two = {fleet.node_names[0], fleet.node_names[2]};
  internal::ListedObjects one_by_one;
  internal::ListedObjects together;
  for (const auto& [node, status] : one_by_one.ListPodsOf({}, *cluster, two)) CHECK(status.ok());
  const std::int64_t lists = cluster->CallCount(Operation::kListPods);
  for (const auto& [node, status] : together.ListAllPods({}, *cluster, two)) CHECK(status.ok());
  CHECK(cluster->CallCount(Operation::kListPods) == lists + 1);
  for (const std::string& node : two) {
    REQUIRE(together.KnowsPodsOn(node));
    CHECK(together.PodsOn(node) == one_by_one.PodsOn(node));
  }
  CHECK_FALSE(together.KnowsPodsOn(fleet.node_names[1]));

  internal::ListedObjects failed;
  cluster->FailNext(Operation::kListPods, absl::UnavailableError("503"));
  const auto answers = failed.ListAllPods({}, *cluster, two);
  CHECK(answers.size() == 2);
  for (const auto& [node, status] : answers) CHECK(absl::IsUnavailable(status));
  for (const std::string& node : two) CHECK_FALSE(failed.KnowsPodsOn(node));
}

TEST_CASE("A pod in another namespace is a workload of the node, even with the driver's labels") {
  World world;
  const PodRef pod = world.Read().pods->front().ref;
  const auto label = [&](Pod& changed) { changed.labels["app"] = world.fleet.daemon_set; };
  REQUIRE(world.cluster->EditPod(pod.ns, pod.name, label));
  CHECK(world.Read().pods->size() == 1);
}

TEST_CASE("A node is still managed if a NodeMaintenance of ours is all that is left on the node") {
  const auto clock = std::make_shared<FakeClock>();
  const auto cluster = std::make_shared<FakeCluster>(clock);
  for (const char* name : {"claimed", "others"}) cluster->AddNode(testing::NodeBuilder(name).Build());
  const RequestorOptions requestor{.id = "nvidia.gpu-operator", .ns = "maintenance"};
  cluster->AddNodeMaintenance({.ns = requestor.ns, .name = "a", .requestor_id = requestor.id, .node_name = "claimed"});
  cluster->AddNodeMaintenance({.ns = requestor.ns, .name = "b", .requestor_id = "another", .node_name = "others"});
  SnapshotBuilder builder(Gpu(), cluster,
                          {.ns = "drivers", .driver_labels = LabelSelector::FromMatchLabels({{"app", "driver"}})},
                          requestor);
  const auto snapshot = builder.Build({});
  REQUIRE(snapshot.ok());
  REQUIRE(snapshot->nodes.size() == 1);
  CHECK(snapshot->nodes[0]->node.name == "claimed");
}

TEST_CASE("The attempts for a deleted node are forgotten") {
  World world;
  world.log.PatchSent(world.Read().node, {.unschedulable = true}, world.clock->Now());
  REQUIRE(world.log.size() == 1);
  REQUIRE(world.cluster->RemoveNode(world.fleet.node_names[0]));
  REQUIRE(world.builder.Build({}).ok());
  CHECK(world.log.size() == 0);
}

}  // namespace
}  // namespace driverupgrade::tests
