#include <algorithm>
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

// The DaemonSet gpu/driver on n1 and n2.
struct World {
  explicit World(testing::FakeClusterOptions options = {}) : cluster(clock, options) {
    cluster.AddNode(NodeBuilder("n1").WithLabel("gpu", "true").Build());
    cluster.AddNode(NodeBuilder("n2").WithLabel("gpu", "true").Build());
    cluster.AddNode(NodeBuilder("cpu").Build());
    daemon_set = cluster.AddDaemonSet({.ns = "gpu",
                                       .name = "driver",
                                       .labels = {{"app", "driver"}},
                                       .template_labels = {{"component", "driver"}},
                                       .node_selector = {{"gpu", "true"}},
                                       .hash = "aaa",
                                       .behavior = {.start_delay = absl::Seconds(20)}});
  }

  std::vector<Pod> On(const std::string& node_name) {
    return cluster.ListPods(context, {.ns = "gpu", .node_name = node_name}).value();
  }
  void Delete(const Pod& pod) { REQUIRE(cluster.DeletePod(context, {.pod = pod.ref}).ok()); }
  std::vector<ControllerRevision> Revisions() {
    return cluster.ListControllerRevisions(context, {.ns = "gpu"}).value();
  }

  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  FakeCluster cluster;
  CallContext context = {};
  DaemonSet daemon_set = {};
};

TEST_CASE("a DaemonSet has one ready pod on each matching node, with the labels and owners that Kubernetes sets (R3)") {
  World world;
  CHECK(world.cluster.daemon_set_pods("gpu", "driver").size() == 2);
  CHECK(world.On("cpu").empty());
  REQUIRE(world.On("n1").size() == 1);
  const Pod pod = world.On("n1").front();
  CHECK(pod.ref.name.substr(0, 7) == "driver-");
  CHECK(pod.ref.name.size() == 7 + 5);
  CHECK(pod.labels == StringMap{{"app", "driver"}, {"component", "driver"}, {"controller-revision-hash", "aaa"}});
  CHECK(RevisionHash(pod) == "aaa");
  CHECK(IsReady(pod));
  CHECK(IsDaemonSetPod(pod));
  REQUIRE(ControllerOf(pod) != nullptr);
  CHECK(ControllerOf(pod)->uid == world.daemon_set.uid);
  CHECK(world.daemon_set.selector.Matches(pod.labels));
  CHECK(world.cluster.ListDaemonSets(world.context, {.ns = "gpu"}).value() == world.cluster.daemon_sets());
  CHECK(world.cluster.daemon_sets().front().observed_generation == 1);
}

TEST_CASE("a new template creates a revision with the highest number, and does not change the pods (R1, R5, R15)") {
  World world;
  REQUIRE(world.cluster.SetTemplate("gpu", "driver", "bbb"));
  const std::vector<ControllerRevision> revisions = world.Revisions();
  REQUIRE(revisions.size() == 2);
  CHECK(revisions[1].name == "driver-bbb");
  CHECK(revisions[1].revision == 2);
  CHECK(revisions[1].owner_uid == world.daemon_set.uid);
  CHECK(revisions[1].labels.at("controller-revision-hash") == "bbb");
  CHECK(revisions[1].labels.at("app") == "driver");
  const DaemonSet changed = world.cluster.daemon_sets().front();
  CHECK(changed.generation == 2);
  CHECK(changed.observed_generation == 2);
  world.cluster.Advance(absl::Hours(1));
  CHECK(RevisionHash(world.On("n1").front()) == "aaa");
  CHECK_FALSE(world.cluster.SetTemplate("gpu", "absent", "bbb"));
}

TEST_CASE("a revision contains the template that it represents (R3)") {
  World world;
  REQUIRE(world.cluster.SetTemplate("gpu", "driver", "bbb", R"({"spec":{"x":1}})"));
  REQUIRE(world.cluster.SetTemplate("gpu", "driver", "ccc"));
  const std::vector<ControllerRevision> revisions = world.Revisions();
  REQUIRE(revisions.size() == 3);
  CHECK(revisions[0].data ==
        R"({"spec":{"template":{"$patch":"replace","spec":{"containers":[{"image":"driver:aaa","name":"driver"}]}}}})");
  CHECK(revisions[1].data == R"({"spec":{"template":{"spec":{"x":1}}}})");
  CHECK(revisions[2].data != revisions[0].data);
  REQUIRE(world.cluster.SetTemplate("gpu", "driver", "bbb"));
  CHECK(world.Revisions()[1].data == revisions[1].data);
  world.cluster.AddDaemonSet({.ns = "gpu", .name = "other", .template_json = "{}"});
  CHECK(world.Revisions().back().data == R"({"spec":{"template":{}}})");
}

