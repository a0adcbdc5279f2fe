#include <memory>
#include <string>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"

namespace driverupgrade {
namespace {

using testing::FakeClock;
using testing::FakeCluster;
using testing::NodeBuilder;
using testing::PodBuilder;
using testing::WorkloadSpec;

struct World {
  World() {
    for (const char* name : {"n1", "n2", "n3"}) cluster.AddNode(NodeBuilder(name).Build());
  }

  std::vector<Pod> On(const std::string& node_name) {
    return cluster.ListPods(context, {.node_name = node_name}).value();
  }
  void Evict(const Pod& pod) {
    REQUIRE(cluster.EvictPod(context, {.pod = pod.ref})->accepted());
  }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  FakeCluster cluster{clock};
  CallContext context = {};
};

TEST_CASE("the pods of a workload are spread over schedulable and ready nodes, with ties broken by name") {
  World world;
  world.cluster.Cordon("n1");
  world.cluster.AddNode(NodeBuilder("n0").NotReady().Build());
  world.cluster.AddWorkload({.ns = "a", .name = "web", .replicas = 3});
  CHECK(world.On("n0").empty());
  CHECK(world.On("n1").empty());
  CHECK(world.On("n2").size() == 2);
  CHECK(world.On("n3").size() == 1);
  CHECK(IsReady(world.On("n3").front()));
}

TEST_CASE("a pod of a ReplicaSet is replaced on another node, with another name, as soon as its deletion starts") {
  World world;
  world.cluster.AddWorkload({.ns = "a", .name = "web", .replicas = 3});
  const Pod old_pod = world.On("n1").front();
  world.cluster.Cordon("n1");
  world.Evict(old_pod);
  REQUIRE(world.On("n2").size() == 2);
  REQUIRE(world.On("n1").size() == 1);
  const std::vector<Pod> there = world.On("n2");
  const Pod& successor = there[0].phase == PodPhase::kPending ? there[0] : there[1];
  CHECK(successor.phase == PodPhase::kPending);
  CHECK(successor.ref.name != old_pod.ref.name);
  CHECK(successor.owners == old_pod.owners);
  CHECK(successor.labels == old_pod.labels);
  world.cluster.Advance(absl::Seconds(5));
  CHECK(world.On("n1").empty());
  CHECK(IsReady(world.cluster.pod("a", successor.ref.name).value()));
  CHECK(world.cluster.pods().size() == 3);
}

TEST_CASE("a pod of a StatefulSet is recreated with the same name and another UID once it has terminated") {
  World world;
  world.cluster.AddWorkload({.kind = WorkloadSpec::Kind::kStatefulSet, .ns = "a", .name = "db", .replicas = 2});
  const Pod old_pod = world.cluster.pod("a", "db-0").value();
  world.cluster.Cordon(old_pod.node_name);
  world.Evict(old_pod);
  world.cluster.Advance(absl::Seconds(1));
  CHECK(world.cluster.pods().size() == 2);
  CHECK(world.cluster.pod("a", "db-0")->ref.uid == old_pod.ref.uid);
  world.cluster.Advance(absl::Seconds(1));
  const Pod successor = world.cluster.pod("a", "db-0").value();
  CHECK(successor.ref.uid != old_pod.ref.uid);
  CHECK(successor.node_name != old_pod.node_name);
  CHECK(world.cluster.EvictPod(world.context, {.pod = old_pod.ref})->gone);
}

TEST_CASE("a successor stays pending and unbound until a node fits") {
  World world;
  world.cluster.AddWorkload({.ns = "a", .name = "web", .node_selector = {{"gpu", "true"}}, .replicas = 1});
  REQUIRE(world.cluster.pods().size() == 1);
  const Pod waiting = world.cluster.pods().front();
  CHECK(waiting.node_name.empty());
  CHECK(waiting.phase == PodPhase::kPending);
  world.cluster.Advance(absl::Hours(1));
  CHECK(world.cluster.pods().front() == waiting);
  SECTION("a node gets the label") {
    world.cluster.EditNode("n2", [](Node& node) { node.labels["gpu"] = "true"; });
    CHECK(world.On("n2").size() == 1);
  }
  SECTION("a matching node is added") {
    world.cluster.AddNode(NodeBuilder("n4").WithLabel("gpu", "true").Build());
    CHECK(world.On("n4").size() == 1);
  }
  SECTION("a matching node is uncordoned") {
    world.cluster.AddNode(NodeBuilder("n4").WithLabel("gpu", "true").Cordoned().Build());
    CHECK(world.On("n4").empty());
    world.cluster.Uncordon("n4");
    CHECK(world.On("n4").size() == 1);
  }
  SECTION("a matching node becomes ready") {
    world.cluster.AddNode(NodeBuilder("n4").WithLabel("gpu", "true").NotReady().Build());
    CHECK(world.On("n4").empty());
    world.cluster.SetNodeReady("n4", true);
    CHECK(world.On("n4").size() == 1);
  }
}

TEST_CASE("a bare pod is bound and started, but not replaced") {
  World world;
  const Pod pod = world.cluster.AddPod(PodBuilder("a", "bare").Pending().Build(), {.start_delay = absl::Seconds(3)});
  CHECK(world.cluster.pod("a", "bare")->node_name == "n1");
  world.cluster.Advance(absl::Seconds(3));
  CHECK(IsReady(world.cluster.pod("a", "bare").value()));
  world.Evict(pod);
  world.cluster.Advance(absl::Hours(1));
  CHECK(world.cluster.pods().empty());
}

TEST_CASE("adding pods with a ReplicaSet as owner creates the ReplicaSet, which keeps their number constant") {
  World world;
  const Pod one = world.cluster.AddPod(
      PodBuilder("a", "web-1").OnNode("n1").OwnedByReplicaSet("web").WithLabel("app", "web").WithEmptyDir().Build());
  const Pod two = world.cluster.AddPod(
      PodBuilder("a", "web-2").OnNode("n2").OwnedByReplicaSet("web").WithLabel("app", "web").WithEmptyDir().Build());
  REQUIRE(ControllerOf(one) != nullptr);
  CHECK_FALSE(ControllerOf(one)->uid.empty());
  CHECK(ControllerOf(one)->uid == ControllerOf(two)->uid);
  world.Evict(one);
  world.cluster.Advance(absl::Minutes(1));
  // The old pod was still running on its node when the successor was placed.
  REQUIRE(world.On("n3").size() == 1);
  const Pod successor = world.On("n3").front();
  CHECK(successor.labels == one.labels);
  CHECK(successor.has_empty_dir);
  CHECK(world.cluster.pods().size() == 2);
  // Adding a pod with an existing name does not increase the number of pods that the ReplicaSet keeps.
  world.cluster.AddPod(PodBuilder("a", "web-2").OnNode("n3").OwnedByReplicaSet("web").Build());
  world.cluster.Advance(absl::Minutes(1));
  CHECK(world.cluster.pods().size() == 2);
}

TEST_CASE("a pod of a Job succeeds when its run time has passed, and is not replaced") {
  World world;
  world.cluster.AddPod(PodBuilder("a", "job-1").OnNode("n1").OwnedByJob("job").Build(),
                       {.run_time = absl::Minutes(10)});
  world.cluster.Advance(absl::Minutes(10) - absl::Seconds(1));
  CHECK(IsReady(world.cluster.pod("a", "job-1").value()));
  world.cluster.Advance(absl::Seconds(1));
  CHECK(world.cluster.pod("a", "job-1")->phase == PodPhase::kSucceeded);
  world.cluster.Advance(absl::Hours(1));
  CHECK(world.cluster.pods().size() == 1);
}

TEST_CASE("the pods of a removed node are replaced on other nodes") {
  World world;
  world.cluster.AddWorkload({.ns = "a", .name = "web", .replicas = 3});
  world.cluster.RemoveNode("n1");
  world.cluster.Advance(absl::Minutes(1));
  CHECK(world.On("n1").empty());
  CHECK(world.cluster.pods().size() == 3);
  for (const Pod& pod : world.cluster.pods()) CHECK(IsReady(pod));
}

}  // namespace
}  // namespace driverupgrade
