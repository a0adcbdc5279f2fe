// Tests the states wait-for-jobs-required, pod-deletion-required, and drain-required (T11-T33).
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::PodBuilder;

NodeUnderTest WaitingForJobs() {
  auto node = NodeUnderTest("wait-for-jobs-required").CordonedByUs().Draining();
  node.policy.wait_for_completion = WaitForCompletionPolicy{.pod_selector = Selector("app=web")};
  return node;
}

NodeUnderTest DrainingNode() { return NodeUnderTest("drain-required").CordonedByUs().Draining(); }

NodeUnderTest DeletingPods(std::vector<Pod> pods) {
  auto node = NodeUnderTest("pod-deletion-required").CordonedByUs();
  node.StageBegan("pod-deletion-required", absl::Seconds(10));
  node.pod_deletion = true;
  for (const Pod& pod : pods) node.view.pods_using_driver.insert(pod.ref.uid);
  node.WithPods(std::move(pods));
  return node;
}

TEST_CASE("arch-A11: pods that have not been read since the cordon do not count as absent") {
  auto node = DrainingNode();
  Verdict verdict = node.Judge();
  CHECK(GateOf(verdict) == "PodsUnknown");
  CHECK(verdict.pod_interest);
  SECTION("a list that was read while the node was schedulable is not used") {
    node.view.node.unschedulable = false;
    node.WithPods({});
    verdict = node.Judge();
    CHECK(GateOf(verdict) == "PodsUnknown");
    CHECK_FALSE(verdict.pod_interest);
    CHECK(node.After(verdict).unschedulable);
  }
}

TEST_CASE("T14-T18: a node waits for its jobs until the deadline") {
  struct Row {
    const char* name;
    std::vector<Pod> pods;
    absl::Duration timeout;
    absl::Duration waited;
    const char* path;
    const char* gate;
  };
  const absl::Duration never = absl::InfiniteDuration();
  const auto row = GENERATE_REF(values<Row>({
      {"a running pod", {WebPod().Build()}, never, absl::ZeroDuration(), "", "Jobs"},
      {"a pending pod", {WebPod().Pending().Build()}, never, absl::ZeroDuration(), "", "Jobs"},
      {"a pod that has ended", {WebPod().Succeeded().Build()}, never, absl::ZeroDuration(), "drain", "PodsTerminating"},
      {"another pod",
       {PodBuilder("x", "y").OwnedByJob("j", "j").Build()},
       never,
       absl::ZeroDuration(),
       "drain",
       "PodsTerminating"},
      {"before the deadline", {WebPod().Build()}, absl::Seconds(60), absl::Seconds(59), "", "Jobs"},
      {"at the deadline", {WebPod().Build()}, absl::Seconds(60), absl::Seconds(60), "drain", "PodsTerminating"},
  }));
  CAPTURE(row.name);
  auto node = WaitingForJobs().WithPods(row.pods).StageBegan("wait-for-jobs-required", row.waited);
  node.policy.wait_for_completion->timeout = row.timeout;
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == (*row.path == 0 ? "" : "pod-deletion-required,drain-required"));
  CHECK(GateOf(verdict) == row.gate);
}