TEST_CASE("a template that is set again reuses its old revision with a higher number (R6)") {
  World world;
  REQUIRE(world.cluster.SetTemplate("gpu", "driver", "bbb"));
  world.cluster.Settle();
  REQUIRE(world.cluster.SetTemplate("gpu", "driver", "aaa"));
  const std::vector<ControllerRevision> revisions = world.Revisions();
  REQUIRE(revisions.size() == 2);
  CHECK(revisions[0].name == "driver-aaa");
  CHECK(revisions[0].revision == 3);
  CHECK(revisions[1].revision == 2);
  CHECK(world.cluster.daemon_sets().front().generation == 3);
}

TEST_CASE(
    "until the controller has observed a template, it creates no revision, and new pods have the old template (R10)") {
  World world({.template_delay = absl::Seconds(3)});
  REQUIRE(world.cluster.SetTemplate("gpu", "driver", "bbb"));
  CHECK(world.cluster.daemon_sets().front().generation == 2);
  CHECK(world.cluster.daemon_sets().front().observed_generation == 1);
  CHECK(world.Revisions().size() == 1);
  world.cluster.RemovePod("gpu", world.On("n1").front().ref.name);
  CHECK(RevisionHash(world.On("n1").front()) == "aaa");
  world.cluster.Advance(absl::Seconds(3));
  CHECK(world.cluster.daemon_sets().front().observed_generation == 2);
  CHECK(world.Revisions().size() == 2);
}

TEST_CASE("a deleted driver pod is replaced once it has terminated, by a pod of the new template (R15, R16)") {
  World world;
  REQUIRE(world.cluster.SetTemplate("gpu", "driver", "bbb"));
  const Pod old_pod = world.On("n1").front();
  world.Delete(old_pod);
  world.cluster.Advance(absl::Seconds(1));
  REQUIRE(world.On("n1").size() == 1);
  CHECK(world.On("n1").front().deletion_timestamp.has_value());
  world.cluster.Advance(absl::Seconds(1));
  REQUIRE(world.On("n1").size() == 1);
  const Pod starting = world.On("n1").front();
  CHECK(starting.ref.uid != old_pod.ref.uid);
  CHECK(starting.ref.name != old_pod.ref.name);
  CHECK(starting.phase == PodPhase::kPending);
  CHECK(RevisionHash(starting) == "bbb");
  world.cluster.Advance(absl::Seconds(19));
  CHECK_FALSE(IsReady(world.On("n1").front()));
  world.cluster.Advance(absl::Seconds(1));
  CHECK(IsReady(world.On("n1").front()));
}

TEST_CASE("a slow controller leaves a node without a driver pod for a while (R19)") {
  World world({.controller_delay = absl::Seconds(5)});
  world.cluster.RemovePod("gpu", world.On("n1").front().ref.name);
  world.cluster.Advance(absl::Seconds(4));
  CHECK(world.On("n1").empty());
  world.cluster.Advance(absl::Seconds(1));
  CHECK(world.On("n1").size() == 1);
}

TEST_CASE("a driver pod that never terminates blocks its successor (R16)") {
  World world;
  const Pod pod = world.On("n1").front();
  world.cluster.SetPodBehavior("gpu", pod.ref.name, {.stop_delay = absl::InfiniteDuration()});
  world.Delete(pod);
  world.cluster.Advance(absl::Hours(1));
  REQUIRE(world.On("n1").size() == 1);
  CHECK(world.On("n1").front().ref.uid == pod.ref.uid);
}

