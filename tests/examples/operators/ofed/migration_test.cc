#include "ofed/migration.h"

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "support/node_under_test.h"
#include "unit/wire/scripted_transport.h"

namespace driverupgrade::tests {
namespace {

using ofed_operator::LegacyAnnotationPatches;
using ofed_operator::Migration;
using ofed_operator::OldDaemonSets;
using ofed_operator::RequestPatches;
using testing::FakeClock;
using testing::FakeCluster;
using testing::NodeBuilder;

constexpr char kRequested[] = "nvidia.com/ofed-driver-upgrade-requested";

TEST_CASE("upstream 2.3: the legacy annotation is removed from nodes") {
  const auto patches = LegacyAnnotationPatches({NodeBuilder("a").WithUid("ua").WithResourceVersion("1").Build(),
                                                NodeBuilder("b")
                                                    .WithUid("ub")
                                                    .WithResourceVersion("2")
                                                    .WithAnnotation("nvidia.com/ofed-upgrade-state", "Done")
                                                    .Build()});
  REQUIRE(patches.size() == 1);
  CHECK(patches[0] == PatchNodeParams{.name = "b",
                                      .uid = "ub",
                                      .resource_version = "2",
                                      .annotations = {{"nvidia.com/ofed-upgrade-state", std::nullopt}}});
}

TEST_CASE(
    "upstream 2.6: DaemonSets without a format are old, and upgrades are requested once for the nodes of their pods") {
  const DaemonSet old{.name = "old", .uid = "ds"};
  const DaemonSet present{.name = "new", .labels = {{"mofed-ds-format-version", "1"}}};
  const auto found = OldDaemonSets({present, old});
  REQUIRE(found.size() == 1);
  CHECK(found[0].name == "old");
  const std::vector<Node> nodes = {NodeBuilder("n1").WithUid("u1").Build(), NodeBuilder("n2").WithUid("u2").Build(),
                                   NodeBuilder("n3").WithAnnotation(kRequested, "true").Build()};
  const auto pod_on = [](const std::string& node, const std::string& ds) {
    return testing::PodBuilder("net", "pod-" + node).OnNode(node).OwnedByDaemonSet("old", "h", ds).Build();
  };
  const auto patches =
      RequestPatches(nodes, {pod_on("n1", "ds"), pod_on("n2", "another"), pod_on("n3", "ds")}, old, Ofed());
  REQUIRE(patches.size() == 1);
  CHECK(patches[0].name == "n1");
  CHECK(patches[0].annotations.at(kRequested) == "true");
}

/// An old DaemonSet on two nodes, whose pods have no owner label. The transport responds to requests that ClusterFacade
/// does not support.
struct World {
  std::shared_ptr<FakeCluster> cluster = std::make_shared<FakeCluster>(std::make_shared<FakeClock>());
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  Migration migration{cluster, std::make_shared<const ObjectClient>(transport, "op"), "net", Ofed(),
                      [](const LogRecord&) {}};

  World() {
    for (const char* name : {"n1", "n2"}) {
      cluster->AddNode(NodeBuilder(name).WithAnnotation("nvidia.com/ofed-upgrade-state", "Done").Build());
    }
    cluster->AddDaemonSet({.ns = "net",
                           .name = "mofed",
                           .labels = {{"nvidia.com/ofed-driver", ""}},
                           .match_labels = {{"app", "mofed"}},
                           .template_labels = {{"nvidia.com/ofed-driver", ""}}});
  }
  void AnswerPodPatches() {
    for (const Pod& pod : cluster->daemon_set_pods("net", "mofed")) {
      transport->Answer(200, R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":")" + pod.ref.name +
                                 R"(","namespace":"net","uid":"u","resourceVersion":"1"}})");
    }
  }
  int Requested() const {
    int count = 0;
    for (const Node& node : cluster->nodes()) count += static_cast<int>(node.annotations.count(kRequested));
    return count;
  }
};

TEST_CASE("all steps run in an order that survives a crash") {
  World world;
  world.AnswerPodPatches();
  world.transport->Answer(200, R"({"kind":"Status","status":"Success"})");
  REQUIRE(world.migration.Run({}, true).ok());
  CHECK(world.Requested() == 2);
  for (const Node& node : world.cluster->nodes())
    CHECK_FALSE(node.annotations.contains("nvidia.com/ofed-upgrade-state"));
  REQUIRE(world.transport->requests.size() == 3);
  CHECK(world.transport->requests[0].body.find(R"("ds-owner":"NicClusterPolicy")") != std::string::npos);
  CHECK(world.transport->lines[2] == "DELETE /apis/apps/v1/namespaces/net/daemonsets/mofed");
  CHECK(world.transport->requests[2].body.find(R"("propagationPolicy":"Orphan")") != std::string::npos);
}

TEST_CASE("after a failed step the later steps are skipped, and the failed step is repeated") {
  World world;
  world.cluster->FailNext(Operation::kPatchNode, absl::AbortedError("modified"));
  CHECK(absl::IsAborted(world.migration.Run({}, true)));
  world.AnswerPodPatches();
  world.transport->Answer(403, StatusBody(403, "Forbidden", "cannot delete resource daemonsets"));
  CHECK(absl::IsPermissionDenied(world.migration.Run({}, true)));
  CHECK(world.Requested() == 2);
  const auto patched = world.cluster->CallCount(Operation::kPatchNode);
  world.AnswerPodPatches();
  world.transport->Answer(404, StatusBody(404, "NotFound", "gone"));
  CHECK(world.migration.Run({}, true).ok());
  CHECK(world.cluster->CallCount(Operation::kPatchNode) == patched);
}

TEST_CASE("a policy without a driver leaves its DaemonSets in place") {
  World world;
  world.AnswerPodPatches();
  CHECK(world.migration.Run({}, false).ok());
  CHECK(world.Requested() == 0);
  CHECK(world.transport->requests.size() == 2);
}

}  // namespace
}  // namespace driverupgrade::tests
