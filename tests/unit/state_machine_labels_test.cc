// Tests nodes whose labels come and go: labels that select the driver, a stage or a group (ADR 0029).
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

TEST_CASE("W9: a node with our cordon is released once no DaemonSet has selected it for ten minutes") {
  auto node = NodeUnderTest("pod-restart-required", "").CordonedByUs().StageBegan("pod-restart-required", {});
  CHECK(GateOf(node.Judge()) == "DriverPodMissing");
  node.facts.daemon_sets.begin()->second.daemon_set.node_selectors = {Selector("gpu=yes")};
  Verdict verdict = node.Judge();
  CHECK(GateOf(verdict) == "DriverPodMissing");
  CHECK(verdict.wake_at == kNow + absl::Minutes(10));
  CHECK(node.After(verdict).unschedulable);
  const std::string since = Gpu().UnwantedSinceAnnotation();
  node.Annotated(since, node.After(verdict).annotations.at(since));
  SECTION("the time starts again once a DaemonSet selects the node") {
    node.Labelled("gpu", "yes");
    CHECK_FALSE(node.After(node.Judge()).annotations.contains(since));
    return;
  }
  node.now += absl::Minutes(10);
  node.active_since = node.now - absl::Seconds(59);  // a new leader first sees for itself that no DaemonSet selects it
  CHECK(GateOf(node.Judge()) == "DriverPodMissing");
  node.active_since -= absl::Seconds(1);
  SECTION("a mark that fell due while no engine was active proves nothing") {
    node.now += absl::Hours(3);
    node.active_since = node.now - absl::Minutes(5);
    CHECK(GateOf(node.Judge()) == "DriverPodMissing");
    CHECK(node.After(node.Judge()).annotations.at(since) != node.view.node.annotations.at(since));
    return;
  }
  verdict = node.Judge();
  CHECK(Path(verdict.plan) == "unknown");
  CHECK(node.After(verdict).annotations.empty());
  CHECK_FALSE(node.After(verdict).unschedulable);
  REQUIRE(verdict.plan.events.size() == 1);
  CHECK(verdict.plan.events.front().message.starts_with("Released the node"));
  node.facts.daemon_sets.clear();
  CHECK(GateOf(node.Judge()) == "DriverPodMissing");
}

TEST_CASE("a waiting node that no DaemonSet selects loses its label, so that its stage can end") {
  auto node = NodeUnderTest("upgrade-required", "").Annotated(Gpu().UnwantedSinceAnnotation(), "400");
  node.facts.daemon_sets.begin()->second.daemon_set.node_selectors = {Selector("gpu=yes")};
  CHECK(Path(node.Judge().plan) == "unknown");
  CHECK_FALSE(node.After(node.Judge()).labels.contains(Gpu().StateLabel()));
}

TEST_CASE("a node keeps the labels that decide its stage when its upgrade starts again without them") {
  const std::string key = Gpu().RolloutLabelsAnnotation();
  auto node = NodeUnderTest("upgrade-required").Labelled("pool", "canary");
  node.policy.rollout = RolloutPolicy{.stages = {{.name = "canary", .nodes = Selector("pool=canary")}},
                                      .groups = NodeGroups{.by = "rack"}};
  CHECK(node.After(node.Judge(/*admitted=*/true)).annotations.at(key) == "pool=canary,rack");
  node.Annotated(key, "pool=canary,rack=a").view.node.labels.erase("pool");
  CHECK(node.After(node.Judge(/*admitted=*/true)).annotations.at(key) == "pool=canary,rack=a");
  node.Labelled("rack", "b").policy.rollout->stages.clear();
  CHECK(node.After(node.Judge(/*admitted=*/true)).annotations.at(key) == "rack=b");
  node.policy.rollout.reset();
  CHECK_FALSE(node.After(node.Judge(/*admitted=*/true)).annotations.contains(key));
}

}  // namespace
}  // namespace driverupgrade::tests