TEST_CASE("T32, drain-D21: a drain evicts or ignores each kind of pod as Kubernetes does, and fails on all others") {
  struct Row {
    const char* name;
    Pod pod;
    bool force, empty_dir;
    const char* evicted;
    const char* path;
  };
  const auto daemon = PodBuilder("x", "p").WithUid("u").OwnedByDaemonSet("ds", "h", "other");
  const auto bare = PodBuilder("x", "p").WithUid("u");
  const auto set = PodBuilder("x", "p").WithUid("u").OwnedByReplicaSet("rs", "rs");
  const char* const drained = "pod-restart-required";
  const char* const failed = "upgrade-failed";
  const auto row = GENERATE_REF(values<Row>({
      {"DaemonSet pod", daemon.Build(), false, false, "", drained},
      {"DaemonSet pod that has ended", PodBuilder(daemon).Failed().Build(), false, false, "x/p", ""},
      {"static pod", PodBuilder(bare).Mirror().Build(), false, false, "", drained},
      {"ReplicaSet pod", set.Build(), false, false, "x/p", ""},
      {"with emptyDir", PodBuilder(set).WithEmptyDir().Build(), false, false, "", failed},
      {"with emptyDir, allowed", PodBuilder(set).WithEmptyDir().Build(), false, true, "x/p", ""},
      {"with emptyDir, ended", PodBuilder(set).WithEmptyDir().Succeeded().Build(), false, false, "x/p", ""},
      {"bare pod", bare.Build(), false, false, "", failed},
      {"bare pod, forced", bare.Build(), true, false, "x/p", ""},
      {"bare pod with emptyDir, forced", PodBuilder(bare).WithEmptyDir().Build(), true, false, "", failed},
      {"bare pod with emptyDir, both", PodBuilder(bare).WithEmptyDir().Build(), true, true, "x/p", ""},
      {"bare pod, ended", PodBuilder(bare).Succeeded().Build(), false, false, "x/p", ""},
  }));
  CAPTURE(row.name);
  auto node = DrainingNode().WithPods({row.pod});
  node.policy.drain->force = row.force;
  node.policy.drain->delete_empty_dir = row.empty_dir;
  const Verdict verdict = node.Judge();
  CHECK(Evicted(verdict) == row.evicted);
  CHECK(Path(verdict.plan) == row.path);
}

TEST_CASE("drain-D5: pods that the selector excludes are not evicted and do not block the drain") {
  auto node = DrainingNode().WithPods({WebPod().Build(), PodBuilder("x", "bare").WithUid("b").Build()});
  node.policy.drain->pod_selector = Selector("app=web");
  CHECK(Evicted(node.Judge()) == "team-a/web");
}

TEST_CASE("dep-F19: the operator's own pod is never evicted") {
  auto node = DrainingNode().WithPods({WebPod("operator").Build()});
  node.options.own_pod = PodRef{.ns = "team-a", .name = "operator"};
  CHECK(Path(node.Judge().plan) == "pod-restart-required");
}

TEST_CASE("dep-F19: a pod in another namespace is evicted even if it has the name of the operator's pod") {
  auto node = DrainingNode().WithPods({WebPod("operator").Build()});
  node.options.own_pod = PodRef{.ns = "operators", .name = "operator"};
  CHECK(Evicted(node.Judge()) == "team-a/operator");
}

TEST_CASE("arch-A12: evictions are sent in the pass after the state and the cordon are set on the node") {
  auto node = NodeUnderTest("upgrade-required").Draining().WithPods({WebPod().Build()});
  CHECK(node.Judge(/*admitted=*/true).plan.evict.empty());
}

TEST_CASE("arch-A9: evictions are not repeated while a response is outstanding, or soon after any response") {
  auto node = DrainingNode().WithPods({WebPod().Build()});
  PodAttempt& attempt = node.view.attempts.pods["web-uid"];
  attempt = {.count = 1, .sent_at = node.now};
  CHECK(Evicted(node.Judge()).empty());

  SECTION("accepted") {
    attempt.outcome = Outcome::kApplied;
    attempt.answered_at = node.now;
    node.now += absl::Seconds(29);
    CHECK(Evicted(node.Judge()).empty());
    node.now += absl::Seconds(1);
    CHECK(Evicted(node.Judge()) == "team-a/web");
  }
  SECTION("refused by a budget: the gate names the budget and the time of the next attempt") {
    attempt.outcome = Outcome::kNotApplied;
    attempt.answered_at = node.now;
    attempt.refusal = Refusal::kDisruptionBudget;
    attempt.budget = "web-budget";
    const Verdict verdict = node.Judge();
    CHECK(Evicted(verdict).empty());
    CHECK(GateOf(verdict) == "DisruptionBudget");
    CHECK(verdict.gate->detail == "team-a/web: refused by disruption budget web-budget");
    CHECK(verdict.gate->subject == GateSubject(GateSubjectKind::kPod, "team-a", "web"));  // W23
    REQUIRE(verdict.gate->not_before);
    CHECK(*verdict.gate->not_before >= node.now + absl::Seconds(4.5));
    CHECK(*verdict.gate->not_before <= node.now + absl::Seconds(5.5));
    node.now = *verdict.gate->not_before;
    CHECK(Evicted(node.Judge()) == "team-a/web");
  }
  SECTION("Retry-After is respected") {
    attempt.outcome = Outcome::kNotApplied;
    attempt.answered_at = node.now;
    attempt.refusal = Refusal::kThrottled;
    attempt.retry_after = absl::Seconds(20);
    node.now += absl::Seconds(17);
    CHECK(Evicted(node.Judge()).empty());
    node.now += absl::Seconds(6);
    CHECK(Evicted(node.Judge()) == "team-a/web");
  }
}

