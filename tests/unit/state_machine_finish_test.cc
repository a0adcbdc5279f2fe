// Tests the states pod-restart-required, validation-required, uncordon-required, and upgrade-failed (T37-T49).
#include "decide/admission/upgrade_budget.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

const std::string kCordonedBy(kCordonedByAnnotation);

NodeUnderTest Restarting(std::string hash) {
  return NodeUnderTest("pod-restart-required", std::move(hash)).CordonedByUs();
}

NodeUnderTest Validating() {
  auto node = NodeUnderTest("validation-required", "new").CordonedByUs();
  node.options.validation_selector = Selector("app=validator");
  return node;
}

testing::PodBuilder Validator(std::string name) {
  return testing::PodBuilder("operators", name).WithUid(name).OnNode("n1").WithLabel("app", "validator");
}

TEST_CASE("W23: the gate names a container that keeps crashing, and its text does not change with each restart") {
  const auto detail = [](testing::PodBuilder pod) {
    auto node = NodeUnderTest("pod-restart-required").CordonedByUs().WithDriverPods({pod.Build()});
    const std::optional<Gate> gate = node.Judge().gate;
    return gate ? gate->detail : "";
  };
  CHECK(detail(DriverPod("new").NotReady()) == "drivers/driver-1 is not ready");
  CHECK(detail(DriverPod("new").Crashing(2)) == "drivers/driver-1 is not ready");
  const std::string crashing = detail(DriverPod("new").Crashing(3));
  CHECK(crashing.starts_with("drivers/driver-1 is not ready: container "));
  CHECK(crashing.ends_with(" keeps crashing"));
  CHECK(detail(DriverPod("new").Crashing(7)) == crashing);
}

TEST_CASE("T37, T38: an outdated driver pod is deleted once, and the node waits while a driver pod terminates") {
  auto node = Restarting("old");
  Verdict verdict = node.Judge();
  REQUIRE(verdict.plan.remove.size() == 1);
  CHECK(verdict.plan.remove[0].ToString() == "drivers/driver-1");
  CHECK(GateOf(verdict) == "DriverPodTerminating");

  node.view.attempts.pods["driver-1-uid"] = {.count = 1, .outcome = Outcome::kApplied, .answered_at = node.now};
  CHECK(node.Judge().plan.remove.empty());

  node.WithDriverPods({DriverPod("old").Terminating(kNow + absl::Seconds(30)).Build()});
  node.view.attempts = {};
  CHECK(node.Judge().plan.remove.empty());
  CHECK(GateOf(node.Judge()) == "DriverPodTerminating");
}

TEST_CASE("I2, dep-F8: the driver pod stays while the pods that use it are unknown or must not be evicted") {
  auto node = Restarting("old").StageBegan("pod-restart-required", absl::ZeroDuration()).WithPods({});
  node.pod_deletion = true;
  SECTION("a filter that fails") {
    node.view.hook_errors["team-a/web"] = "resource claim not readable";
    CHECK(node.Judge().plan.remove.empty());
    CHECK(GateOf(node.Judge()) == "Hook");
  }
  SECTION("a pod without a controller to replace it") {
    node.WithPods({testing::PodBuilder("x", "bare").WithUid("b").Build()});
    node.view.pods_using_driver = {"b"};
    CHECK(node.Judge().plan.remove.empty());
    CHECK(GateOf(node.Judge()) == "UndeletablePods");
  }
  SECTION("nothing blocks") { CHECK(node.Judge().plan.remove.size() == 1); }
}

TEST_CASE("T37: an orphaned driver pod is deleted") {
  Pod orphan = DriverPod("new").Build();
  orphan.owners.clear();
  CHECK(Restarting("").WithDriverPods({orphan}).Judge().plan.remove.size() == 1);
}

TEST_CASE("T39d: a current driver pod is never restarted") {
  auto node = Restarting("new").WithDriverPods({DriverPod("new").NotReady().Build()});
  const Verdict verdict = node.Judge();
  CHECK(verdict.plan.remove.empty());
  CHECK(GateOf(verdict) == "DriverPodNotReady");
}

