#include "decide/pods_in_the_way.h"

#include <optional>

#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::internal {
namespace {

using tests::NodeUnderTest;
using tests::Selector;
using tests::WebPod;

std::optional<int> InTheWay(const NodeUnderTest& node) {
  const auto pods = PodsInTheWay(node.view, node.policy, node.Machine());
  return pods ? std::optional(static_cast<int>(pods->size())) : std::nullopt;
}

// Returns a node with two running pods, a finished pod, a DaemonSet pod, and a pod that no controller replaces.
NodeUnderTest Busy() {
  NodeUnderTest node;
  node.WithPods(
      {WebPod("a").Build(), WebPod("b").Build(), WebPod("ended").Succeeded().Build(),
       testing::PodBuilder("team-a", "agent").WithUid("agent").OnNode("n1").OwnedByDaemonSet("x", "1").Build(),
       testing::PodBuilder("team-a", "bare").WithUid("bare").OnNode("n1").Build()});
  return node;
}

TEST_CASE("The blocking pods are those that the drain must remove, including pods that the policy forbids evicting") {
  NodeUnderTest node = Busy();
  CHECK(InTheWay(node) == 0);  // the policy evicts no pods
  node.Draining();
  CHECK(InTheWay(node) == 3);
  node.policy.drain->pod_selector = Selector("app=web");
  CHECK(InTheWay(node) == 2);
}

TEST_CASE(
    "The blocking pods are those that pod deletion selects and those that must complete first, each counted once") {
  NodeUnderTest node = Busy();
  node.policy.wait_for_completion = WaitForCompletionPolicy{.pod_selector = Selector("app=web")};
  CHECK(InTheWay(node) == 2);
  node.policy.pod_deletion = PodDeletionPolicy{.pod_selector = Selector("app=web")};
  CHECK(InTheWay(node) == 2);
  // With pod deletion, a drain follows only if the deletion fails.
  node.Draining();
  CHECK(InTheWay(node) == 2);
  node.policy.pod_deletion.reset();
  CHECK(InTheWay(node) == 3);
}

TEST_CASE("The number of blocking pods is unknown before the pods have been read") {
  CHECK(InTheWay(NodeUnderTest()) == std::nullopt);
}

}  // namespace
}  // namespace driverupgrade::internal
