// Tests how an ObjectStore handles lists, watches, and responses (arch-A11, api-A14 to api-A18).
#include "read/object_store.h"

#include "support/catch.h"
#include "unit/object_store_world.h"

namespace driverupgrade::internal {
namespace {

TEST_CASE("W35: only pods other than driver pods are stored with the fields for a pod filter") {
  Store store;
  Pod pod = PodAt("p", "n1", "3");
  pod.annotations = {{"notes", "long"}};
  pod.volumes = {{.name = "host", .kind = "hostPath", .host_path = "/run"}};
  pod.scheduler_name = "default-scheduler";
  store.Listed<Pod>(0, {pod});
  CHECK(store.DriverPods(0, "n1") == std::vector<Pod>{PodAt("p", "n1", "3")});
  store.ListPods("n1", {pod});
  CHECK(store.PodsOn("n1") == std::vector<Pod>{pod});
}

TEST_CASE("api-A8: a list is complete up to its version, so it reveals that the cluster was restored") {
  Store store;
  store.NodeWritten(NodeAt("n1", "10", true));
  store.Take(0);
  SECTION("it is older than the response to a write") {
    store.NodesListed({NodeAt("n1", "1", true), NodeAt("n2", "2")}, "9");
    CHECK(store.FindNode("n1")->resource_version == "10");
    CHECK_FALSE(store.Take(0).set_back);
  }
  SECTION("it is newer than a known object, but contains an older version of the object") {
    store.NodesListed({NodeAt("n1", "8", false), NodeAt("n2", "12")}, "12");
    CHECK(store.FindNode("n1")->resource_version == "8");
    const CacheChanges changes = store.Take(0);
    CHECK(changes.set_back);
    CHECK(changes.nodes == Names{"n1", "n2"});
    CHECK(store.Take(1).set_back);
    CHECK_FALSE(store.Take(0).set_back);
  }
  SECTION("it is older than the previous list") {
    store.NodesListed({NodeAt("n1", "10", true), NodeAt("n2", "20")}, "20");
    store.Take(0);
    store.NodesListed({NodeAt("n1", "1", true), NodeAt("n2", "2")}, "15");
    CHECK(store.FindNode("n2")->resource_version == "2");
    CHECK(store.Take(0).set_back);
  }
  SECTION("it is older than a watch event") {
    store.NodeChanged(NodeAt("n2", "20"));
    store.Take(0);
    store.NodesListed({NodeAt("n1", "10", true), NodeAt("n2", "2")}, "15");
    CHECK(store.FindNode("n2")->resource_version == "2");
    CHECK(store.Take(0).set_back);
  }
  SECTION("a node with another UID is another node") {
    Node other = NodeAt("n1", "8");
    other.uid = "another";
    store.NodesListed({other, NodeAt("n2", "2")}, "12");
    CHECK(store.FindNode("n1")->uid == "another");
    CHECK_FALSE(store.Take(0).set_back);
  }
}

TEST_CASE("api-A8: after a restore, the objects of other kinds are unknown until they are listed again") {
  Store store;
  store.NodesListed({NodeAt("n1", "20")}, "20");
  store.Listed<Pod>(0, {});
  store.Listed<NodeMaintenance>(0, {});
  store.ChangeDevices([](DeviceObjects& devices) { return devices.Listed<ResourceClaim>({}); });
  store.ChangeDevices([](DeviceObjects& devices) {
    return devices.Failed<ResourceSlice>(absl::NotFoundError("the cluster does not serve the kind"));
  });
  REQUIRE(store.Maintenances(0, "n1"));

  store.NodesListed({NodeAt("n1", "10")}, "15");
  CHECK_FALSE(store.IsListed<Pod>(0));
  CHECK_FALSE(store.Maintenances(0, "n1"));
  CHECK_FALSE(store.AreDevicesListed<ResourceClaim>());
  CHECK(store.KnowsClaim("ns", "name") == false);
  store.Take(0);

  store.Listed<Pod>(0, {});
  store.Listed<NodeMaintenance>(0, {});
  store.ChangeDevices([](DeviceObjects& devices) { return devices.Listed<ResourceClaim>({}); });
  CHECK(store.IsListed<Pod>(0));
  CHECK(store.Maintenances(0, "n1"));
  CHECK(store.AreDevicesListed<ResourceClaim>());
  CHECK(store.Take(0).nodes == Names{"n1"});
}

TEST_CASE(
    "Each driver is notified once of a changed node, and is not notified of changes to the pods of other drivers") {
  Store store;
  store.NodeChanged(NodeAt("n1", "3", true));
  CHECK(store.Take(0).nodes == Names{"n1"});
  CHECK(store.Take(0).empty());
  CHECK(store.Take(1).nodes == Names{"n1"});

  store.Listed<Pod>(1, {});
  store.Changed<Pod>(1, PodAt("driver", "n2", "4"));
  CHECK(store.Take(0).empty());
  CHECK(store.Take(1).nodes == Names{"n2"});
  store.Changed<Pod>(1, PodAt("driver", "n2", "4"));
  CHECK(store.Take(1).empty());
  store.Deleted<Pod>(1, PodAt("driver", "n2", "5"));
  CHECK(store.Take(1).nodes == Names{"n2"});
}

TEST_CASE("api-A18: a repeated list reports deleted, added and replaced objects") {
  Store store;
  store.NodesListed({NodeAt("n1", "1", true), NodeAt("n3", "9")}, "9");
  CHECK(store.Take(0).nodes == Names{"n2", "n3"});
  CHECK_FALSE(store.FindNode("n2"));
  CHECK(store.FindNode("n3")->resource_version == "9");

  store.Listed<Pod>(0, {PodAt("a", "n1", "5"), PodAt("b", "", "6")});
  CacheChanges changes = store.Take(0);
  CHECK(changes.nodes == Names{"n1"});
  CHECK(changes.driver);  // because pod b has no node
  store.Listed<Pod>(0, {PodAt("b", "n3", "7")});
  changes = store.Take(0);
  CHECK(changes.nodes == Names{"n1", "n3"});
  CHECK(store.DriverPods(0, "n1").empty());
  CHECK(store.DriverPods(0, "").empty());
}

TEST_CASE("A late watch event does not replace the newer response to a write") {
  Store store;
  store.NodeChanged(NodeAt("n2", "10", true));  // the response to our patch
  store.Take(0);
  store.NodeChanged(NodeAt("n2", "7"));
  CHECK(store.Take(0).empty());
  CHECK(store.FindNode("n2")->unschedulable);
  // A node with the same name but a different UID is a different node.
  Node reborn = NodeAt("n2", "8");
  reborn.uid = "reborn";
  store.NodeChanged(reborn);
  CHECK(store.FindNode("n2")->uid == "reborn");
  // The deletion of the first node does not delete the second node.
  store.NodeDeleted(NodeAt("n2", "9"));
  CHECK(store.FindNode("n2"));
}

TEST_CASE("A node whose UID cannot be read is dropped when its deletion is reported") {
  Store store;
  store.NodeChanged({.name = "n1", .resource_version = "5", .unreadable = "metadata.uid: expected a string"});
  CHECK_FALSE(store.FindNode("n1")->unreadable.empty());
  store.NodeDeleted(NodeAt("n1", "6"));
  CHECK_FALSE(store.FindNode("n1"));
}

TEST_CASE("A NodeMaintenance that cannot be read and names no node may belong to any node") {
  Store store;
  store.Listed<NodeMaintenance>(0, {{.ns = "m", .name = "a", .node_name = "n1"}});
  store.Take(0);
  store.Changed<NodeMaintenance>(0, {.ns = "m", .name = "a", .unreadable = "spec: expected an object, got a number"});
  CHECK(store.Take(0).nodes == Names{"n1", "n2"});
  CHECK_FALSE(store.Maintenances(0, "n1"));
  CHECK_FALSE(store.Maintenances(0, "n2"));
  CHECK(store.Maintenances(0, "")->size() == 1);
  store.Changed<NodeMaintenance>(0, {.ns = "m", .name = "a", .node_name = "n1"});
  CHECK(store.Take(0).nodes == Names{"n1", "n2"});
  CHECK(store.Maintenances(0, "n1")->size() == 1);
  CHECK(store.Maintenances(0, "n2")->empty());
}

TEST_CASE("The response to our own write neither restores a deleted node nor overwrites its successor") {
  Store store;
  store.NodeDeleted(NodeAt("n1", "5"));
  store.NodeWritten(NodeAt("n1", "4"));
  CHECK_FALSE(store.FindNode("n1"));

  Node successor = NodeAt("n1", "7");
  successor.uid = "another";
  store.NodeChanged(successor);
  store.NodeWritten(NodeAt("n1", "6"));
  CHECK(store.FindNode("n1")->uid == "another");
}

TEST_CASE(
    "A new engine receives the complete state, and so does an engine that has not taken changes for a long time") {
  Store store;
  store.Listed<Pod>(0, {PodAt("driver", "n3", "4")});
  store.Take(0);
  store.Attach(0);
  const CacheChanges first = store.Take(0);
  CHECK(first.everything);
  CHECK(first.driver);
  CHECK(first.nodes == Names{"n1", "n2", "n3"});
  CHECK_FALSE(store.BeginPodList("n1"));  // only the previous engine was interested in the node

  for (int i = 0; i < 30'000; ++i) {
    const std::string name = "auto-" + std::to_string(i);
    store.NodeChanged(NodeAt(name, std::to_string(100 + i)));
    store.NodeDeleted(NodeAt(name, std::to_string(100 + i)));
  }
  const CacheChanges late = store.Take(0);
  CHECK(late.everything);
  CHECK(late.nodes == Names{"n1", "n2", "n3"});
}

TEST_CASE("A NodeMaintenance that was created again for another node no longer belongs to the first node") {
  Store store;
  store.Listed<NodeMaintenance>(0, {{.ns = "m", .name = "claim", .uid = "1", .node_name = "n1"}});
  store.Listed<NodeMaintenance>(0, {{.ns = "m", .name = "claim", .uid = "2", .node_name = "n2"}});
  CHECK(store.Maintenances(0, "n1")->empty());
  CHECK(store.Maintenances(0, "n2")->size() == 1);
}

TEST_CASE("NodeMaintenances that have not been read are unknown, not absent") {
  Store store;
  CHECK_FALSE(store.Maintenances(0, "n1"));
  store.Listed<NodeMaintenance>(0, {});
  CHECK(store.Take(0).nodes == Names{"n1", "n2"});
  CHECK(store.Maintenances(0, "n1")->empty());
  const NodeMaintenance object{.ns = "m", .name = "x-n1", .uid = "1", .resource_version = "1", .node_name = "n1"};
  store.Changed<NodeMaintenance>(0, object);
  CHECK(store.Take(0).nodes == Names{"n1"});
  CHECK(store.Maintenances(0, "n1")->size() == 1);
  store.Deleted<NodeMaintenance>(0, object);
  CHECK(store.Maintenances(0, "n1")->empty());
  CHECK_FALSE(store.Maintenances(1, "n1"));
}

TEST_CASE("api-A18: an object that is reported before the first list of its kind is ignored") {
  Store store;
  store.Changed<DaemonSet>(0, {.ns = "d", .name = "driver", .uid = "1"});
  store.Changed<Pod>(0, PodAt("driver", "n1", "4"));
  store.Changed<NodeMaintenance>(0, {.ns = "m", .name = "x-n1", .node_name = "n1"});
  CHECK(store.Take(0).empty());
  CHECK_FALSE(store.IsListed<DaemonSet>(0));
  CHECK_FALSE(store.IsListed<Pod>(0));
  CHECK_FALSE(store.Maintenances(0, "n2"));
  ObjectStore empty(1);
  empty.NodeChanged(NodeAt("n1", "1"));
  CHECK_FALSE(empty.IsListed<Node>(0));
  CHECK_FALSE(empty.FindNode("n1"));
}

TEST_CASE("A changed DaemonSet or revision counts as a change of the whole driver") {
  Store store;
  const DaemonSet daemon_set{.ns = "d", .name = "driver", .uid = "1", .generation = 1};
  store.Listed<DaemonSet>(0, {daemon_set});
  CHECK(store.Take(0).driver);
  store.Changed<DaemonSet>(0, daemon_set);
  CHECK(store.Take(0).empty());
  store.Listed<ControllerRevision>(0, {});
  CHECK(store.Take(0).empty());
  store.Changed<ControllerRevision>(0, {.ns = "d", .name = "driver-1", .revision = 1});
  CHECK(store.Take(0).driver);
  CHECK(store.Revisions(0).size() == 1);
  store.Deleted<DaemonSet>(0, daemon_set);
  CHECK(store.Take(0).driver);
  CHECK(store.DaemonSets(0).empty());
}

}  // namespace
}  // namespace driverupgrade::internal