TEST_CASE("dep-F17: a current driver pod is restarted only if the administrator's request names it") {
  auto node = Restarting("new").Annotated(Gpu().RestartPodAnnotation(), "driver-1-uid");
  CHECK(node.Judge().plan.remove.size() == 1);
  node.WithDriverPods({DriverPod("new", "driver-2").Build()});
  CHECK(node.Judge().plan.remove.empty());
}

TEST_CASE("dep-F8: the driver pod stays while pods that the policy protects are on the node") {
  auto node = Restarting("old").Draining().StageBegan("pod-restart-required", absl::ZeroDuration());
  CHECK(GateOf(node.Judge()) == "PodsUnknown");
  node.WithPods({WebPod().Build()});
  Verdict verdict = node.Judge();
  CHECK(verdict.plan.remove.empty());
  CHECK(verdict.plan.evict.size() == 1);
  node.WithPods({});
  CHECK(node.Judge().plan.remove.size() == 1);

  SECTION("the node fails at the drain deadline if new pods do not terminate") {
    node.WithPods({WebPod().Build()}).StageBegan("pod-restart-required", absl::Seconds(300));
    // The timeout for these pods starts when they appear.
    verdict = node.Judge();
    CHECK(verdict.plan.evict.size() == 1);
    CHECK(node.After(verdict).annotations.at(Gpu().StageAnnotation()) == "pod-restart-required@1000@new");
    node.view.attempts.pods["web-uid"] = {.count = 1, .outcome = Outcome::kApplied, .answered_at = node.now};
    CHECK(Path(node.Judge().plan) == "upgrade-failed");
  }
  SECTION("the node also fails if a pod outlasts its grace period without an eviction") {
    node.StageBegan("pod-restart-required", absl::Seconds(300));
    node.WithPods({WebPod().Terminating(kNow + absl::Seconds(1)).Build()});
    CHECK(node.After(node.Judge()).annotations.at(Gpu().StageAnnotation()) == "pod-restart-required@1000@new");
    node.WithPods({WebPod().Terminating(kNow).Build()});
    CHECK(Path(node.Judge().plan) == "upgrade-failed");
  }
}

TEST_CASE("arch-A12: a drained node is patched to pod-restart-required, and then its driver pod is deleted") {
  auto node = NodeUnderTest("drain-required").CordonedByUs().Draining().WithPods({});
  node.StageBegan("drain-required", absl::Seconds(10));
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "pod-restart-required");
  REQUIRE(verdict.plan.patch);
  CHECK(verdict.plan.remove.size() == 1);
}

TEST_CASE("T39a: with a ready driver the node returns to service in one patch that leaves no annotations behind") {
  auto node = Restarting("new").StageBegan("pod-restart-required", absl::Seconds(10));
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "uncordon-required,upgrade-done");
  const Node after = node.After(verdict);
  CHECK_FALSE(after.unschedulable);
  CHECK(after.annotations.empty());
  CHECK(after.labels.at(Gpu().StateLabel()) == "upgrade-done");
}

TEST_CASE("T48: a node that an administrator had cordoned is done and stays cordoned") {
  auto node = NodeUnderTest("pod-restart-required", "new").Cordoned();
  node.Annotated(Gpu().InitiallyUnschedulableAnnotation(), "true");
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "upgrade-done");
  CHECK(node.After(verdict).unschedulable);
  CHECK(node.After(verdict).annotations.empty());
}