TEST_CASE(
    "T32: at the drain deadline the node fails, and the reason names the pod and the budget that blocked its "
    "eviction") {
  auto node = DrainingNode().WithPods({WebPod().Build()}).StageBegan("drain-required", absl::Seconds(300));
  node.view.attempts.pods["web-uid"] = {.count = 3,
                                        .outcome = Outcome::kNotApplied,
                                        .answered_at = node.now,
                                        .refusal = Refusal::kDisruptionBudget,
                                        .budget = "web-budget"};
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "upgrade-failed");
  CHECK(verdict.plan.reason == "drain timed out after 300 s: team-a/web (refused by disruption budget web-budget)");
  const Node after = node.After(verdict);
  CHECK(after.unschedulable);
  CHECK(after.annotations.at(Gpu().FailedRevisionAnnotation()) == "new");
  CHECK_FALSE(after.annotations.contains(Gpu().StageAnnotation()));
}

TEST_CASE("W23: the gate of a drain shows when the node will fail, unless the pods will be deleted instead") {
  auto node = DrainingNode().WithPods({WebPod().Build()}).StageBegan("drain-required", absl::Seconds(100));
  CHECK(node.Judge().gate->fails_at == node.now + absl::Seconds(200));
  node.policy.drain->on_timeout = OnTimeout::kDelete;
  CHECK_FALSE(node.Judge().gate->fails_at);
}

TEST_CASE("W23: the gate of a pod deletion shows when the node will fail, unless a drain or a deletion follows") {
  auto node = NodeUnderTest("pod-deletion-required")
                  .CordonedByUs()
                  .WithPods({WebPod().Build()})
                  .StageBegan("pod-deletion-required", absl::Seconds(100));
  node.policy.pod_deletion = PodDeletionPolicy{.pod_selector = Selector("app=web"), .timeout = absl::Seconds(300)};
  const std::optional<Gate> gate = node.Judge().gate;
  REQUIRE(gate);
  CHECK(gate->fails_at == node.now + absl::Seconds(200));
  node.policy.drain = DrainPolicy{};
  CHECK_FALSE(node.Judge().gate->fails_at);
  node.policy.drain.reset();
  node.policy.pod_deletion->on_timeout = OnTimeout::kDelete;
  CHECK_FALSE(node.Judge().gate->fails_at);
}

TEST_CASE("W23: the cause of a failure stays on the node until the next attempt, in at most 256 bytes") {
  auto node = DrainingNode().WithPods({WebPod().Build()}).StageBegan("drain-required", absl::Seconds(300));
  node.view.attempts.pods["web-uid"] = {.count = 3,
                                        .outcome = Outcome::kNotApplied,
                                        .answered_at = node.now,
                                        .refusal = Refusal::kOther,
                                        .message = std::string(300, 'x')};
  const Node failed = node.After(node.Judge());
  const std::string& cause = failed.annotations.at(Gpu().FailureCauseAnnotation());
  CHECK(
      cause.starts_with("Failed to drain the node, drain timed out after 300 s: team-a/web (the request failed: xxx"));
  CHECK(cause.size() == 256);

  auto again = NodeUnderTest("upgrade-required", "old").CordonedByUs();
  again.Annotated(Gpu().FailureCauseAnnotation(), cause);
  CHECK_FALSE(again.After(again.Judge(/*admitted=*/true)).annotations.contains(Gpu().FailureCauseAnnotation()));
}

