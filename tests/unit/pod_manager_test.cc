#include "driverupgrade/pod_manager.h"

#include <vector>

#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

TEST_CASE("Of several driver pods on a node each has to be ready, in whatever order they come") {
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

TEST_CASE("A driver keeps crashing by the restarts of the container that is not ready") {
  for (const bool by_another : {true, false}) {
    Pod pod = DriverPod("new").NotReady().Build();
    pod.container_statuses = {{.ready = by_another, .restart_count = 11}, {.ready = !by_another, .restart_count = 0}};
    NodeUnderTest node("pod-restart-required");
    node.WithDriverPods({pod});
    const DriverPods driver = PodManager().Assess(node.view, node.facts, "", 10);
    CHECK((driver.failing != nullptr) == !by_another);
  }
}

// Kubernetes would not replace it, and nobody knows what revision it is to have.
TEST_CASE("A driver pod with an owner that does not control it is no orphan, but of an unknown revision") {
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

}  // namespace
}  // namespace driverupgrade::tests
