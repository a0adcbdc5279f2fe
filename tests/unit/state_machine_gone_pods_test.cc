// Tests pods that a drain does not wait for: pods that cannot leave, and pods that would return (ADR 0027).
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::PodBuilder;

NodeUnderTest DrainingNode() { return NodeUnderTest("drain-required").CordonedByUs().Draining(); }

TEST_CASE("a finished pod that a finalizer holds does not delay the drain") {
  auto node = DrainingNode().WithPods({WebPod().Succeeded().WithFinalizer("kueue.x-k8s.io/managed").Build()});
  CHECK(Evicted(node.Judge()) == "team-a/web");
  Pod held = WebPod().Succeeded().WithFinalizer("kueue.x-k8s.io/managed").Terminating(kNow).Build();
  held.released = true;
  CHECK(Path(node.WithPods({held}).Judge().plan) == "pod-restart-required");
  node.WithPods({WebPod().WithFinalizer("example.com/hold").Terminating(kNow).Build()});
  CHECK(GateOf(node.Judge()) == "PodsTerminating");
}

TEST_CASE("a drain waits until the volumes of an evicted pod are unmounted, which its phase does not show") {
  Pod pod = WebPod().Succeeded().WithEndedContainers().Terminating(kNow + absl::Seconds(30)).Build();
  CHECK(GateOf(DrainingNode().WithPods({pod}).Judge()) == "PodsTerminating");
  pod.finalizers = {"batch.kubernetes.io/job-tracking"};
  CHECK(GateOf(DrainingNode().WithPods({pod}).Judge()) == "PodsTerminating");
  pod.released = true;
  CHECK(Path(DrainingNode().WithPods({pod}).Judge().plan) == "pod-restart-required");
}

TEST_CASE("a pod that only its ResourceClaims hold delays the drain for a minute after its grace period") {
  Pod pod = WebPod().WithEndedContainers().Terminating(kNow - absl::Seconds(59)).Build();
  pod.resource_claims = {"gpu"};
  auto node = DrainingNode().WithPods({pod});
  Verdict verdict = node.Judge();
  CHECK(GateOf(verdict) == "PodsTerminating");
  CHECK(verdict.wake_at == node.now + absl::Seconds(1));
  node.now += absl::Seconds(1);
  CHECK(Path(node.Judge().plan) == "pod-restart-required");
  pod.containers_ended = false;
  CHECK(GateOf(node.WithPods({pod}).Judge()) == "PodsTerminating");
  pod.containers_ended = true;
  pod.resource_claims.clear();
  CHECK(GateOf(node.WithPods({pod}).Judge()) == "PodsTerminating");
}

TEST_CASE("a drain leaves a pod on the node that tolerates the cordon and is newer than the pods that it has evicted") {
  const std::string start = Gpu().DrainStartAnnotation();
  const auto pod = [](absl::Duration age) { return WebPod().ToleratingCordon(kNow - age).Build(); };
  auto node = DrainingNode().StageBegan("drain-required", absl::Seconds(10)).WithPods({pod(absl::Seconds(20))});
  Verdict verdict = node.Judge();
  CHECK(Evicted(verdict) == "team-a/web");
  CHECK(node.After(verdict).annotations.at(start) == "980");
  CHECK_FALSE(node.WithPods({WebPod().Build()}).Judge().plan.patch);
  node.Annotated(start, "980");
  CHECK(Evicted(node.WithPods({pod(absl::Seconds(20))}).Judge()) == "team-a/web");
  CHECK(Evicted(node.WithPods({WebPod().Build()}).Judge()) == "team-a/web");
  Pod leaving = pod(absl::Seconds(19));
  leaving.deletion_timestamp = kNow;
  CHECK(GateOf(node.WithPods({leaving}).Judge()) == "PodsTerminating");
  verdict = node.WithPods({pod(absl::Seconds(19))}).Judge();
  CHECK(Path(verdict.plan) == "pod-restart-required");
  REQUIRE(verdict.findings.size() == 1);
  CHECK(verdict.findings[0].code == FindingCode::kPodLeftAlone);
  SECTION("the pod does not delay the driver pod either, unless it was not drained") {
    auto restarting = NodeUnderTest("pod-restart-required").CordonedByUs().Draining();
    restarting.StageBegan("pod-restart-required", {}).WithPods({pod(absl::Seconds(19))});
    CHECK(Evicted(restarting.Judge()) == "team-a/web");
    restarting.Annotated(start, "980");
    CHECK(restarting.Judge().plan.remove.size() == 1);
  }
  SECTION("a pod that uses the driver must leave, even in the drain after a failed pod deletion") {
    node.pod_deletion = true;
    node.view.pods_using_driver.insert(pod({}).ref.uid);
    CHECK(Evicted(node.Judge()) == "team-a/web");
  }
}

TEST_CASE("a finished pod that a finalizer holds does not shorten the time for pods that arrive later") {
  auto node = NodeUnderTest("pod-restart-required").CordonedByUs().Draining();
  node.StageBegan("pod-restart-required", absl::Hours(1));
  Pod held = PodBuilder("ml", "member")
                 .WithUid("m")
                 .OwnedByJob("j")
                 .Succeeded()
                 .WithFinalizer("x/y")
                 .Terminating(kNow)
                 .Build();
  node.view.attempts.pods["m"] = {.count = 1, .outcome = Outcome::kApplied, .answered_at = kNow};
  const Verdict verdict = node.WithPods({held, WebPod().Build()}).Judge();
  CHECK(Path(verdict.plan).empty());
  CHECK(Evicted(verdict) == "team-a/web");
}

TEST_CASE("a pod that uses the driver is evicted again even if it tolerates the cordon") {
  const Pod pod = WebPod().ToleratingCordon(kNow).Build();
  auto node = NodeUnderTest("pod-deletion-required").CordonedByUs().StageBegan("pod-deletion-required", {});
  node.pod_deletion = true;
  node.view.pods_using_driver.insert(pod.ref.uid);
  node.WithPods({pod}).Annotated(Gpu().DrainStartAnnotation(), "900");
  CHECK(Evicted(node.Judge()) == "team-a/web");
}

}  // namespace
}  // namespace driverupgrade::tests