TEST_CASE("dep-F4: no deadline fails a node before the engine has been active for min(timeout, 60 s)") {
  auto node = DrainingNode().WithPods({WebPod().Build()}).StageBegan("drain-required", absl::Seconds(900));
  node.active_since = node.now - absl::Seconds(59);
  Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan).empty());
  CHECK(verdict.wake_at == node.now + absl::Seconds(1));
  node.now += absl::Seconds(1);
  CHECK(Path(node.Judge().plan) == "upgrade-failed");
}

TEST_CASE("dep-F4: a timer that cannot be trusted is restarted, and a finding reports it") {
  const std::string stage = Gpu().StageAnnotation();
  const auto text = GENERATE(as<std::string>{}, "", "rubbish", "drain-required@x@new", "drain-required@-5@new",
                             "drain-required@99999999999999999999@new", "drain-required@1061@new",
                             "pod-restart-required@1@new", "drain-required@1@other");
  CAPTURE(text);
  auto node = DrainingNode().WithPods({WebPod().Build()});
  if (!text.empty()) node.Annotated(stage, text);
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan).empty());
  CHECK(node.After(verdict).annotations.at(stage) == "drain-required@1000@new");
  REQUIRE(verdict.findings.size() == 1);
  CHECK(verdict.findings[0].code == FindingCode::kTimerRestarted);
}

TEST_CASE("dep-F4: the Go library's timer is used unless it had expired before the engine first saw it") {
  struct Row {
    const char* name;
    const char* value;
    const char* stage;
  };
  const auto row = GENERATE(values<Row>({{"running", "970", "wait-for-jobs-required@970@new"},
                                         {"expired", "100", "wait-for-jobs-required@1000@new"},
                                         {"ahead", "1061", "wait-for-jobs-required@1000@new"},
                                         {"no number", "soon", "wait-for-jobs-required@1000@new"}}));
  CAPTURE(row.name);
  auto node = WaitingForJobs().WithPods({WebPod().Build()});
  node.policy.wait_for_completion->timeout = absl::Seconds(60);
  node.Annotated(Gpu().PodCompletionStartAnnotation(), row.value);
  CHECK(node.After(node.Judge()).annotations.at(Gpu().StageAnnotation()) == row.stage);
}

TEST_CASE("dep-F8: a node that was uncordoned during the upgrade is cordoned again, and its pods are read again") {
  auto node = NodeUnderTest("drain-required").Draining().WithPods({});
  node.Annotated(Gpu().InitiallyUnschedulableAnnotation(), "true");
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan).empty());
  const Node after = node.After(verdict);
  CHECK(after.unschedulable);
  CHECK(after.annotations.at(std::string(kCordonedByAnnotation)) == "nvidia.com/gpu");
  CHECK_FALSE(after.annotations.contains(Gpu().InitiallyUnschedulableAnnotation()));
}

TEST_CASE("dep-F11: on a node that is not ready, the engine does not wait for a pod beyond the pod's grace period") {
  auto node = DrainingNode().WithPods({WebPod().Terminating(kNow - absl::Seconds(1)).Build()});
  CHECK(GateOf(node.Judge()) == "PodsTerminating");
  node.view.node.ready = false;
  CHECK(Path(node.Judge().plan) == "pod-restart-required");
}

TEST_CASE("I2: before a driver pod is deleted, an empty patch confirms that the node is still evacuated") {
  auto node = NodeUnderTest("pod-restart-required").CordonedByUs().StageBegan("pod-restart-required", {}).WithPods({});
  SECTION("the node may have been uncordoned since") {
    const Verdict verdict = node.Draining().Judge();
    CHECK(verdict.plan.patch == PatchNodeParams{});
    CHECK(Describe(verdict.plan) == "n1: pod-restart-required; confirm node; delete drivers/driver-1");
  }
  SECTION("the node may have become ready again, with a pod that counts as lost (dep-F11)") {
    node.view.node.ready = false;
    node.WithPods({WebPod().Terminating(kNow - absl::Seconds(1)).Build()});
    const Verdict verdict = node.Draining().Judge();
    CHECK(verdict.plan.remove.size() == 1);
    CHECK(verdict.plan.patch == PatchNodeParams{});
  }
  SECTION("no patch is sent if the policy evacuates no pods") {
    const Verdict verdict = node.Judge();
    CHECK(verdict.plan.remove.size() == 1);
    CHECK_FALSE(verdict.plan.patch);
  }
  SECTION("no patch is sent if no deletion is due") {
    node.view.attempts.pods["driver-1-uid"] = {.count = 1, .outcome = Outcome::kApplied, .answered_at = kNow};
    CHECK(node.Draining().Judge().plan.empty());
  }
}

