// Helpers for ObjectStore tests: objects with a version, and a store with two nodes.
#ifndef DRIVERUPGRADE_TESTS_UNIT_OBJECT_STORE_WORLD_H_
#define DRIVERUPGRADE_TESTS_UNIT_OBJECT_STORE_WORLD_H_

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "read/object_store.h"
#include "support/catch.h"

namespace driverupgrade::internal {

using Names = std::set<std::string>;

inline Node NodeAt(std::string name, std::string version, bool unschedulable = false) {
  return {.name = name, .uid = name + "-uid", .resource_version = std::move(version), .unschedulable = unschedulable};
}

inline Pod PodAt(std::string name, std::string node, std::string version) {
  return {.ref = {.ns = "team-a", .name = name, .uid = name + "-uid"},
          .resource_version = std::move(version),
          .node_name = std::move(node)};
}

/// A store with the nodes n1 and n2, and without pending changes. Driver 0 is interested in n1.
struct Store : ObjectStore {
  Store() : ObjectStore(2) {
    NodesListed({NodeAt("n1", "1", true), NodeAt("n2", "2")}, "2");
    PodsBegin();
    SetInterest(0, {"n1"});
    Take(0);
    Take(1);
  }
  void ListPods(const std::string& node, std::vector<Pod> pods) {
    const auto ticket = BeginPodList(node);
    REQUIRE(ticket);
    REQUIRE(EndPodList(node, *ticket, std::move(pods)));
    Take(0);
    Take(1);
  }
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_TESTS_UNIT_OBJECT_STORE_WORLD_H_
