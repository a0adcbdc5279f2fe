// Tests when an ObjectStore knows the pods of a node (arch-A11).
#include "read/object_store.h"
#include "support/catch.h"
#include "unit/object_store_world.h"

namespace driverupgrade::internal {
namespace {

Names PodNames(const ObjectStore& store, const std::string& node) {
  Names names;
  for (const Pod& pod : store.PodsOn(node).value_or(std::vector<Pod>{{.ref = {.name = "unknown"}}})) {
    names.insert(pod.ref.name);
  }
  return names;
}

bool PodsKnown(const ObjectStore& store, const std::string& node) {
  CHECK(store.KnowsPodsOn(node) == store.PodsOn(node).has_value());
  return store.KnowsPodsOn(node);
}

Pod Unreadable(Pod pod) {
  pod.unreadable = "status: expected an object, got a number";
  return pod;
}

TEST_CASE("arch-A11: the pods of a node are unknown until they are listed, and are followed from then on") {
  Store store;
  CHECK_FALSE(PodsKnown(store, "n1"));
  store.PodChanged(PodAt("early", "n1", "3"));
  CHECK_FALSE(PodsKnown(store, "n1"));
  store.ListPods("n1", {PodAt("a", "n1", "5")});
  CHECK(PodNames(store, "n1") == Names{"a"});
  store.PodChanged(PodAt("b", "n1", "6"));
  CHECK(store.Take(0).nodes == Names{"n1"});
  store.PodDeleted(PodAt("a", "n1", "7"));
  CHECK(PodNames(store, "n1") == Names{"b"});
  store.PodChanged(PodAt("c", "n2", "8"));
  CHECK_FALSE(PodsKnown(store, "n2"));
}

TEST_CASE("arch-A11: watch events that arrive during a list are kept") {
  Store store;
  const auto ticket = store.BeginPodList("n1");
  REQUIRE(ticket);
  store.PodChanged(PodAt("new", "n1", "9"));    // newer than the list
  store.PodDeleted(PodAt("gone", "n1", "10"));  // newer than the list, which still contains the pod
  store.PodChanged(PodAt("a", "n1", "8"));      // newer than the pod in the list
  store.PodChanged(PodAt("b", "n1", "2"));      // older than the pod in the list
  REQUIRE(store.EndPodList("n1", *ticket, {PodAt("a", "n1", "5"), PodAt("b", "n1", "6"), PodAt("gone", "n1", "4")}));
  CHECK(PodNames(store, "n1") == Names{"new", "a", "b"});
  const std::vector<Pod> pods = *store.PodsOn("n1");
  for (const Pod& pod : pods) {
    if (pod.ref.name == "a") CHECK(pod.resource_version == "8");
    if (pod.ref.name == "b") CHECK(pod.resource_version == "6");
  }
}

TEST_CASE("arch-A11: pods become unknown when the cordon changes, the watch restarts, or no driver needs the node") {
  Store store;
  store.ListPods("n1", {PodAt("a", "n1", "5")});
  SECTION("uncordoned, and cordoned again") {
    store.NodeChanged(NodeAt("n1", "20", false));
    CHECK_FALSE(PodsKnown(store, "n1"));
    store.NodeChanged(NodeAt("n1", "21", true));
    CHECK_FALSE(PodsKnown(store, "n1"));
  }
  SECTION("the pods stay known after another change of the node") {
    store.NodeChanged(NodeAt("n1", "20", true));
    CHECK(PodsKnown(store, "n1"));
  }
  SECTION("uncordoned and cordoned again while the watch was broken, which only a new list shows") {
    store.NodesListed({NodeAt("n1", "20", true), NodeAt("n2", "2")}, "20");
    CHECK_FALSE(PodsKnown(store, "n1"));
    CHECK(store.Take(0).nodes == Names{"n1"});
  }
  SECTION("the pods stay known after a new list with an unchanged node") {
    store.NodesListed({NodeAt("n1", "1", true), NodeAt("n2", "20")}, "20");
    CHECK(PodsKnown(store, "n1"));
  }
  SECTION("the watch starts again") {
    store.PodsBegin();
    CHECK_FALSE(PodsKnown(store, "n1"));
    CHECK(store.Take(0).nodes == Names{"n1"});
  }
  SECTION("no driver is interested") {
    store.SetInterest(1, {"n1"});
    store.SetInterest(0, {});
    CHECK(PodsKnown(store, "n1"));
    store.SetInterest(1, {});
    CHECK_FALSE(PodsKnown(store, "n1"));
  }
}

TEST_CASE("If a pod cannot be read, the pods of its node are unknown until they are listed again") {
  Store store;
  store.SetInterest(1, {"n2"});
  store.ListPods("n1", {PodAt("a", "n1", "5")});
  store.ListPods("n2", {PodAt("b", "n2", "5")});
  SECTION("the unreadable pod names a node") {
    store.PodChanged(Unreadable(PodAt("a", "n1", "6")));
    CHECK_FALSE(PodsKnown(store, "n1"));
    CHECK(PodsKnown(store, "n2"));
    CHECK(store.Take(0).nodes == Names{"n1"});
  }
  SECTION("the unreadable pod names no node, so the pods of every node are unknown") {
    store.PodDeleted(Unreadable(PodAt("a", "", "6")));
    CHECK_FALSE(PodsKnown(store, "n1"));
    CHECK_FALSE(PodsKnown(store, "n2"));
  }
  SECTION("a list is in progress") {
    const auto ticket = store.BeginPodList("n1");
    store.PodChanged(Unreadable(PodAt("c", "n1", "7")));
    CHECK_FALSE(store.EndPodList("n1", *ticket, {PodAt("a", "n1", "5")}));
  }
}

TEST_CASE("arch-A11: a list with a version is used unless it is older than the cordon or the interest in the node") {
  Store store;
  SECTION("older than the cordon") {
    store.NodeChanged(NodeAt("n1", "20", false));
    store.NodeChanged(NodeAt("n1", "21", true));
    store.NodeChanged(NodeAt("n1", "30", true));
    CHECK_FALSE(store.PutPods(0, "n1", "20", {PodAt("a", "n1", "5")}));
    CHECK_FALSE(PodsKnown(store, "n1"));
    CHECK(store.PutPods(0, "n1", "21", {PodAt("a", "n1", "5")}));
    CHECK(PodNames(store, "n1") == Names{"a"});
  }
  SECTION("older than the interest, because the version of the cordon is only kept for nodes of interest") {
    store.NodeChanged(NodeAt("n2", "30"));
    CHECK_FALSE(store.PutPods(0, "n2", "29", {}));
    CHECK(store.PutPods(0, "n2", "30", {}));
    CHECK(PodNames(store, "n2").empty());
  }
  SECTION("older than a list of nodes, which may hide that a cordon was lifted and set again") {
    store.NodesListed({NodeAt("n1", "20", true), NodeAt("n2", "2")}, "20");
    CHECK_FALSE(store.PutPods(0, "n1", "19", {}));
    CHECK(store.PutPods(0, "n1", "20", {}));
  }
  SECTION("for a node that does not exist") { CHECK_FALSE(store.PutPods(0, "n3", "50", {})); }
}

TEST_CASE("arch-A11: a list with a version replaces the previous list, in the order of the UIDs") {
  Store store;
  CHECK(store.PutPods(0, "n1", "5", {PodAt("gone", "n1", "3"), PodAt("a", "n1", "4")}));
  store.Take(0);
  CHECK(store.PutPods(0, "n1", "7", {PodAt("b", "n1", "6"), PodAt("a", "n1", "4")}));
  CHECK(store.PodsOn("n1") == std::vector<Pod>{PodAt("a", "n1", "4"), PodAt("b", "n1", "6")});
  CHECK(store.Take(0).nodes == Names{"n1"});
}

TEST_CASE("If a pod in a host's list cannot be read, the pods of its node are unknown, and the reason names the pod") {
  Store store;
  REQUIRE(store.PutPods(0, "n1", "5", {PodAt("a", "n1", "4")}));
  store.Take(0);
  CHECK_FALSE(store.PutPods(0, "n1", "6", {PodAt("a", "n1", "4"), Unreadable(PodAt("b", "n1", "6"))}));
  CHECK_FALSE(PodsKnown(store, "n1"));
  CHECK(store.WhyNoPods("n1").find("team-a/b") != std::string::npos);
  CHECK(store.Take(0).nodes == Names{"n1"});
  SECTION("a list without the unreadable pod is used") {
    CHECK(store.PutPods(0, "n1", "7", {PodAt("a", "n1", "4")}));
    CHECK(store.WhyNoPods("n1").empty());
  }
  SECTION("the reason is dropped together with the interest in the node") {
    CHECK(store.SetInterest(0, {}) == std::vector<std::string>{"n1"});
    CHECK(store.WhyNoPods("n1").empty());
  }
  SECTION("the reason is dropped when the cordon is lifted") {
    store.NodeChanged(NodeAt("n1", "20", false));
    CHECK(store.WhyNoPods("n1").empty());
  }
}

TEST_CASE("A host's list adds its node to the nodes of interest until the nodes of interest are set again") {
  Store store;
  REQUIRE(store.PutPods(0, "n2", "5", {PodAt("a", "n2", "4")}));
  CHECK(store.SetInterest(0, {"n1"}) == std::vector<std::string>{"n2"});
  CHECK_FALSE(PodsKnown(store, "n2"));
  store.PodsFailed(0, "n2", "the host could not read the pods");
  CHECK(store.WhyNoPods("n2") == "the host could not read the pods");
  CHECK(store.Take(0).nodes == Names{"n2"});
  store.PodsFailed(0, "n3", "there is no such node");
  CHECK(store.WhyNoPods("n3").empty());
}

TEST_CASE("arch-A11: a list that is outdated when it arrives is discarded") {
  Store store;
  const auto ticket = store.BeginPodList("n1");
  REQUIRE(ticket);
  SECTION("because the watch has restarted") { store.PodsBegin(); }
  SECTION("because the cordon has changed") { store.NodeChanged(NodeAt("n1", "20", false)); }
  SECTION("because no driver is interested") { store.SetInterest(0, {}); }
  CHECK_FALSE(store.EndPodList("n1", *ticket, {PodAt("a", "n1", "5")}));
  CHECK_FALSE(PodsKnown(store, "n1"));
}

TEST_CASE("arch-A11: two simultaneous lists of one node's pods do not affect each other") {
  Store store;
  store.SetInterest(1, {"n1"});
  const auto first = store.BeginPodList("n1");
  store.PodChanged(PodAt("late", "n1", "7"));  // after the first list has been served
  const auto second = store.BeginPodList("n1");
  REQUIRE((first && second && *first != *second));

  REQUIRE(store.EndPodList("n1", *first, {PodAt("a", "n1", "5")}));
  CHECK(PodNames(store, "n1") == Names{"a", "late"});
  store.PodDeleted(PodAt("a", "n1", "8"));
  REQUIRE(store.EndPodList("n1", *second, {PodAt("a", "n1", "5"), PodAt("late", "n1", "7")}));
  CHECK(PodNames(store, "n1") == Names{"late"});
  CHECK_FALSE(store.EndPodList("n1", *second, {}));
}

TEST_CASE("arch-A11: a list that is older than the cordon is discarded, even while a newer list is in progress") {
  Store store;
  const auto before = store.BeginPodList("n1");
  store.NodeChanged(NodeAt("n1", "3"));
  store.NodeChanged(NodeAt("n1", "4", true));
  const auto after = store.BeginPodList("n1");
  CHECK_FALSE(store.EndPodList("n1", *before, {}));
  CHECK(PodNames(store, "n1") == Names{"unknown"});
  REQUIRE(store.EndPodList("n1", *after, {PodAt("a", "n1", "5")}));
  CHECK(PodNames(store, "n1") == Names{"a"});
}

TEST_CASE("A failed list does not affect the result of another list") {
  Store store;
  const auto failing = store.BeginPodList("n1");
  store.ListPods("n1", {PodAt("a", "n1", "5")});
  store.AbandonPodList("n1", *failing);
  CHECK(PodNames(store, "n1") == Names{"a"});
}

TEST_CASE("arch-A11: no list starts before the watch of pods has started") {
  ObjectStore store(1);
  store.SetInterest(0, {"n1"});
  CHECK_FALSE(store.BeginPodList("n1"));
}

}  // namespace
}  // namespace driverupgrade::internal
