// Tests when a planner writes, changes, and removes the annotation that shows the gate of a node in progress.
#include "decide/shown_wait.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "decide/incremental_planner.h"
#include "driverupgrade/testing/builders.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using internal::IncrementalPlanner;

const std::string& Key() {
  static const std::string& key = *new std::string(Gpu().WaitingForAnnotation());
  return key;
}

std::string RefusedFor(const std::string& pod) {
  return "DisruptionBudget: team-a/" + pod + ": refused by disruption budget web";
}

/// A draining node with a pod whose eviction a disruption budget has just refused, and a planner for the node.
class Drain {
 public:
  Drain() {
    node = NodeUnderTest("drain-required").CordonedByUs().WithPods({WebPod().Build()}).Draining(absl::Hours(10));
    node.StageBegan("drain-required", absl::Seconds(0));
    Refuse("web");
    Start();
  }
  /// Creates a new planner, as a new process does.
  void Start() {
    planner.emplace(StateMachine(Gpu(), {}));
    planner->ShowWaits();
    planner->SetPolicy(node.policy);
    planner->SetDriver(std::make_shared<const DriverFacts>(node.facts), {});
  }
  /// Replaces the pods with a pod whose eviction a disruption budget has refused. Its next eviction is not due for ten
  /// hours.
  void Refuse(const std::string& pod) {
    node.view.pods = {WebPod(pod).Build()};
    node.view.attempts.pods = {{pod + "-uid",
                                {.count = 1,
                                 .outcome = Outcome::kNotApplied,
                                 .answered_at = kNow + absl::Hours(10),
                                 .refusal = Refusal::kDisruptionBudget,
                                 .budget = "web"}}};
  }
  /// Returns the planner's plan for the node, but does not execute the plan.
  std::optional<NodePlan> Look(absl::Duration later) {
    node.now = kNow + later;
    planner->Update(std::make_shared<const NodeView>(node.view));
    Plan plan = planner->Advance(node.now).plan;
    wake_at = plan.wake_at;
    if (plan.nodes.empty()) return std::nullopt;
    return std::move(plan.nodes.front());
  }
  /// Same as Look, but also applies the plan's patch to the node.
  std::optional<NodePlan> Pass(absl::Duration later) {
    std::optional<NodePlan> plan = Look(later);
    if (plan && plan->patch) {
      node.view.node = Patched(node.view.node, *plan->patch);
      node.view.node.resource_version += "0";
    }
    return plan;
  }
  std::string Shown() const {
    const auto found = node.view.node.annotations.find(Key());
    return found == node.view.node.annotations.end() ? "" : found->second;
  }

  NodeUnderTest node;
  std::optional<IncrementalPlanner> planner;
  std::optional<absl::Time> wake_at;
};

constexpr absl::Duration kMinute = absl::Minutes(1);
constexpr absl::Duration kSecond = absl::Seconds(1);

TEST_CASE("A gate that has lasted for a minute is written to the node once, with a separate patch") {
  Drain drain;
  CHECK_FALSE(drain.Pass(absl::ZeroDuration()));
  CHECK(drain.wake_at == kNow + kMinute);
  CHECK_FALSE(drain.Pass(kMinute - kSecond));
  const std::optional<NodePlan> plan = drain.Pass(kMinute);
  REQUIRE(plan);
  CHECK(Describe(*plan) == "n1: drain-required (shows its gate); annotation " + Key() + "=" + RefusedFor("web"));
  CHECK(plan->resource_version == "10");
  CHECK_FALSE(drain.Pass(kMinute + kSecond));
  CHECK_FALSE(drain.Pass(absl::Hours(1)));
}

TEST_CASE("The age of a gate keeps increasing while the pods of the node are being read") {
  Drain drain;
  drain.Pass(absl::ZeroDuration());
  const std::vector<Pod> pods = *drain.node.view.pods;
  for (int second = 10; second < 60; second += 10) {
    drain.node.view.pods.reset();
    CHECK_FALSE(drain.Look(absl::Seconds(second)));
    drain.node.view.pods = pods;
    CHECK_FALSE(drain.Look(absl::Seconds(second)));
  }
  drain.node.view.pods.reset();
  CHECK_FALSE(drain.Look(kMinute));
  drain.node.view.pods = pods;
  CHECK(drain.Pass(kMinute));
  CHECK(drain.Shown() == RefusedFor("web"));

  Drain other;
  other.Pass(absl::ZeroDuration());
  other.node.view.pods.reset();
  other.Pass(10 * kSecond);
  CHECK(other.Pass(kMinute + 10 * kSecond));
  CHECK(other.Shown().starts_with("PodsUnknown: "));
}