TEST_CASE("dep-F7: the last upgrade that relies on a cordon lifts it") {
  auto node = NodeUnderTest("uncordon-required", "new").Cordoned();
  SECTION("another upgrade is still in progress") {
    node.Annotated(kCordonedBy, "nvidia.com/gpu,nvidia.com/ofed").Labelled(Ofed().StateLabel(), "drain-required");
    const Node after = node.After(node.Judge());
    CHECK(after.unschedulable);
    CHECK(after.annotations.at(kCordonedBy) == "nvidia.com/ofed");
    CHECK(after.labels.at(Gpu().StateLabel()) == "upgrade-done");
  }
  SECTION("another upgrade has left its name behind") {
    node.Annotated(kCordonedBy, "nvidia.com/gpu,nvidia.com/ofed").Labelled(Ofed().StateLabel(), "upgrade-done");
    const Node after = node.After(node.Judge());
    CHECK_FALSE(after.unschedulable);
    CHECK_FALSE(after.annotations.contains(kCordonedBy));
  }
  SECTION("dep-F8: a cordon of the Go library, taken over during the upgrade, is lifted as well") {
    CHECK_FALSE(node.After(node.Judge()).unschedulable);
  }
}

TEST_CASE(
    "dep-F8: a node stays cordoned without a slot while a driver that is not in the cordon set needs the cordon") {
  auto node = NodeUnderTest("uncordon-required", "new").CordonedByUs();
  node.Labelled(Ofed().StateLabel(), "upgrade-failed");
  const Verdict verdict = node.Judge();
  CHECK(GateOf(verdict) == "OtherDriver");
  CHECK(verdict.tally.slots == 0);
  node.Labelled(Ofed().StateLabel(), "uncordon-required");
  CHECK(Path(node.Judge().plan) == "upgrade-done");
}

TEST_CASE("dep-F8: a node stays cordoned, and keeps its slot, while another program needs the cordon") {
  auto node = NodeUnderTest("uncordon-required", "new").CordonedByUs();
  node.Annotated("sriovnetwork.openshift.io/state", "Reboot_Required");
  const Verdict verdict = node.Judge();
  CHECK(GateOf(verdict) == "OtherDriver");
  CHECK(verdict.gate->detail == "the SR-IOV network operator needs the node to stay cordoned");
  CHECK_FALSE(verdict.gate->subject);
  CHECK(verdict.tally.slots == 1);
  SECTION("until the program has finished") {
    node.Annotated("sriovnetwork.openshift.io/state", "Idle");
    CHECK(Path(node.Judge().plan) == "upgrade-done");
  }
  SECTION("until the program or an administrator uncordons the node") {
    node.view.node.unschedulable = false;
    CHECK(Path(node.Judge().plan) == "upgrade-done");
  }
  SECTION("but its driver is repaired, because the program may wait for the driver") {
    node.WithDriverPods({DriverPod("new").NotReady().Build()});
    CHECK(Path(node.Judge().plan).starts_with("pod-restart-required"));
  }
}

TEST_CASE("T39c: a node fails if its current driver pod keeps restarting") {
  auto node = Restarting("new").WithDriverPods({DriverPod("new").Crashing(11).Build()});
  CHECK(Path(node.Judge().plan) == "upgrade-failed");
  node.WithDriverPods({DriverPod("new").Crashing(10).Build()});
  const Verdict verdict = node.Judge();
  CHECK(GateOf(verdict) == "DriverPodNotReady");
  const PodRef& pod = node.view.driver_pods.front().ref;
  CHECK(verdict.gate->subject == GateSubject(GateSubjectKind::kPod, pod.ns, pod.name));  // W23
}

TEST_CASE("I11: a failure count above the maximum is reduced to the maximum before it is incremented") {
  auto node = Restarting("new").WithDriverPods({DriverPod("new").Crashing(11).Build()});
  node.Annotated(Gpu().FailuresAnnotation(), "2147483647@900");
  CHECK(node.After(node.Judge()).annotations.at(Gpu().FailuresAnnotation()) == "1000001@1000");
}

TEST_CASE("dep-F4: a node fails if its driver is not ready within deadlines.podRestart") {
  auto node = Restarting("new").WithDriverPods({DriverPod("new").Pending().Build()});
  node.policy.deadlines.pod_restart = absl::Minutes(10);
  node.StageBegan("pod-restart-required", absl::Minutes(10));
  CHECK(Path(node.Judge().plan) == "upgrade-failed");
}