TEST_CASE("a cordoned node and a node that is not ready still get driver pods (R17)") {
  World world;
  world.cluster.Cordon("n1");
  world.Delete(world.On("n1").front());
  world.cluster.Advance(absl::Minutes(1));
  REQUIRE(world.On("n1").size() == 1);
  CHECK(IsReady(world.On("n1").front()));
  world.cluster.AddNode(NodeBuilder("n3").WithLabel("gpu", "true").NotReady().Build());
  REQUIRE(world.On("n3").size() == 1);
  CHECK(world.On("n3").front().phase == PodPhase::kPending);
}

TEST_CASE("driver pods are created and removed when nodes are added or removed, or when the labels of nodes change") {
  World world;
  world.cluster.EditNode("cpu", [](Node& node) { node.labels["gpu"] = "true"; });
  CHECK(world.On("cpu").size() == 1);
  world.cluster.EditNode("cpu", [](Node& node) { node.labels.clear(); });
  world.cluster.Advance(absl::Minutes(1));
  CHECK(world.On("cpu").empty());
  world.cluster.RemoveNode("n1");
  CHECK(world.On("n1").empty());
  world.cluster.AddNode(NodeBuilder("n1").WithLabel("gpu", "true").Build());
  CHECK(world.On("n1").size() == 1);
}

TEST_CASE("a driver pod that matches a crash rule is not ready, and keeps restarting until the rule is removed") {
  World world;
  REQUIRE(world.cluster.AddCrashRule("gpu", "driver", "bbb", "n1"));
  REQUIRE(world.cluster.SetTemplate("gpu", "driver", "bbb"));
  for (const char* name : {"n1", "n2"}) world.Delete(world.On(name).front());
  world.cluster.Advance(absl::Seconds(22));
  CHECK(IsReady(world.On("n2").front()));
  CHECK(world.On("n1").front().phase == PodPhase::kRunning);
  CHECK_FALSE(IsReady(world.On("n1").front()));
  // The pod has restarted after pauses of 10, 20, and 40 seconds.
  world.cluster.Advance(absl::Seconds(70));
  CHECK(world.On("n1").front().container_statuses.front().restart_count == 3);
  world.cluster.Advance(absl::Hours(1));
  CHECK(IsFailing(world.On("n1").front(), 10));
  REQUIRE(world.cluster.ClearCrashRules("gpu", "driver"));
  world.cluster.Advance(absl::Minutes(5));
  CHECK(IsReady(world.On("n1").front()));
}

TEST_CASE("a crash rule without a hash or a node applies to every pod that starts, but not to running pods") {
  World world;
  REQUIRE(world.cluster.AddCrashRule("gpu", "driver", ""));
  world.cluster.Advance(absl::Hours(1));
  CHECK(IsReady(world.On("n1").front()));
  world.Delete(world.On("n1").front());
  world.cluster.Advance(absl::Hours(1));
  CHECK_FALSE(IsReady(world.On("n1").front()));
  CHECK_FALSE(world.cluster.AddCrashRule("gpu", "absent", ""));
}

TEST_CASE("a driver pod can be set to not ready, and failed pods are replaced (R16)") {
  World world;
  const Pod pod = world.On("n1").front();
  REQUIRE(world.cluster.SetPodReady("gpu", pod.ref.name, false));
  CHECK_FALSE(IsReady(world.On("n1").front()));
  REQUIRE(world.cluster.EditPod("gpu", pod.ref.name, [](Pod& edited) { edited.phase = PodPhase::kFailed; }));
  world.cluster.Advance(absl::Minutes(1));
  REQUIRE(world.On("n1").size() == 1);
  CHECK(world.On("n1").front().ref.uid != pod.ref.uid);
  CHECK(IsReady(world.On("n1").front()));
}

TEST_CASE("a second driver pod that a test adds to a node belongs to the DaemonSet") {
  World world;
  const Pod second =
      world.cluster.AddPod(PodBuilder("gpu", "second").OnNode("n1").OwnedByDaemonSet("driver", "old").Build());
  CHECK(ControllerOf(second)->uid == world.daemon_set.uid);
  CHECK(world.cluster.daemon_set_pods("gpu", "driver").size() == 3);
  world.Delete(second);
  world.cluster.Advance(absl::Minutes(1));
  CHECK(world.On("n1").size() == 1);
}

