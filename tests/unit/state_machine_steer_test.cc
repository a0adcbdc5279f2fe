// Tests the taint that steers restarting gangs to upgraded nodes (B-13).
#include <string>
#include <vector>

#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

const Taint kPending{.key = "nvidia.com/gpu-driver-upgrade", .value = "pending", .effect = "PreferNoSchedule"};
const std::vector<Taint> kForeign = {
    {.key = "nvidia.com/gpu", .value = "present", .effect = "NoSchedule"},
    {.key = "nvidia.com/gpu-driver-upgrade", .value = "pending", .effect = "NoSchedule"},
    {.key = "node.kubernetes.io/not-ready", .effect = "NoExecute", .time_added = "2026-01-02T03:04:05Z"}};

NodeUnderTest Steered(NodeUnderTest node) {
  node.policy.rollout = RolloutPolicy{.gangs = NodeGangs{}};
  node.view.node.taints = kForeign;
  return node;
}

std::vector<Taint> With(std::vector<Taint> taints, const Taint& more) {
  taints.push_back(more);
  return taints;
}

TEST_CASE("B-13: the taint is added together with the label upgrade-required, and other taints stay unchanged") {
  const NodeUnderTest node = Steered(NodeUnderTest("upgrade-done", "old"));
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "upgrade-required");
  REQUIRE(verdict.plan.patch);
  CHECK(verdict.plan.patch->taints == With(kForeign, kPending));
  CHECK(node.After(verdict).taints == With(kForeign, kPending));
}

TEST_CASE("B-13: a waiting node gets no patch that only adds the taint") {
  CHECK_FALSE(Steered(NodeUnderTest("upgrade-required")).Judge().plan.patch);
}

TEST_CASE("A node without the taint gets it with the patch that starts the node, and keeps it while in progress") {
  NodeUnderTest node = Steered(NodeUnderTest("upgrade-required"));
  const Verdict starts = node.Judge(/*admitted=*/true);
  REQUIRE(starts.plan.patch);
  CHECK(starts.plan.patch->taints == With(kForeign, kPending));
  node.view.node = node.After(starts);
  const Verdict continues = node.Judge();
  if (continues.plan.patch) CHECK_FALSE(continues.plan.patch->taints);
}

TEST_CASE("B-13: the taint is removed with the patch that ends the upgrade") {
  NodeUnderTest node = Steered(NodeUnderTest("uncordon-required", "new").CordonedByUs());
  node.view.node.taints = With(kForeign, kPending);
  const Verdict done = node.Judge();
  CHECK(Path(done.plan) == "upgrade-done");
  REQUIRE(done.plan.patch);
  CHECK(done.plan.patch->taints == kForeign);
}

TEST_CASE("A node that fails loses the taint") {
  NodeUnderTest node = Steered(NodeUnderTest("pod-restart-required", "new").CordonedByUs());
  node.WithDriverPods({DriverPod("new").Crashing(11).Build()});
  node.view.node.taints = With(kForeign, kPending);
  const Verdict fails = node.Judge();
  CHECK(Path(fails.plan) == "upgrade-failed");
  REQUIRE(fails.plan.patch);
  CHECK(fails.plan.patch->taints == kForeign);
}

TEST_CASE("A node that is released loses the taint") {
  NodeUnderTest node = Steered(NodeUnderTest("upgrade-required"));
  node.view.node.taints = With(kForeign, kPending);
  const NodePlan released = StateMachine(node.identity, node.options).Release(node.view, node.now);
  REQUIRE(released.patch);
  CHECK(released.patch->taints == kForeign);
}

TEST_CASE("A taint that another engine left on a node is removed once the node is done") {
  NodeUnderTest node("upgrade-done", "new");
  node.view.node.taints = With(kForeign, kPending);
  const Verdict verdict = node.Judge();
  REQUIRE(verdict.plan.patch);
  CHECK(verdict.plan.patch->taints == kForeign);
  CHECK(verdict.plan.patch->labels.empty());
  CHECK_FALSE(verdict.plan.reason.empty());
  node.view.node = node.After(verdict);
  CHECK_FALSE(node.Judge().plan.patch);
}

TEST_CASE("Nodes without steering, with the skip label, or with incompletely known taints get no taint") {
  NodeUnderTest node = Steered(NodeUnderTest("upgrade-done", "old"));
  SECTION("no gangs") { node.policy.rollout->gangs.reset(); }
  SECTION("no rollout") { node.policy.rollout.reset(); }
  SECTION("steering disabled") { node.policy.rollout->gangs->steer = Steer::kNone; }
  SECTION("the skip label") { node.Labelled(Gpu().SkipUpgradeLabel(), "true"); }
  SECTION("a host that passes only keys") { node.view.node.taints = {{.key = "nvidia.com/gpu"}}; }
  const Verdict verdict = node.Judge();
  REQUIRE(verdict.plan.patch);
  CHECK(verdict.plan.patch->labels.size() == 1);
  CHECK_FALSE(verdict.plan.patch->taints);
}

}  // namespace
}  // namespace driverupgrade::tests