TEST_CASE("dep-F16: a node with an old and a new driver pod is not up to date until the old one is deleted") {
  auto node = Restarting("new").WithDriverPods({DriverPod("new", "a").Build(), DriverPod("old", "b").Build()});
  const Verdict verdict = node.Judge();
  REQUIRE(verdict.plan.remove.size() == 1);
  CHECK(verdict.plan.remove[0].name == "b");
  CHECK(Path(verdict.plan).empty());
}

TEST_CASE("dep-F2: if a node fails while the target revision is unknown, the node's previous target is recorded") {
  auto node = NodeUnderTest("drain-required").CordonedByUs().Draining().WithPods({WebPod().Build()});
  node.StageBegan("drain-required", absl::Seconds(300));
  node.facts.daemon_sets["ds"].wanted_revision.reset();
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "upgrade-failed");
  CHECK(node.After(verdict).annotations.at(Gpu().FailedRevisionAnnotation()) == "new");
}

TEST_CASE("T39: a driver that waits for a safe load is unblocked once the node is evacuated") {
  auto node = Restarting("new").Annotated(Gpu().SafeLoadAnnotation(), "true").Draining();
  node.WithDriverPods({DriverPod("new").NotReady().Build()});
  node.StageBegan("pod-restart-required", absl::ZeroDuration());
  node.WithPods({WebPod().Build()});
  CHECK(node.After(node.Judge()).annotations.contains(Gpu().SafeLoadAnnotation()));
  node.WithPods({});
  CHECK_FALSE(node.After(node.Judge()).annotations.contains(Gpu().SafeLoadAnnotation()));
}

TEST_CASE("T39b, T47: with validation the node returns to service when every validation pod is ready (dep-F5)") {
  auto node = Validating().StageBegan("validation-required", absl::Seconds(1));
  node.WithPods({Validator("a").Build(), Validator("b").NotReady().Build()});
  CHECK(GateOf(node.Judge()) == "Validation");
  CHECK_FALSE(node.Judge().plan.patch);
  node.WithPods({Validator("a").Build(), Validator("b").Build()});
  CHECK(Path(node.Judge().plan) == "uncordon-required,upgrade-done");
}

TEST_CASE("W34: depending on the option, an early validation pod blocks the node, is restarted, or counts") {
  auto node = Validating().StageBegan("validation-required", absl::Seconds(1));
  node.WithDriverPods({DriverPod("new").ReadySince(kNow - absl::Seconds(20)).Build()});
  const auto early = [] { return Validator("a").OwnedByDaemonSet("validator", "h").ReadySince(kNow - absl::Hours(1)); };
  node.WithPods({early().Build()});
  CHECK(GateOf(node.Judge()) == "Validation");
  CHECK(node.Judge().plan.remove.empty());

  node.options.early_validation = EarlyValidation::kRestart;
  const Verdict verdict = node.Judge();
  REQUIRE(verdict.plan.remove.size() == 1);
  CHECK(verdict.plan.remove[0].name == "a");
  CHECK_FALSE(verdict.plan.force_remove);
  node.view.attempts.pods["a"] = {.count = 1, .outcome = Outcome::kApplied, .answered_at = node.now};
  CHECK(node.Judge().plan.remove.empty());
  node.view.attempts = {};
  // No controller would replace this pod.
  node.WithPods({Validator("a").ReadySince(kNow - absl::Hours(1)).Build()});
  CHECK(node.Judge().plan.remove.empty());

  node.options.early_validation = EarlyValidation::kCount;
  CHECK(Path(node.Judge().plan) == "uncordon-required,upgrade-done");
  node.options.early_validation = EarlyValidation::kAsk;
  node.WithPods({early().ReadySince(kNow - absl::Seconds(10)).Build()});
  CHECK(Path(node.Judge().plan) == "uncordon-required,upgrade-done");
}

