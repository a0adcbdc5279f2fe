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

}  // namespace
}  // namespace driverupgrade::tests
