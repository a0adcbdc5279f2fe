#include "driverupgrade/testing/builders.h"

#include <memory>
#include <string>
#include <vector>

#include "support/catch.h"

namespace driverupgrade {
namespace {

using testing::AddFleet;
using testing::FakeClock;
using testing::FakeCluster;
using testing::Fleet;
using testing::NodeBuilder;
using testing::PodBuilder;

TEST_CASE("a built node is ready and schedulable unless configured otherwise") {
  CHECK(NodeBuilder("n1").Build() == Node{.name = "n1"});
  CHECK(NodeBuilder("n1")
            .WithUid("u")
            .WithResourceVersion("7")
            .WithLabel("a", "1")
            .WithAnnotation("b", "2")
            .Cordoned()
            .NotReady()
            .Build() == Node{.name = "n1",
                             .uid = "u",
                             .resource_version = "7",
                             .labels = {{"a", "1"}},
                             .annotations = {{"b", "2"}},
                             .unschedulable = true,
                             .ready = false});
}

TEST_CASE("a built pod is bare, running, and ready unless configured otherwise") {
  const Pod pod = PodBuilder("team-a", "web-1").OnNode("n1").Build();
  CHECK(pod.ref == PodRef{.ns = "team-a", .name = "web-1"});
  CHECK(pod.node_name == "n1");
  CHECK(IsReady(pod));
  CHECK(ControllerOf(pod) == nullptr);
  CHECK_FALSE(IsFinished(pod));
}

TEST_CASE("a built pod can be in every condition that an upgrade distinguishes") {
  auto builder = [] { return PodBuilder("a", "p"); };
  CHECK(builder().Pending().Build().phase == PodPhase::kPending);
  CHECK(IsFinished(builder().Succeeded().Build()));
  CHECK(IsFinished(builder().Failed().Build()));
  CHECK_FALSE(IsReady(builder().NotReady().Build()));
  CHECK(IsFailing(builder().Crashing(11).Build(), 10));
  CHECK_FALSE(IsFailing(builder().Crashing(10).Build(), 10));
  CHECK(builder().Terminating(absl::FromUnixSeconds(9)).Build().deletion_timestamp == absl::FromUnixSeconds(9));
  CHECK(builder().Mirror().Build().mirror);
  CHECK(builder().WithEmptyDir().Build().has_empty_dir);
  CHECK(builder().WithResource("b").WithResource("a").WithResource("b").Build().resource_names ==
        std::vector<std::string>{"a", "b"});
  const Pod driver = builder().OwnedByDaemonSet("driver", "hash", "ds-uid").Build();
  CHECK(IsDaemonSetPod(driver));
  CHECK(RevisionHash(driver) == "hash");
  CHECK(ControllerOf(driver)->uid == "ds-uid");
  CHECK(ControllerOf(builder().OwnedByReplicaSet("web").Build())->kind == "ReplicaSet");
  CHECK(ControllerOf(builder().OwnedByStatefulSet("db").Build())->kind == "StatefulSet");
  CHECK(ControllerOf(builder().OwnedByJob("job").Build())->api_version == "batch/v1");
}

TEST_CASE("a fleet has a ready driver pod and a ready workload pod on every node, and a disruption budget") {
  FakeCluster cluster(std::make_shared<FakeClock>());
  const Fleet fleet = AddFleet(cluster, {.node_count = 12, .node_labels = {{"gpu", "true"}}});
  REQUIRE(fleet.node_names.size() == 12);
  CHECK(fleet.node_names.front() == "node-01");
  CHECK(fleet.node_names.back() == "node-12");
  const CallContext context;
  for (const std::string& name : fleet.node_names) {
    const std::vector<Pod> pods = cluster.ListPods(context, {.node_name = name}).value();
    REQUIRE(pods.size() == 2);
    CHECK(IsDaemonSetPod(pods[0]));
    CHECK(IsReady(pods[0]));
    CHECK(pods[1].ref.ns == "team-a");
    CHECK(IsReady(pods[1]));
  }
  REQUIRE(cluster.disruption_budgets().size() == 1);
  CHECK(cluster.disruption_budgets().front().disruptions_allowed == 1);
  CHECK(cluster.daemon_sets().front().labels == StringMap{{"app", "driver"}});
}

TEST_CASE("two fleets can share a cluster if their nodes and namespaces differ") {
  FakeCluster cluster(std::make_shared<FakeClock>());
  AddFleet(cluster, {.node_count = 2, .node_prefix = "gpu-", .node_labels = {{"gpu", "true"}}});
  const Fleet ofed = AddFleet(cluster, {.node_count = 3,
                                        .node_prefix = "nic-",
                                        .node_labels = {{"nic", "true"}},
                                        .ns = "nic-system",
                                        .daemon_set = "ofed",
                                        .workload = ""});
  CHECK(cluster.daemon_set_pods(ofed.ns, ofed.daemon_set).size() == 3);
  CHECK(cluster.nodes().size() == 5);
  CHECK(cluster.pods().size() == 2 + 2 + 3);
}

}  // namespace
}  // namespace driverupgrade