TEST_CASE("W11: a driver pod that cannot start causes a finding immediately, with the same text for every attempt") {
  auto node = Restarting("new").WithPods({});
  const auto finding = [&](const char* reason) {
    node.WithDriverPods({DriverPod("new").FailingToStart(reason, "driver:typo").Build()});
    const Verdict verdict = node.Judge();
    CHECK(GateOf(verdict) == "DriverPodNotReady");
    REQUIRE(verdict.findings.size() == 1);
    CHECK(verdict.findings[0].code == FindingCode::kDriverPodCannotStart);
    return verdict.findings[0].message;
  };
  CHECK(finding("ErrImagePull") ==
        "driver pod drivers/driver-1: container main: the image driver:typo cannot be pulled");
  CHECK(finding("ImagePullBackOff") == finding("ErrImagePull"));
  CHECK(finding("RunContainerError") == "driver pod drivers/driver-1: container main cannot start (RunContainerError)");
}

TEST_CASE("dep-F4: validation has a deadline even if there is no validation pod") {
  auto node = Validating().WithPods({}).StageBegan("validation-required", absl::Seconds(600));
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "upgrade-failed");
  CHECK(verdict.plan.reason == "not valid after 600 s: no pod matches app=validator on the node");
}

TEST_CASE("T40, dep-F3: a failed node whose driver becomes ready recovers, after validation if it is configured") {
  auto node = NodeUnderTest("upgrade-failed", "new").CordonedByUs();
  node.Annotated(Gpu().FailedRevisionAnnotation(), "new");
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "uncordon-required,upgrade-done");
  CHECK(node.After(verdict).annotations.empty());

  node.options.validation_selector = Selector("app=validator");
  CHECK(GateOf(node.Judge()) == "PodsUnknown");
  node.WithPods({Validator("a").NotReady().Build()});
  CHECK(GateOf(node.Judge()) == "Failed");
  node.view.node.unschedulable = false;
  CHECK(GateOf(node.Judge()) == "Failed");
  node.Cordoned();
  node.WithPods({Validator("a").Build()});
  CHECK(Path(node.Judge().plan) == "validation-required,uncordon-required,upgrade-done");
}

TEST_CASE("I1: a failed node that another client uncordoned counts as unavailable in the pass in which it recovers") {
  auto node = NodeUnderTest("upgrade-failed", "new").Annotated(Gpu().FailedRevisionAnnotation(), "new");
  node.policy.pacing = Pacing::kEveryState;
  node.options.validation_selector = Selector("app=validator");
  node.WithPods({Validator("a").NotReady().Build()});
  CHECK(node.Judge().tally.unavailable == 0);
  node.WithPods({Validator("a").Build()});
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "validation-required");
  CHECK_FALSE(verdict.candidate);
  CHECK(verdict.tally.unavailable == 1);
}

// Found by the simulation (seed 59981): another node took the last headroom under maxUnavailable in the same pass.
TEST_CASE(
    "I1: a node that another client uncordoned counts as unavailable in the pass in which its driver fails again") {
  auto node = NodeUnderTest("uncordon-required", "new");
  node.WithDriverPods({DriverPod("new").NotReady().Build()});
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "pod-restart-required");
  REQUIRE(verdict.plan.patch);
  CHECK(verdict.plan.patch->unschedulable == true);
  CHECK_FALSE(verdict.candidate);
  CHECK(verdict.tally.unavailable == 1);
}

TEST_CASE("dep-F2: a failed node waits until a new revision moves it back to upgrade-required") {
  auto node = NodeUnderTest("upgrade-failed", "old").CordonedByUs();
  node.Annotated(Gpu().FailedRevisionAnnotation(), "new");
  CHECK(GateOf(node.Judge()) == "Failed");
  CHECK(node.Judge().tally.slots == 1);
  node.facts = Facts("newer");
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "upgrade-required");
  CHECK(verdict.candidate);
}

