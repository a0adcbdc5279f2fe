#include "driverupgrade/pod_manager.h"

#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

TEST_CASE("If a node has several driver pods, all must be ready, regardless of their order in the list") {
  const Pod ready = DriverPod("new", "driver-a").Build();
  const Pod starting = DriverPod("new", "driver-b").NotReady().Build();
  for (const std::vector<Pod>& pods : {std::vector{ready, starting}, std::vector{starting, ready}}) {
    NodeUnderTest node("pod-restart-required");
    node.WithDriverPods(pods);
    const DriverPods driver = PodManager().Assess(node.view, node.facts, "", 10);
    CHECK(driver.InSync());
    CHECK_FALSE(driver.ready);
    REQUIRE(driver.not_ready);
    CHECK(driver.not_ready->ref.name == "driver-b");
  }
}

TEST_CASE("A driver counts as crashing only if the container that is not ready has too many restarts") {
  for (const bool by_another : {true, false}) {
    Pod pod = DriverPod("new").NotReady().Build();
    pod.container_statuses = {{.ready = by_another, .restart_count = 11}, {.ready = !by_another, .restart_count = 0}};
    NodeUnderTest node("pod-restart-required");
    node.WithDriverPods({pod});
    const DriverPods driver = PodManager().Assess(node.view, node.facts, "", 10);
    CHECK((driver.failing != nullptr) == !by_another);
  }
}

// Kubernetes would not replace a pod whose owner does not control it. The target revision for such a pod is unknown.
TEST_CASE("A driver pod with an owner that does not control it is not an orphan, but its revision is unknown") {
  for (const bool owned : {true, false}) {
    Pod pod = DriverPod("new").Build();
    pod.owners = {};
    if (owned) pod.owners = {{.kind = "DaemonSet", .name = "driver", .uid = "ds", .controller = false}};
    NodeUnderTest node("pod-restart-required");
    node.WithDriverPods({pod});
    const DriverPods driver = PodManager().Assess(node.view, node.facts, "", 10);
    CHECK(driver.unknown == owned);
    CHECK(driver.orphaned == !owned);
    CHECK(driver.to_restart.empty() == owned);
  }
}

ControllerRevision Revision(const std::string& hash, std::int64_t number, std::uint64_t digest = 0) {
  return {.name = "driver-" + hash, .owner_uid = "ds", .revision = number, .template_digest = {digest}};
}

// The DaemonSet controller gives a new revision a higher number than all revisions that it has seen. The controller's
// watch may lag, for instance in the minute after an API server outage (kubernetes#80698).
TEST_CASE("The engine targets the revision with the DaemonSet's template, whatever its number is") {
  const DaemonSet daemon_set{.name = "driver", .uid = "ds", .template_digest = {7}};
  for (const std::int64_t number : {4, 5, 6}) {
    INFO(number);
    CHECK(WantedRevision(daemon_set, {Revision("old", 5, 6), Revision("new", number, 7)}).wanted_revision == "new");
  }
  // A newer API server may fill in fields that the controller does not know. In that case, no revision has the
  // DaemonSet's template.
  CHECK(WantedRevision(daemon_set, {Revision("old", 5, 6), Revision("new", 6, 8)}).wanted_revision == "new");
}

TEST_CASE("Without template digests, the target revision is unknown while two revisions share the highest number") {
  const DaemonSet daemon_set{.ns = "gpu", .name = "driver", .uid = "ds"};
  CHECK(WantedRevision(daemon_set, {Revision("a", 1), Revision("b", 2)}).wanted_revision == "b");
  const DriverDaemonSet unknown = WantedRevision(daemon_set, {Revision("a", 1), Revision("b", 1)});
  CHECK_FALSE(unknown.wanted_revision);
  CHECK(unknown.why_unknown ==
        "DaemonSet gpu/driver: its ControllerRevisions driver-a and driver-b both have number 1; its controller "
        "corrects that when it next syncs the DaemonSet");
}

}  // namespace
}  // namespace driverupgrade::tests