TEST_CASE("A node that spends less than a minute in each state gets no patch for the gate") {
  Drain drain;
  CHECK_FALSE(drain.Pass(absl::ZeroDuration()));
  drain.node.view.pods.emplace();
  const std::optional<NodePlan> plan = drain.Pass(kMinute - kSecond);
  REQUIRE(plan);
  CHECK(plan->to() == UpgradeState::kPodRestartRequired);
  CHECK_FALSE(plan->patch->annotations.contains(Key()));
}

TEST_CASE("Nodes in progress show their gates even while the policy is paused") {
  Drain drain;
  UpgradePolicy policy = drain.node.policy;
  policy.paused = true;
  drain.planner->SetPolicy(policy);
  CHECK_FALSE(drain.Pass(absl::ZeroDuration()));
  CHECK(drain.wake_at == kNow + kMinute);
  CHECK(drain.Pass(kMinute));
  CHECK(drain.Shown() == RefusedFor("web"));
}

TEST_CASE("The gate of a driver that is not ready is shown only after ten minutes, because drivers may start slowly") {
  Drain drain;
  drain.node =
      NodeUnderTest("pod-restart-required").CordonedByUs().WithDriverPods({DriverPod("new").NotReady().Build()});
  drain.planner->SetPolicy(drain.node.policy);
  CHECK_FALSE(drain.Pass(absl::ZeroDuration()));
  CHECK_FALSE(drain.Pass(10 * kMinute - kSecond));
  CHECK(drain.Pass(10 * kMinute));
  CHECK(drain.Shown().starts_with("DriverPodNotReady: "));
}

TEST_CASE("A patch is planned again until the node contains the change") {
  Drain drain;
  drain.Pass(absl::ZeroDuration());
  CHECK(drain.Look(kMinute));
  CHECK(drain.Look(kMinute + kSecond));
  drain.Pass(kMinute + 2 * kSecond);
  CHECK_FALSE(drain.Look(kMinute + 3 * kSecond));
}

TEST_CASE("A new detail of a gate is shown no earlier than five minutes after the last change") {
  Drain drain;
  drain.Pass(absl::ZeroDuration());
  drain.Pass(kMinute);
  drain.Pass(kMinute + kSecond);  // the planner has now seen the annotation
  drain.Refuse("db");
  CHECK_FALSE(drain.Pass(2 * kMinute));
  CHECK(drain.wake_at == kNow + 6 * kMinute + kSecond);
  CHECK(drain.Pass(6 * kMinute + kSecond));
  CHECK(drain.Shown() == RefusedFor("db"));
}

TEST_CASE("A leftover annotation on a node that is done is removed") {
  Drain drain;
  drain.node = NodeUnderTest("upgrade-done", "new");
  drain.node.Annotated(Key(), "Jobs: training/job");
  CHECK_FALSE(drain.Pass(absl::ZeroDuration()));
  CHECK(drain.wake_at == kNow + 5 * kMinute);
  const std::optional<NodePlan> plan = drain.Pass(5 * kMinute);
  REQUIRE(plan);
  CHECK(Describe(*plan) == "n1: upgrade-done (no longer has the gate that it shows); annotation " + Key() + " removed");
  CHECK_FALSE(drain.Pass(6 * kMinute));
}

TEST_CASE("The patch that makes a transition or releases a node also removes the annotation") {
  Drain drain;
  drain.Pass(absl::ZeroDuration());
  drain.Pass(kMinute);
  REQUIRE_FALSE(drain.Shown().empty());
  CHECK_FALSE(Patched(drain.node.view.node, *StateMachine(Gpu(), {}).Release(drain.node.view, kNow).patch)
                  .annotations.contains(Key()));
  drain.node.view.pods.emplace();
  const std::optional<NodePlan> plan = drain.Pass(2 * kMinute);
  REQUIRE(plan);
  CHECK(plan->to() == UpgradeState::kPodRestartRequired);
  CHECK(drain.Shown().empty());

  // The wait before a gate is shown starts again with the next state.
  drain.node.view.driver_pods = {DriverPod("new").NotReady().Build()};
  CHECK_FALSE(drain.Pass(3 * kMinute));
  CHECK_FALSE(drain.Pass(13 * kMinute - kSecond));
  CHECK(drain.Pass(13 * kMinute));
  CHECK(drain.Shown().starts_with("DriverPodNotReady: "));
}