TEST_CASE("retry: a failed node is retried as often as the policy allows, after a pause that doubles") {
  auto node = NodeUnderTest("upgrade-failed", "old").CordonedByUs();
  node.Annotated(Gpu().FailedRevisionAnnotation(), "new").Annotated(Gpu().FailuresAnnotation(), "2@900");
  CHECK(GateOf(node.Judge()) == "Failed");
  CHECK_FALSE(node.Judge().wake_at);

  node.policy.retry = {.max_attempts = 2, .backoff = absl::Seconds(60)};
  Verdict verdict = node.Judge();
  CHECK(GateOf(verdict) == "Failed");
  CHECK(verdict.gate->not_before == absl::FromUnixSeconds(900 + 120));
  node.now = absl::FromUnixSeconds(900 + 120);
  verdict = node.Judge();
  CHECK(Path(verdict.plan) == "upgrade-required");
  CHECK(node.After(verdict).annotations.at(Gpu().FailuresAnnotation()) == "2@900");

  node.Annotated(Gpu().FailuresAnnotation(), "3@900");
  CHECK(GateOf(node.Judge()) == "Failed");
}

TEST_CASE("dep-F2: with failurePolicy a failed node takes no slot, and counts against maxFailures") {
  auto node = NodeUnderTest("upgrade-failed", "old").CordonedByUs();
  CHECK(node.Judge().tally.slots == 1);
  node.policy.failure_policy = FailurePolicy{.max_failures = Percent{5}};
  CHECK(node.Judge().tally.slots == 0);
  CHECK(node.Judge().tally.failed == 1);
  CHECK_FALSE(internal::ComputeBudget({.total = 59, .failed = 1}, UpgradePolicy{}).Halted());
  CHECK(internal::ComputeBudget({.total = 19, .failed = 1}, node.policy).Halted());
  CHECK(internal::ComputeBudget({.total = 59, .failed = 1}, node.policy).failures_max == 2);
  CHECK_FALSE(internal::ComputeBudget({.total = 59, .failed = 1}, node.policy).Halted());
}

TEST_CASE("dep-F3: the driver of a failed node is not loaded while the node runs workloads") {
  auto node = NodeUnderTest("upgrade-failed", "new").Draining().Annotated(Gpu().SafeLoadAnnotation(), "true");
  node.WithDriverPods({DriverPod("new").NotReady().Build()});
  node.Annotated(Gpu().FailedRevisionAnnotation(), "new");
  CHECK(GateOf(node.Judge()) == "SafeLoad");
  node.CordonedByUs().WithPods({WebPod().Build()});
  CHECK(GateOf(node.Judge()) == "SafeLoad");
  CHECK(node.Judge().plan.evict.empty());
  node.WithPods({});
  CHECK_FALSE(node.After(node.Judge()).annotations.contains(Gpu().SafeLoadAnnotation()));
}

TEST_CASE("arch-A10, dep-F3: a failed node is evaluated again when a pod that it is waiting for counts as lost") {
  auto node = NodeUnderTest("upgrade-failed", "new").Draining().Annotated(Gpu().SafeLoadAnnotation(), "true");
  node.WithDriverPods({DriverPod("new").NotReady().Build()});
  node.CordonedByUs().WithPods({WebPod().Terminating(kNow + absl::Seconds(30)).Build()});
  node.Annotated(Gpu().FailedRevisionAnnotation(), "new").Annotated(Gpu().FailuresAnnotation(), "1@900");
  node.view.node.ready = false;
  const Verdict verdict = node.Judge();
  CHECK(GateOf(verdict) == "SafeLoad");
  REQUIRE(verdict.wake_at == kNow + absl::Seconds(31));
  node.now = *verdict.wake_at;
  CHECK_FALSE(node.After(node.Judge()).annotations.contains(Gpu().SafeLoadAnnotation()));
}

TEST_CASE("dep-F8, dep-F9: a released node keeps a cordon that a driver outside the cordon set needs") {
  NodeUnderTest node("pod-restart-required");
  node.CordonedByUs().Labelled(Ofed().StateLabel(), "drain-required");
  const NodePlan plan = node.Machine().Release(node.view, kNow);
  REQUIRE(plan.patch);
  const Node after = Patched(node.view.node, *plan.patch);
  CHECK(after.unschedulable);
  CHECK(after.annotations.empty());
  CHECK(after.labels.size() == 1);
}

}  // namespace
}  // namespace driverupgrade::tests