TEST_CASE("B-21: with gangs, a patch before evictions confirms that the node is still in its state") {
  auto node = DrainingNode().WithPods({WebPod().Build()}).StageBegan("drain-required", {});
  SECTION("a gang may have been restarted on the node since another replica upgraded it") {
    node.policy.rollout = RolloutPolicy{.gangs = NodeGangs{.steer = Steer::kNone}};
    CHECK(Describe(node.Judge().plan) == "n1: drain-required; confirm node; evict team-a/web");
  }
  SECTION("no patch without gangs") { CHECK(Describe(node.Judge().plan) == "n1: drain-required; evict team-a/web"); }
}

TEST_CASE(
    "doc-D2: a patch before a deletion, which no budget can refuse, confirms that the node is still in its state") {
  auto node = DrainingNode().WithPods({WebPod().Build()}).StageBegan("drain-required", absl::Seconds(301));
  node.policy.drain->on_timeout = OnTimeout::kDelete;
  CHECK(Describe(node.Judge().plan) == "n1: drain-required; confirm node; delete team-a/web");
}

TEST_CASE(
    "arch-A4, I13: with EveryState the patch to pod-restart-required confirms the node before driver pods are "
    "deleted") {
  auto node = DrainingNode();
  node.policy.pacing = Pacing::kEveryState;
  SECTION("the driver pods of an evacuated node are deleted") {
    const Verdict verdict = node.WithPods({}).Judge();
    CHECK(Path(verdict.plan) == "pod-restart-required");
    REQUIRE(verdict.plan.patch);
    CHECK_FALSE(verdict.plan.patch->empty());
    CHECK(verdict.plan.remove.size() == 1);
  }
  SECTION("pods that are up to date stay") {
    node.WithDriverPods({DriverPod("new").Build()});
    CHECK(node.WithPods({}).Judge().plan.remove.empty());
  }
  SECTION("all pods stay while the revision of one of them is unknown") {
    node.WithDriverPods({DriverPod("old").Build(), DriverPod("", "driver-2").Build()});
    const Verdict verdict = node.WithPods({}).Judge();
    CHECK(Path(verdict.plan) == "pod-restart-required");
    CHECK(verdict.plan.remove.empty());
  }
}

TEST_CASE(
    "arch-A10, dep-F11: on a node that is not ready, the engine waits for a pod exactly until the verdict's wake_at") {
  auto node = DrainingNode().WithPods({WebPod().Terminating(kNow).Build()});
  node.view.node.ready = false;
  const Verdict verdict = node.Judge();
  REQUIRE(verdict.wake_at == kNow + absl::Seconds(1));
  node.now = *verdict.wake_at - absl::Milliseconds(1);
  CHECK(GateOf(node.Judge()) == "PodsTerminating");
  node.now = *verdict.wake_at;
  CHECK(Path(node.Judge().plan) == "pod-restart-required");
}

