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

struct World {
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  FakeCluster cluster{clock};
  CallContext context = {};
};

PatchNodeParams PatchOf(const Node& node) {
  return {.name = node.name, .uid = node.uid, .resource_version = node.resource_version};
}

TEST_CASE("a patch merges labels and annotations, sets the cordon, and creates a new version (api-A22)") {
  World world;
  const Node node = world.cluster.AddNode(
      NodeBuilder("n1").WithLabel("keep", "1").WithLabel("drop", "1").WithAnnotation("a", "old").Build());
  CHECK(node.resource_version == "1001");
  PatchNodeParams params = PatchOf(node);
  params.labels = {{"new", "2"}, {"drop", std::nullopt}, {"absent", std::nullopt}};
  params.annotations = {{"a", "new"}};
  params.unschedulable = true;
  const absl::StatusOr<Node> patched = world.cluster.PatchNode(world.context, params);
  REQUIRE(patched.ok());
  CHECK(patched->labels == StringMap{{"keep", "1"}, {"new", "2"}});
  CHECK(patched->annotations == StringMap{{"a", "new"}});
  CHECK(patched->unschedulable);
  CHECK(patched->resource_version == "1002");
  CHECK(world.cluster.node("n1") == *patched);
  CHECK(world.cluster.GetNode(world.context, {.name = "n1"}).value() == *patched);
}

TEST_CASE("a patch that changes nothing keeps the version") {
  World world;
  const Node node = world.cluster.AddNode(NodeBuilder("n1").WithLabel("a", "1").Build());
  PatchNodeParams params = PatchOf(node);
  params.labels = {{"a", "1"}, {"b", std::nullopt}};
  params.unschedulable = false;
  CHECK(world.cluster.PatchNode(world.context, params).value() == node);
  CHECK(world.cluster.revision() == 1001);
}

TEST_CASE("a patch with another version causes a conflict with the server's message, and changes nothing (api-A24)") {
  World world;
  const Node node = world.cluster.AddNode(NodeBuilder("n1").Build());
  REQUIRE(world.cluster.Cordon("n1"));
  PatchNodeParams params = PatchOf(node);
  params.labels = {{"a", "1"}};
  const absl::Status status = world.cluster.PatchNode(world.context, params).status();
  CHECK(status.code() == absl::StatusCode::kAborted);
  CHECK(std::string(status.message()) ==
        "Operation cannot be fulfilled on nodes \"n1\": the object has been modified; please apply your "
        "changes "
        "to the latest version and try again");
  CHECK(world.cluster.node("n1")->labels.empty());
}

TEST_CASE("a patch with another UID causes a conflict, whatever its version is") {
  World world;
  const Node node = world.cluster.AddNode(NodeBuilder("n1").Build());
  PatchNodeParams params = PatchOf(node);
  params.uid = "other";
  params.unschedulable = true;
  CHECK(world.cluster.PatchNode(world.context, params).status().code() == absl::StatusCode::kAborted);
  CHECK_FALSE(world.cluster.node("n1")->unschedulable);
}

TEST_CASE("a patch needs a name, UID, and version, and an existing node") {
  World world;
  const Node node = world.cluster.AddNode(NodeBuilder("n1").Build());
  PatchNodeParams no_version = PatchOf(node);
  no_version.resource_version.clear();
  CHECK(absl::IsInvalidArgument(world.cluster.PatchNode(world.context, no_version).status()));
  PatchNodeParams no_uid = PatchOf(node);
  no_uid.uid.clear();
  CHECK(absl::IsInvalidArgument(world.cluster.PatchNode(world.context, no_uid).status()));
  PatchNodeParams absent = PatchOf(node);
  absent.name = "n2";
  CHECK(absl::IsNotFound(world.cluster.PatchNode(world.context, absent).status()));
  CHECK(absl::IsNotFound(world.cluster.GetNode(world.context, {.name = "n2"}).status()));
}