TEST_CASE("A new process keeps an existing annotation, and does not change it for five minutes") {
  Drain drain;
  drain.Pass(absl::ZeroDuration());
  drain.Pass(kMinute);
  drain.Start();
  CHECK_FALSE(drain.Pass(2 * kMinute));
  CHECK_FALSE(drain.Pass(9 * kMinute));

  drain.Refuse("db");
  drain.Start();
  CHECK_FALSE(drain.Pass(10 * kMinute));
  CHECK_FALSE(drain.Pass(15 * kMinute - kSecond));
  CHECK(drain.Pass(15 * kMinute));
  CHECK(drain.Shown() == RefusedFor("db"));
}

TEST_CASE("A node that waits for a slot, or that the engine leaves alone, does not get the annotation") {
  Drain waiting;
  waiting.node = NodeUnderTest("upgrade-required");
  waiting.node.policy.max_unavailable = Count{0};
  waiting.planner->SetPolicy(waiting.node.policy);
  waiting.Pass(absl::ZeroDuration());
  waiting.node.Annotated(Key(), "Failed: left there");  // the start of the next upgrade removes this annotation
  CHECK_FALSE(waiting.Pass(absl::Hours(1)));

  Drain off;
  off.Pass(absl::ZeroDuration());
  UpgradePolicy policy = off.node.policy;
  policy.auto_upgrade = false;
  off.planner->SetPolicy(policy);
  CHECK_FALSE(off.Pass(absl::Hours(1)));
  off.planner->SetPolicy(off.node.policy);
  off.Pass(absl::Hours(1) + kSecond);
  off.Pass(absl::Hours(1) + 2 * kMinute);
  CHECK_FALSE(off.Shown().empty());

  Drain unknown;
  unknown.node.Labelled(Gpu().StateLabel(), "no-state");
  unknown.Pass(absl::ZeroDuration());
  CHECK_FALSE(unknown.Pass(absl::Hours(1)));
}

TEST_CASE("After a patch has been refused, the annotation is not written for five minutes") {
  Drain drain;
  drain.node.view.attempts.patch = {{.based_on = "10",
                                     .count = 1,
                                     .sent_at = kNow,
                                     .outcome = Outcome::kNotApplied,
                                     .answered_at = kNow,
                                     .message = "denied"}};
  drain.Pass(absl::ZeroDuration());
  drain.Pass(2 * kSecond);
  CHECK_FALSE(drain.Pass(2 * kMinute));
  CHECK(drain.wake_at == kNow + 5 * kMinute);
  CHECK(drain.Pass(5 * kMinute));
}

TEST_CASE("Evictions do not wait for the patch that writes the annotation") {
  Drain drain;
  drain.Pass(absl::ZeroDuration());
  drain.node.view.attempts.pods.clear();
  const std::optional<NodePlan> plan = drain.Pass(2 * kMinute);
  REQUIRE(plan);
  CHECK(plan->evict.size() == 1);
  CHECK_FALSE(plan->patch);
}

TEST_CASE("The annotation has at most 256 bytes, and does not split a character") {
  CHECK(internal::WaitText({.reason = GateReason::kJobs}) == "Jobs");
  CHECK(internal::WaitText({.reason = GateReason::kJobs, .detail = "training/job"}) == "Jobs: training/job");
  std::string detail;
  for (int i = 0; i < 200; ++i) detail += "\xC3\xBC";
  for (const std::string& start : {std::string(), std::string("a")}) {
    const std::string text = internal::WaitText({.reason = GateReason::kJobs, .detail = start + detail});
    CHECK(text.size() >= 255);
    CHECK(text.size() <= 256);
    CHECK(internal::ValidUtf8Size(text) == text.size());
  }
}

TEST_CASE("arch-A8: the annotation of another driver stays as it is") {
  Drain drain;
  drain.node.Annotated(Ofed().WaitingForAnnotation(), "Jobs: training/job");
  drain.Pass(absl::ZeroDuration());
  drain.Pass(kMinute);
  drain.node.view.pods.emplace();
  drain.Pass(2 * kMinute);
  CHECK(drain.node.view.node.annotations.at(Ofed().WaitingForAnnotation()) == "Jobs: training/job");
}

}  // namespace
}  // namespace driverupgrade::tests