TEST_CASE("arch-A10: pods are read at multiples of 5 s, regardless of when the node is evaluated") {
  auto node = DrainingNode();
  for (const absl::Duration later : {absl::ZeroDuration(), absl::Milliseconds(1), absl::Milliseconds(4'999)}) {
    node.now = kNow + later;
    CHECK(node.Judge().wake_at == kNow + absl::Seconds(5));
  }
  node.now = kNow + absl::Seconds(5);
  CHECK(node.Judge().wake_at == kNow + absl::Seconds(10));
}

TEST_CASE("T24-T27: pods that use the driver are evicted, and other pods stay") {
  auto node = DeletingPods({WebPod("gpu-job").Build()});
  node.view.pods->push_back(WebPod("web").Build());
  CHECK(Evicted(node.Judge()) == "team-a/gpu-job");
  node.WithPods({WebPod("web").Build()});
  CHECK(Path(node.Judge().plan) == "pod-restart-required");
}

TEST_CASE("T28: the deletion of workload pods is reported only for nodes where pods were deleted") {
  const auto says_deleted = [](const Verdict& verdict) {
    return std::any_of(verdict.plan.events.begin(), verdict.plan.events.end(), [](const auto& event) {
      return event.message == "Deleted workload pods on the node for the driver upgrade";
    });
  };
  auto node = DeletingPods({});
  REQUIRE(Path(node.Judge().plan) == "pod-restart-required");
  CHECK_FALSE(says_deleted(node.Judge()));
  node.view.attempts.pods["web-uid"] = {.count = 1, .outcome = Outcome::kNotApplied, .answered_at = kNow};
  CHECK_FALSE(says_deleted(node.Judge()));
  node.view.attempts.pods["web-uid"] = {.count = 1, .outcome = Outcome::kApplied, .answered_at = kNow};
  CHECK(says_deleted(node.Judge()));
}

TEST_CASE("T25, T26: a node falls back to a drain, or fails, if a pod must not be deleted") {
  auto node = DeletingPods({WebPod().WithEmptyDir().Build()});
  CHECK(Path(node.Judge().plan) == "upgrade-failed");
  node.Draining();
  node.policy.drain->delete_empty_dir = true;
  CHECK(Path(node.Judge().plan) == "drain-required");
}

TEST_CASE("dep-F10: a DaemonSet pod that uses the driver stays and causes a finding, but does not block the upgrade") {
  auto node = DeletingPods({PodBuilder("x", "p").WithUid("u").OwnedByDaemonSet("ds", "h", "other").Build()});
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "pod-restart-required");
  REQUIRE(verdict.findings.size() == 1);
  CHECK(verdict.findings[0].code == FindingCode::kPodLeftAlone);
}

TEST_CASE("doc-D2: with onTimeout Delete, the remaining pods are deleted at the deadline, but not earlier") {
  auto node = DrainingNode().WithPods({WebPod().Build()}).StageBegan("drain-required", absl::Seconds(299));
  node.policy.drain->on_timeout = OnTimeout::kDelete;
  node.view.attempts.pods["web-uid"] = {.count = 4,
                                        .outcome = Outcome::kNotApplied,
                                        .answered_at = node.now,
                                        .refusal = Refusal::kDisruptionBudget,
                                        .budget = "web-budget"};
  CHECK(node.Judge().plan.remove.empty());
  node.now += absl::Seconds(1);
  Verdict verdict = node.Judge();
  REQUIRE(verdict.plan.remove.size() == 1);
  CHECK(verdict.plan.remove[0].uid == "web-uid");
  CHECK(Path(verdict.plan).empty());
  SECTION("a terminating pod is awaited") {
    node.WithPods({WebPod().Terminating(kNow + absl::Seconds(30)).Build()});
    CHECK(node.Judge().plan.remove.empty());
  }
  SECTION("a failed deletion is retried after a pause") {
    node.view.attempts.pods["web-uid"] = {
        .count = 1, .outcome = Outcome::kNotApplied, .answered_at = node.now, .refusal = Refusal::kOther};
    CHECK(node.Judge().plan.remove.empty());
  }
}

TEST_CASE("dep-F21: the engine waits for a terminating pod, whatever the policy allows") {
  const auto terminating = [](PodBuilder pod) { return pod.Terminating(kNow + absl::Seconds(20)).Build(); };
  auto node = DrainingNode().WithPods(
      {terminating(PodBuilder("lab", "bare").WithUid("bare")), terminating(WebPod().WithEmptyDir())});
  node.policy.drain->force = node.policy.drain->delete_empty_dir = false;
  CHECK(GateOf(node.Judge()) == "PodsTerminating");
  CHECK(node.Judge().plan.evict.empty());
  auto deleting = DeletingPods({terminating(PodBuilder("lab", "bare").WithUid("bare"))});
  CHECK(GateOf(deleting.Judge()) == "PodsTerminating");
}

TEST_CASE("W13: a ready node fails if a deleted pod outlasts its grace period by a minute") {
  auto node = DrainingNode().StageBegan("drain-required", absl::Seconds(300));
  node.policy.drain->on_timeout = OnTimeout::kDelete;
  const auto stuck_since = [&](absl::Duration age) {
    node.WithPods({WebPod().WithFinalizer("example.com/hold").Terminating(node.now - age).Build()});
  };
  stuck_since(absl::Seconds(59));
  Verdict verdict = node.Judge();
  CHECK(GateOf(verdict) == "PodsTerminating");
  CHECK(verdict.wake_at == node.now + absl::Seconds(1));
  stuck_since(absl::Seconds(60));
  verdict = node.Judge();
  CHECK(Path(verdict.plan) == "upgrade-failed");
  CHECK(verdict.plan.reason ==
        "drain timed out after 300 s: team-a/web (terminating, held by finalizer example.com/hold)");
  SECTION("the minute starts at the timeout if the pod is deleted by force") {
    node.policy.drain->on_timeout = OnTimeout::kForceDelete;
    verdict = node.Judge();
    REQUIRE(verdict.plan.remove.size() == 1);
    CHECK(verdict.plan.force_remove);
    node.now += absl::Seconds(60);
    CHECK(Path(node.Judge().plan) == "upgrade-failed");
  }
  SECTION("on a node that is not ready the pod is lost, not stuck") {
    node.view.node.ready = false;
    CHECK(Path(node.Judge().plan) == "pod-restart-required");
  }
}

TEST_CASE("W13: ForceDelete deletes pods with grace period zero, and only after the timeout") {
  auto node = DrainingNode().WithPods({WebPod().Build()}).StageBegan("drain-required", absl::Seconds(299));
  node.policy.drain->on_timeout = OnTimeout::kForceDelete;
  CHECK_FALSE(node.Judge().plan.force_remove);
  CHECK(node.Judge().plan.remove.empty());
  node.now += absl::Seconds(1);
  CHECK(node.Judge().plan.remove.size() == 1);
  CHECK(node.Judge().plan.force_remove);
}

TEST_CASE("W10: a node that cannot be evacuated returns to service with its old driver, if the policy allows it") {
  auto node = DrainingNode().WithPods({WebPod().Build()}).StageBegan("drain-required", absl::Seconds(300));
  node.Annotated(std::string(kCordonedByAnnotation), "nvidia.com/gpu");
  CHECK(node.After(node.Judge()).unschedulable);
  node.policy.drain->on_failure = OnFailure::kGiveBack;
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "upgrade-failed");
  const Node after = node.After(verdict);
  CHECK_FALSE(after.unschedulable);
  CHECK_FALSE(after.annotations.contains(std::string(kCordonedByAnnotation)));

  SECTION("the node holds no slot, and counts as failed") {
    node.view.node = after;
    const Tally tally = node.Judge().tally;
    CHECK(tally.slots == 0);
    CHECK(tally.unavailable == 0);
    CHECK(tally.failed == 1);
    CHECK(GateOf(node.Judge()) == "Failed");
  }
  SECTION("an administrator's cordon stays") {
    node.Annotated(Gpu().InitiallyUnschedulableAnnotation(), "true");
    CHECK(node.After(node.Judge()).unschedulable);
  }
  SECTION("the node stays cordoned if the driver waits for a safe load") {
    node.Annotated(Gpu().SafeLoadAnnotation(), "true");
    CHECK(node.After(node.Judge()).unschedulable);
  }
}

TEST_CASE("podDeletion.podSelector selects pods that use the driver without requesting a resource") {
  auto node = NodeUnderTest("pod-deletion-required").CordonedByUs();
  node.StageBegan("pod-deletion-required", absl::Seconds(10)).WithPods({WebPod("a").Build(), WebPod("b").Build()});
  node.view.pods->at(0).labels["uses"] = "rdma";
  node.policy.pod_deletion = PodDeletionPolicy{.pod_selector = Selector("uses=rdma")};
  CHECK(Evicted(node.Judge()) == "team-a/a");
}

TEST_CASE("If a pod filter fails, the node waits with the gate Hook") {
  auto node = DeletingPods({});
  node.view.hook_errors["team-a/web"] = "resource claim not readable";
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan).empty());
  CHECK(GateOf(verdict) == "Hook");
}

}  // namespace
}  // namespace driverupgrade::tests