TEST_CASE("lists are sorted by name, and can be filtered by selector, namespace, and node") {
  World world;
  for (const char* name : {"n2", "n10", "n1"}) {
    world.cluster.AddNode(NodeBuilder(name).WithLabel("gpu", name[1] == '1' ? "yes" : "no").Build());
  }
  world.cluster.AddPod(PodBuilder("b", "p1").OnNode("n1").Build());
  world.cluster.AddPod(PodBuilder("a", "p2").OnNode("n1").WithLabel("app", "web").Build());
  world.cluster.AddPod(PodBuilder("a", "p1").OnNode("n2").Build());
  auto names = [](const auto& objects) {
    std::vector<std::string> result;
    for (const auto& object : objects.value()) {
      if constexpr (requires { object.ref; }) {
        result.push_back(object.ref.ToString());
      } else {
        result.push_back(object.name);
      }
    }
    return result;
  };
  using Names = std::vector<std::string>;
  CHECK(names(world.cluster.ListNodes(world.context, {})) == Names{"n1", "n10", "n2"});
  const LabelSelector gpu = LabelSelector::FromMatchLabels({{"gpu", "yes"}});
  CHECK(names(world.cluster.ListNodes(world.context, {.label_selector = gpu})) == Names{"n1", "n10"});
  CHECK(names(world.cluster.ListPods(world.context, {})) == Names{"a/p1", "a/p2", "b/p1"});
  CHECK(names(world.cluster.ListPods(world.context, {.ns = "a"})) == Names{"a/p1", "a/p2"});
  CHECK(names(world.cluster.ListPods(world.context, {.node_name = "n1"})) == Names{"a/p2", "b/p1"});
  CHECK(names(world.cluster.ListPods(world.context, {.ns = "b", .node_name = "n1"})) == Names{"b/p1"});
  const LabelSelector web = LabelSelector::FromMatchLabels({{"app", "web"}});
  CHECK(names(world.cluster.ListPods(world.context, {.label_selector = web})) == Names{"a/p2"});
  CHECK(world.cluster.GetPod(world.context, {.ns = "a", .name = "p2"})->labels.count("app") == 1);
  CHECK(absl::IsNotFound(world.cluster.GetPod(world.context, {.ns = "b", .name = "p2"}).status()));
}

TEST_CASE("an administrator can edit everything in a node except its name and UID") {
  World world;
  const Node node = world.cluster.AddNode(NodeBuilder("n1").Build());
  REQUIRE(world.cluster.EditNode("n1", [](Node& edited) {
    edited.name = "n2";
    edited.uid = "other";
    edited.labels["skip"] = "true";
  }));
  const Node edited = world.cluster.node("n1").value();
  CHECK(edited.uid == node.uid);
  CHECK(edited.labels == StringMap{{"skip", "true"}});
  CHECK(edited.resource_version == "1002");
  REQUIRE(world.cluster.Cordon("n1"));
  CHECK(world.cluster.node("n1")->unschedulable);
  REQUIRE(world.cluster.Uncordon("n1"));
  CHECK_FALSE(world.cluster.node("n1")->unschedulable);
  CHECK_FALSE(world.cluster.Cordon("n2"));
}

TEST_CASE("a node that is re-created with the same name has another UID and no pods (fault-F18)") {
  World world;
  const Node before = world.cluster.AddNode(NodeBuilder("n1").WithLabel("state", "drain").Build());
  world.cluster.AddPod(PodBuilder("a", "p").OnNode("n1").Build());
  const Node after = world.cluster.AddNode(NodeBuilder("n1").Build());
  CHECK(after.uid != before.uid);
  CHECK(after.labels.empty());
  CHECK(world.cluster.pods().empty());
  PatchNodeParams params = PatchOf(before);
  params.unschedulable = true;
  CHECK(absl::IsAborted(world.cluster.PatchNode(world.context, params).status()));
}

TEST_CASE("pods of a removed node are deleted after the garbage collection delay, or stay if the node returns") {
  World world;
  FakeCluster cluster(world.clock, {.pod_gc_delay = absl::Seconds(40)});
  cluster.AddNode(NodeBuilder("n1").Build());
  cluster.AddPod(PodBuilder("a", "p").OnNode("n1").Build());
  REQUIRE(cluster.RemoveNode("n1"));
  CHECK_FALSE(cluster.RemoveNode("n1"));
  cluster.Advance(absl::Seconds(39));
  CHECK(cluster.pods().size() == 1);
  SECTION("it is not created again") {
    cluster.Advance(absl::Seconds(1));
    CHECK(cluster.pods().empty());
  }
  SECTION("it is created again") {
    cluster.AddNode(NodeBuilder("n1").Build());
    cluster.Advance(absl::Hours(1));
    CHECK(cluster.pods().size() == 1);
  }
}

TEST_CASE("a node that is not ready neither starts nor stops pods until it is ready again") {
  World world;
  world.cluster.AddNode(NodeBuilder("n1").Build());
  const Pod old_pod = world.cluster.AddPod(PodBuilder("a", "old").OnNode("n1").Build());
  world.cluster.AddPod(PodBuilder("a", "new").OnNode("n1").Pending().Build());
  REQUIRE(world.cluster.SetNodeReady("n1", false));
  REQUIRE(world.cluster.DeletePod(world.context, {.pod = old_pod.ref}).ok());
  world.cluster.Advance(absl::Hours(1));
  CHECK(world.cluster.pod("a", "old").has_value());
  CHECK(world.cluster.pod("a", "new")->phase == PodPhase::kPending);
  REQUIRE(world.cluster.SetNodeReady("n1", true));
  CHECK_FALSE(world.cluster.pod("a", "old").has_value());
  CHECK(IsReady(world.cluster.pod("a", "new").value()));
}

}  // namespace
}  // namespace driverupgrade