TEST_CASE("removing a DaemonSet removes its pods and revisions, or orphans them") {
  World world;
  SECTION("the pods are removed") {
    REQUIRE(world.cluster.RemoveDaemonSet("gpu", "driver"));
    CHECK(world.Revisions().empty());
    world.cluster.Advance(absl::Minutes(1));
    CHECK(world.cluster.pods().empty());
  }
  SECTION("the pods are orphaned") {
    REQUIRE(world.cluster.RemoveDaemonSet("gpu", "driver", /*orphan=*/true));
    REQUIRE(world.On("n1").size() == 1);
    const Pod orphan = world.On("n1").front();
    CHECK(orphan.owners.empty());
    CHECK(RevisionHash(orphan) == "aaa");
    world.Delete(orphan);
    world.cluster.Advance(absl::Minutes(1));
    CHECK(world.On("n1").empty());
  }
  CHECK(world.cluster.daemon_sets().empty());
  CHECK_FALSE(world.cluster.RemoveDaemonSet("gpu", "driver"));
}

TEST_CASE("a DaemonSet can be added with pods that start later, and with RollingUpdate") {
  World world;
  const DaemonSet ofed = world.cluster.AddDaemonSet({.ns = "net",
                                                     .name = "ofed",
                                                     .on_delete = false,
                                                     .behavior = {.start_delay = absl::Seconds(7)},
                                                     .started = false});
  CHECK_FALSE(ofed.on_delete);
  CHECK(world.cluster.daemon_set_pods("net", "ofed").size() == 3);
  CHECK(world.cluster.daemon_set_pods("net", "ofed").front().phase == PodPhase::kPending);
  world.cluster.Advance(absl::Seconds(7));
  CHECK(IsReady(world.cluster.daemon_set_pods("net", "ofed").front()));
}

TEST_CASE("with RollingUpdate pods are replaced one at a time, and immediately if they are not ready") {
  World world;
  world.cluster.AddDaemonSet({.ns = "net",
                              .name = "ofed",
                              .hash = "aaa",
                              .on_delete = false,
                              .behavior = {.start_delay = absl::Seconds(20), .stop_delay = absl::Seconds(5)}});
  const auto with_hash = [&](const char* hash) {
    const std::vector<Pod> pods = world.cluster.daemon_set_pods("net", "ofed");
    return std::count_if(pods.begin(), pods.end(), [&](const Pod& pod) {
      return RevisionHash(pod) == hash && IsReady(pod) && !pod.deletion_timestamp;
    });
  };
  SECTION("all are ready") {
    REQUIRE(world.cluster.SetTemplate("net", "ofed", "bbb"));
    for (int replaced = 0; replaced < 3; ++replaced) {
      world.cluster.Advance(absl::Seconds(1));
      CHECK(with_hash("aaa") == 2 - replaced);
      CHECK(with_hash("bbb") == replaced);
      world.cluster.Advance(absl::Seconds(24));
    }
  }
  SECTION("one is not ready, and the others wait for its successor") {
    const std::vector<Pod> pods = world.cluster.daemon_set_pods("net", "ofed");
    REQUIRE(world.cluster.SetPodReady("net", pods.back().ref.name, false));
    REQUIRE(world.cluster.SetTemplate("net", "ofed", "bbb"));
    world.cluster.Advance(absl::Seconds(24));
    CHECK(with_hash("aaa") == 2);
    CHECK(with_hash("bbb") == 0);
    world.cluster.Advance(absl::Seconds(51));
  }
  SECTION("a node that is not ready blocks the update until the node is ready again") {
    REQUIRE(world.cluster.SetNodeReady("n1", false));
    REQUIRE(world.cluster.SetTemplate("net", "ofed", "bbb"));
    world.cluster.Advance(absl::Minutes(5));
    CHECK(with_hash("bbb") == 0);
    REQUIRE(world.cluster.SetNodeReady("n1", true));
    world.cluster.Advance(absl::Minutes(2));
  }
  CHECK(with_hash("bbb") == 3);
  world.cluster.Advance(absl::Minutes(10));
  CHECK(with_hash("bbb") == 3);
}

}  // namespace
}  // namespace driverupgrade
