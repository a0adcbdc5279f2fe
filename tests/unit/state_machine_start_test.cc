// Tests the states unknown, upgrade-done, and upgrade-required (T1-T9).
#include "decide/attempt_log.h"
#include "model/cordon_names.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

const std::string kInitial = Gpu().InitiallyUnschedulableAnnotation();
const std::string kCordonedBy(kCordonedByAnnotation);

TEST_CASE("T1, T2: a node without a state label is done if its driver pod is current, and otherwise waits for a slot") {
  const Verdict current = NodeUnderTest("", "new").Judge();
  CHECK(Path(current.plan) == "upgrade-done");
  CHECK_FALSE(current.candidate);

  const Verdict old = NodeUnderTest("", "old").Judge();
  CHECK(Path(old.plan) == "upgrade-required");
  CHECK(old.candidate);
}

TEST_CASE("T3: a node that is done and current is left alone") {
  const Verdict verdict = NodeUnderTest("upgrade-done", "new").Judge();
  CHECK(Path(verdict.plan).empty());
  CHECK_FALSE(verdict.plan.patch);
  CHECK_FALSE(verdict.gate);
}

TEST_CASE("T1: an outdated driver pod, a safe load, or a request starts an upgrade of a node that is done") {
  SECTION("an old driver pod") { CHECK(Path(NodeUnderTest("upgrade-done", "old").Judge().plan) == "upgrade-required"); }
  SECTION("a driver that waits to be loaded") {
    auto node = NodeUnderTest("upgrade-done", "new").Annotated(Gpu().SafeLoadAnnotation(), "true");
    CHECK(Path(node.Judge().plan) == "upgrade-required");
  }
  SECTION("the administrator's request") {
    auto node = NodeUnderTest("upgrade-done", "new").Annotated(Gpu().UpgradeRequestedAnnotation(), "true");
    CHECK(Path(node.Judge().plan) == "upgrade-required");
  }
  SECTION("a request other than `true` is ignored") {
    auto node = NodeUnderTest("upgrade-done", "new").Annotated(Gpu().UpgradeRequestedAnnotation(), "yes");
    CHECK(Path(node.Judge().plan).empty());
  }
}

TEST_CASE("T2: a node whose only driver pod is orphaned counts as done") {
  Pod orphan = DriverPod("old").Build();
  orphan.owners.clear();
  CHECK(Path(NodeUnderTest().WithDriverPods({orphan}).Judge().plan) == "upgrade-done");
}

TEST_CASE("dep-F15: a node waits while its target revision is unknown") {
  NodeUnderTest node("upgrade-done", "old");
  node.facts.daemon_sets["ds"].wanted_revision.reset();
  node.facts.daemon_sets["ds"].why_unknown = "generation 2 is not observed";
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan).empty());
  CHECK(GateOf(verdict) == "RevisionUnknown");
  CHECK(verdict.gate->detail == "generation 2 is not observed");
}

TEST_CASE("R14, dep-F1: a driver pod without a revision label causes a finding on its node") {
  Pod pod = DriverPod("old").Build();
  pod.labels.erase("controller-revision-hash");
  const Verdict verdict = NodeUnderTest("upgrade-done").WithDriverPods({pod}).Judge();
  CHECK(GateOf(verdict) == "RevisionUnknown");
  REQUIRE(verdict.findings.size() == 1);
  CHECK(verdict.findings[0].code == FindingCode::kPodWithoutRevision);
}

TEST_CASE("T5: the skip label keeps a node in upgrade-required without requesting a slot") {
  const Verdict verdict =
      NodeUnderTest("upgrade-required").Labelled(Gpu().SkipUpgradeLabel(), "true").Judge(/*admitted=*/true);
  CHECK(GateOf(verdict) == "SkipLabel");
  CHECK_FALSE(verdict.candidate);
  CHECK_FALSE(verdict.plan.patch);
}

TEST_CASE("W19: a waiting node whose driver is up to date and Ready again is done, and its cordon stays") {
  auto node = NodeUnderTest("upgrade-required", "new");
  SECTION("schedulable") {}
  SECTION("an administrator had cordoned it") { node.Cordoned().Annotated(kInitial, "true"); }
  SECTION("with the skip label") { node.Labelled(Gpu().SkipUpgradeLabel(), "true"); }
  const bool was_cordoned = node.view.node.unschedulable;
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "upgrade-done");
  CHECK_FALSE(verdict.candidate);
  CHECK(node.After(verdict).unschedulable == was_cordoned);
  CHECK_FALSE(node.After(verdict).annotations.contains(kInitial));
}

TEST_CASE("W19: a waiting node with an up-to-date driver keeps waiting if there is another reason for an upgrade") {
  auto node = NodeUnderTest("upgrade-required", "new");
  SECTION("it has failed, and will be retried") { node.Annotated(Gpu().FailedRevisionAnnotation(), "new"); }
  SECTION("an upgrade is requested") { node.Annotated(Gpu().UpgradeRequestedAnnotation(), "true"); }
  SECTION("the driver waits to be loaded") { node.Annotated(Gpu().SafeLoadAnnotation(), "true"); }
  SECTION("the driver is not Ready") { node.WithDriverPods({DriverPod("new").NotReady().Build()}); }
  SECTION("the driver pod has no owner") { node.view.driver_pods.front().owners.clear(); }
  SECTION("an earlier upgrade has cordoned it") { node.CordonedByUs(); }
  SECTION("it has been cordoned meanwhile") { node.Cordoned(); }
  SECTION("a maintenance operator has cordoned it") { node.Requesting(); }
  CHECK(Path(node.Judge().plan) != "upgrade-done");
}

TEST_CASE("arch-A4: an admitted node proceeds to its first wait in one patch that also cordons it") {
  auto node = NodeUnderTest("", "old").Draining();
  const Verdict verdict = node.Judge(/*admitted=*/true);
  CHECK(Path(verdict.plan) == "upgrade-required,cordon-required,wait-for-jobs-required,drain-required");
  CHECK(GateOf(verdict) == "PodsUnknown");
  const Node after = node.After(verdict);
  CHECK(after.unschedulable);
  CHECK(after.labels.at(Gpu().StateLabel()) == "drain-required");
  CHECK(after.annotations.at(kCordonedBy) == "nvidia.com/gpu");
  CHECK(after.annotations.at(Gpu().StageAnnotation()) == "drain-required@1000@new");
  CHECK(verdict.plan.evict.empty());
}

TEST_CASE("arch-A4: with EveryState each pass enters only one state") {
  auto node = NodeUnderTest("upgrade-required").Draining();
  node.policy.pacing = Pacing::kEveryState;
  const Verdict verdict = node.Judge(/*admitted=*/true);
  CHECK(Path(verdict.plan) == "cordon-required");
  CHECK_FALSE(node.After(verdict).unschedulable);
}

TEST_CASE("dep-F7: an administrator's cordon is recorded when the upgrade starts, and stays separate from our own") {
  auto node = NodeUnderTest("", "old").Cordoned().Draining();
  const Node after = node.After(node.Judge(/*admitted=*/true));
  CHECK(after.annotations.at(kInitial) == "true");
  CHECK_FALSE(after.annotations.contains(kCordonedBy));
}

TEST_CASE(
    "dep-F7: the record of an administrator's cordon, written in upgrade-required, is updated when the node starts") {
  SECTION("uncordoned meanwhile") {
    auto node = NodeUnderTest("upgrade-required").Annotated(kInitial, "true").Draining();
    const Node after = node.After(node.Judge(/*admitted=*/true));
    CHECK_FALSE(after.annotations.contains(kInitial));
    CHECK(after.annotations.at(kCordonedBy) == "nvidia.com/gpu");
  }
  SECTION("cordoned meanwhile") {
    auto node = NodeUnderTest("upgrade-required").Cordoned().Draining();
    CHECK(node.After(node.Judge(/*admitted=*/true)).annotations.at(kInitial) == "true");
  }
}

TEST_CASE(
    "dep-F7: a cordon that names drivers belongs to an upgrade while one of them is in progress or has no label") {
  struct Row {
    const char* name;
    const char* set;
    const char* ofed_state;
    bool administrators;
  };
  const auto row = GENERATE(values<Row>({
      {"another driver is in progress", "nvidia.com/ofed", "drain-required", false},
      {"another driver waits for its slot", "nvidia.com/ofed", "upgrade-required", false},
      {"another driver has failed", "nvidia.com/ofed", "upgrade-failed", false},
      {"another driver is done: its name was left behind", "nvidia.com/ofed", "upgrade-done", true},
      {"another driver's label was removed", "nvidia.com/ofed", "", false},
      {"our own, from an attempt that failed", "nvidia.com/gpu", "", false},
  }));
  CAPTURE(row.name);
  auto node = NodeUnderTest("upgrade-required").Cordoned().Annotated(kCordonedBy, row.set).Draining();
  if (*row.ofed_state != 0) node.Labelled(Ofed().StateLabel(), row.ofed_state);
  const Node after = node.After(node.Judge(/*admitted=*/true));
  CHECK(after.annotations.contains(kInitial) == row.administrators);
}

TEST_CASE("I3: a leftover name on a finished node does not turn an administrator's cordon into ours") {
  auto node = NodeUnderTest("upgrade-done", "old").Draining().Annotated(kCordonedBy, "nvidia.com/gpu");
  SECTION("cordoned before the new revision") { node.Cordoned(); }
  SECTION("cordoned while the node waits for a slot") {}
  const Verdict waiting = node.Judge();
  CHECK(Path(waiting.plan) == "upgrade-required");
  node.view.node = node.After(waiting);
  CHECK_FALSE(node.view.node.annotations.contains(kCordonedBy));
  node.Cordoned();
  const Node after = node.After(node.Judge(/*admitted=*/true));
  CHECK(after.annotations.at(kInitial) == "true");
  CHECK_FALSE(after.annotations.contains(kCordonedBy));
}

TEST_CASE("dep-F7: if the label of an upgrade was removed, its cordon is lifted once the node is up to date") {
  auto node = NodeUnderTest("", "new").CordonedByUs().Annotated(Gpu().StageAnnotation(), "drain-required@1@new");
  SECTION("our own cordon is lifted") {
    const Verdict verdict = node.Judge();
    CHECK(Path(verdict.plan) == "pod-restart-required,uncordon-required,upgrade-done");
    CHECK_FALSE(node.After(verdict).unschedulable);
    CHECK(node.After(verdict).annotations.empty());
  }
  SECTION("a cordon without names stays, because it is an administrator's") {
    node.view.node.annotations.clear();
    CHECK(node.After(node.Judge()).unschedulable);
  }
  SECTION("a cordon stays while another driver relies on it") {
    node.Annotated(kCordonedBy, "nvidia.com/gpu,nvidia.com/ofed").Labelled(Ofed().StateLabel(), "drain-required");
    const Node after = node.After(node.Judge());
    CHECK(after.unschedulable);
    CHECK(after.annotations.at(kCordonedBy) == "nvidia.com/ofed");
  }
}

TEST_CASE("dep-F7: a node that waits for its slot takes over a leftover cordon from an upgrade") {
  auto node = NodeUnderTest("", "old").Cordoned().Annotated(kCordonedBy, "nvidia.com/ofed");
  const Node after = node.After(node.Judge());
  CHECK(after.labels.at(Gpu().StateLabel()) == "upgrade-required");
  CHECK(after.annotations.at(kCordonedBy) == "nvidia.com/gpu");
  CHECK_FALSE(after.annotations.contains(kInitial));
}

TEST_CASE("dep-F8: an upgrade waits for a driver that has cordoned the node but is not in the cordon set") {
  auto node = NodeUnderTest("upgrade-required").Cordoned().Labelled(Ofed().StateLabel(), "drain-required");
  const Verdict verdict = node.Judge(/*admitted=*/true);
  CHECK(GateOf(verdict) == "OtherDriver");
  CHECK(verdict.gate->detail == "nvidia.com/ofed is being upgraded on the node");
  CHECK(verdict.gate->subject == GateSubject(GateSubjectKind::kDriver, "", "nvidia.com/ofed"));  // W23
}

TEST_CASE("dep-F20: a node that is unfit to start waits with a specific gate, and a node in progress continues") {
  const char* gate = "";
  NodeUnderTest node("upgrade-required");
  SECTION("not Ready") {
    node.view.node.ready = false;
    node.view.node.ready_transition_time = absl::UnixEpoch();
    gate = "NodeNotReady";
    CHECK(node.Judge().gate->detail.starts_with("NotReady since 1970-01-01T00:00:00Z; repair the node"));
  }
  SECTION("with a taint that its DaemonSet does not tolerate") {
    node.facts.daemon_sets.begin()->second.daemon_set.tolerations =
        std::vector<Toleration>{{.key = "nvidia.com/gpu", .op = "Exists"}};
    node.view.node.taints = {{.key = "nvidia.com/gpu", .effect = "NoSchedule"},
                             {.key = "node.kubernetes.io/unreachable", .effect = "NoSchedule"},
                             {.key = "team", .value = "a", .effect = "PreferNoSchedule"}};
    CHECK(node.Judge().candidate);
    node.view.node.taints.push_back({.key = "team", .value = "a", .effect = "NoSchedule"});
    gate = "NodeTainted";
    CHECK(
        node.Judge().gate->detail.starts_with("the driver's DaemonSet does not tolerate the taint team=a:NoSchedule;"));
  }
  SECTION("about to be removed") {
    const char* key = GENERATE("karpenter.sh/disrupted", "aws-node-termination-handler/spot-itn",
                               "cloud.google.com/impending-node-termination");
    node.view.node.taints = {{.key = key, .effect = "NoSchedule"}};
    gate = "NodeLeaves";
  }
  SECTION("about to be rebooted by OpenShift") {
    node.Annotated("machineconfiguration.openshift.io/currentConfig", "a");
    node.Annotated("machineconfiguration.openshift.io/desiredConfig", "b");
    gate = "MachineConfig";
  }
  SECTION("rebooted, but not done") {
    node.Annotated("machineconfiguration.openshift.io/currentConfig", "a");
    node.Annotated("machineconfiguration.openshift.io/desiredConfig", "a");
    node.Annotated("machineconfiguration.openshift.io/state", "Working");
    gate = "MachineConfig";
  }
  const Verdict waits = node.Judge();
  CHECK_FALSE(waits.candidate);
  CHECK(GateOf(waits) == gate);
  node.Labelled(Gpu().StateLabel(), "cordon-required");
  CHECK(Path(node.Judge().plan).starts_with("wait-for-jobs-required"));
}

TEST_CASE(
    "dep-F20: a node that the Machine Config Operator has marked as degraded waits like a node that is not Ready") {
  const std::string config = "machineconfiguration.openshift.io/";
  const std::string state = GENERATE(as<std::string>(), "Degraded", "Unreconcilable");
  auto node = NodeUnderTest("upgrade-required").Annotated(config + "state", state);
  node.Annotated(config + "currentConfig", "a").Annotated(config + "desiredConfig", "a");
  const Verdict waits = node.Judge();
  CHECK_FALSE(waits.candidate);
  CHECK(GateOf(waits) == "NodeNotReady");
  CHECK(waits.gate->detail == "the Machine Config Operator's state of the node is " + state +
                                  "; repair the node, or start it anyway with the annotation "
                                  "nvidia.com/gpu-driver-upgrade-requested=true");
  node.Annotated(Gpu().UpgradeRequestedAnnotation(), "true");
  CHECK(node.Judge().candidate);
  // The operator may repeat the failed change, and reboot the node, at any time.
  node.Annotated(config + "desiredConfig", "b");
  CHECK(GateOf(node.Judge()) == "MachineConfig");
  node.view.node.annotations.erase(Gpu().UpgradeRequestedAnnotation());
  CHECK(node.Judge().gate->detail.ends_with(state + "; repair the node"));
}

TEST_CASE("dep-F20: a node on which the SR-IOV network operator is working does not start, cordoned or not") {
  const std::string state = "sriovnetwork.openshift.io/state";
  auto node = NodeUnderTest("upgrade-required").Annotated(state, "Drain_Required");
  SECTION("requested, but not yet drained") {}
  SECTION("drained") { node.Cordoned(); }
  const Verdict waits = node.Judge();
  CHECK_FALSE(waits.candidate);
  CHECK(GateOf(waits) == "OtherDriver");
  CHECK(
      waits.gate->detail ==
      "the SR-IOV network operator is working on the node (state Drain_Required); wait until it has finished, or start "
      "the node anyway with the annotation nvidia.com/gpu-driver-upgrade-requested=true");
  CHECK_FALSE(waits.gate->subject);
  CHECK(node.Annotated(state, "Idle").Judge().candidate);
}

TEST_CASE("dep-F20: a driver for which the SR-IOV network operator may be waiting does not wait for that operator") {
  auto node = NodeUnderTest("upgrade-required").Annotated("sriovnetwork.openshift.io/state", "Reboot_Required");
  SECTION("the driver waits to be loaded") { node.Annotated(Gpu().SafeLoadAnnotation(), "true"); }
  SECTION("an administrator requests the upgrade") { node.Annotated(Gpu().UpgradeRequestedAnnotation(), "true"); }
  SECTION("the upgrade has failed, and is retried") { node.Annotated(Gpu().FailedRevisionAnnotation(), "older"); }
  SECTION("the upgrade has already cordoned the node") { node.CordonedByUs(); }
  CHECK(node.Judge().candidate);
}

TEST_CASE("dep-F14: a waiting node uses slots and headroom according to its condition") {
  struct Row {
    const char* name;
    bool cordoned;
    bool ours;
    bool ready;
    CordonedNodes policy;
    bool slot, headroom, takes;
  };
  const auto row = GENERATE(values<Row>({
      {"available", false, false, true, CordonedNodes::kProceed, true, true, true},
      {"not ready, but requested: it does not wait for itself", false, false, false, CordonedNodes::kProceed, true,
       false, false},
      {"cordoned by an upgrade", true, true, true, CordonedNodes::kProceed, true, false, false},
      {"cordoned by an administrator", true, false, true, CordonedNodes::kProceed, false, false, false},
      {"the same, within the budget", true, false, true, CordonedNodes::kWithinBudget, true, false, false},
  }));
  CAPTURE(row.name);
  NodeUnderTest node("upgrade-required");
  if (row.cordoned) node.Cordoned();
  if (row.ours) node.CordonedByUs();
  node.view.node.ready = row.ready;
  if (!row.ready) node.Annotated(Gpu().UpgradeRequestedAnnotation(), "true");
  node.policy.cordoned_nodes = row.policy;
  const Verdict verdict = node.Judge();
  REQUIRE(verdict.candidate);
  CHECK(verdict.candidate->needs_slot == row.slot);
  CHECK(verdict.candidate->needs_headroom == row.headroom);
  CHECK(verdict.candidate->takes_headroom == row.takes);
}

TEST_CASE("dep-F14: cordoned nodes wait if the policy ignores them") {
  auto node = NodeUnderTest("upgrade-required").Cordoned();
  node.policy.cordoned_nodes = CordonedNodes::kIgnore;
  CHECK(GateOf(node.Judge(/*admitted=*/true)) == "Cordoned");
}

TEST_CASE(
    "dep-F17: a request stays on the node until admission, and is then replaced with the UID of the pod to restart") {
  auto node = NodeUnderTest("upgrade-required", "new").Annotated(Gpu().UpgradeRequestedAnnotation(), "true").Draining();
  CHECK_FALSE(node.Judge().plan.patch);
  const Node after = node.After(node.Judge(/*admitted=*/true));
  CHECK_FALSE(after.annotations.contains(Gpu().UpgradeRequestedAnnotation()));
  CHECK(after.annotations.at(Gpu().RestartPodAnnotation()) == "driver-1-uid");
}

TEST_CASE("dep-F9: with autoUpgrade off a node stays unchanged") {
  auto node = NodeUnderTest("", "old");
  node.policy.auto_upgrade = false;
  const Verdict verdict = node.Judge();
  CHECK_FALSE(verdict.plan.patch);
  CHECK(GateOf(verdict) == "Frozen");
  CHECK(verdict.gate->detail == "autoUpgrade is off");
  node.policy.frozen_because = "the policy is not understood";
  CHECK(node.Judge().gate->detail == "the policy is not understood");
}

TEST_CASE("A label value that is not a state causes a finding, and the node is left alone") {
  const Verdict verdict = NodeUnderTest("upgrade-reqired").Judge(/*admitted=*/true);
  CHECK_FALSE(verdict.plan.patch);
  CHECK(GateOf(verdict) == "UnknownState");
  CHECK(verdict.tally.slots == 1);
  REQUIRE(verdict.findings.size() == 1);
  CHECK(verdict.findings[0].code == FindingCode::kUnknownState);
}

TEST_CASE(
    "arch-A9: while the response to its patch is outstanding, a node gets no other patch and counts in both states") {
  auto node = NodeUnderTest("upgrade-required").Draining();
  const Verdict first = node.Judge(/*admitted=*/true);
  internal::AttemptLog log;
  log.PatchSent(node.view.node, *first.plan.patch, node.now);
  node.view.attempts = log.ForNode("n1-uid");
  Verdict verdict = node.Judge(/*admitted=*/true);
  CHECK(GateOf(verdict) == "Unsettled");
  CHECK_FALSE(verdict.plan.patch);
  CHECK(verdict.tally.slots == 1);
  CHECK(verdict.tally.unavailable == 1);

  SECTION("if the response is lost, the patch is repeated after a pause, and still counted") {
    log.PatchAnswered("n1-uid", Outcome::kUnclear, "connection reset", node.now);
    node.view.attempts = log.ForNode("n1-uid");
    CHECK(GateOf(node.Judge(/*admitted=*/true)) == "Unsettled");
    node.now += absl::Seconds(2);
    verdict = node.Judge(/*admitted=*/true);
    CHECK(verdict.plan.patch);
    CHECK(verdict.tally.slots == 1);
    // The node may already hold a slot. If it requested another slot, it would wait for itself.
    const Candidate candidate = *node.Judge().candidate;
    CHECK_FALSE(candidate.needs_slot);
    CHECK_FALSE(candidate.needs_headroom);
    CHECK_FALSE(candidate.takes_headroom);
  }
  SECTION("a newer version settles the patch") {
    log.PatchAnswered("n1-uid", Outcome::kConflict, "409", node.now);
    node.view.node.resource_version = "11";
    log.NodeRead(node.view.node, nullptr);
    node.view.attempts = log.ForNode("n1-uid");
    verdict = node.Judge(/*admitted=*/true);
    CHECK(verdict.plan.patch);
    CHECK(verdict.tally.slots == 0);
  }
  SECTION("a definite refusal means no change, and is retried after a pause") {
    log.PatchAnswered("n1-uid", Outcome::kNotApplied, "403", node.now);
    node.view.attempts = log.ForNode("n1-uid");
    verdict = node.Judge(/*admitted=*/true);
    CHECK(GateOf(verdict) == "Unsettled");
    CHECK(verdict.tally.slots == 0);
  }
}

TEST_CASE("T8: a driver pod that needs only a restart is restarted on the cordoned node, without an evacuation") {
  NodeUnderTest node("upgrade-required");
  node.Draining().view.restart_only = true;
  Verdict verdict = node.Judge(/*admitted=*/true);
  CHECK(Path(verdict.plan) == "pod-restart-required");
  CHECK(verdict.plan.remove.size() == 1);
  Node after = node.After(verdict);
  CHECK(after.unschedulable);
  CHECK(after.annotations.at(kCordonedBy) == Gpu().Name());
  CHECK(after.annotations.at(Gpu().RestartOnlyAnnotation()) == "old@new");

  // The next pass, or another engine, continues from the annotations on the node.
  node.view.node = after;
  node.view.restart_only = false;
  CHECK(node.Judge().plan.remove.size() == 1);
  // The restart-only predicate has not compared the newer target revision, so the node is evacuated first.
  node.facts = Facts("newest");
  verdict = node.Judge();
  CHECK(verdict.plan.remove.empty());
  CHECK(GateOf(verdict) == "PodsUnknown");

  node.facts = Facts("new");
  SECTION("a pod of a third revision, created for another target revision, has not been compared either") {
    node.WithDriverPods({DriverPod("third").Build()});
    verdict = node.Judge();
    CHECK(verdict.plan.remove.empty());
    CHECK(GateOf(verdict) == "PodsUnknown");
    CHECK_FALSE(node.After(verdict).annotations.contains(Gpu().RestartOnlyAnnotation()));
  }
  node.WithDriverPods({DriverPod("new").Build()});
  after = node.After(node.Judge());
  CHECK(after.annotations.empty());
  CHECK_FALSE(after.unschedulable);
}

TEST_CASE(
    "T8, H6: a node is evacuated if the upgrade is requested, the pod is orphaned, or the driver waits to be loaded") {
  NodeUnderTest node("upgrade-required");
  node.Draining().view.restart_only = true;
  SECTION("requested, no matter how long ago") { node.Annotated(Gpu().UpgradeRequestedAnnotation(), "true"); }
  SECTION("safe load") { node.Annotated(Gpu().SafeLoadAnnotation(), "true"); }
  SECTION("orphan") {
    Pod orphan = DriverPod("old", "driver-2").Build();
    orphan.owners.clear();
    node.view.driver_pods.push_back(orphan);
  }
  SECTION("the operator's predicate returns false") { node.view.restart_only = false; }
  const Verdict verdict = node.Judge(/*admitted=*/true);
  CHECK(Path(verdict.plan) == "cordon-required,wait-for-jobs-required,drain-required");
  CHECK_FALSE(node.After(verdict).annotations.contains(Gpu().RestartOnlyAnnotation()));
}

TEST_CASE("T7: a node waits without a slot if its restart-only predicate fails") {
  NodeUnderTest node("upgrade-required");
  node.view.restart_only_error = "restart-only predicate for drivers/driver-1: no data";
  const Verdict verdict = node.Judge();
  CHECK_FALSE(verdict.candidate);
  CHECK(verdict.plan.empty());
  CHECK(GateOf(verdict) == "Hook");
  CHECK(verdict.wake_at == kNow + absl::Seconds(5));
}

TEST_CASE("T8: an administrator's cordon stays after a restart without an evacuation") {
  NodeUnderTest node("upgrade-required");
  node.Cordoned().view.restart_only = true;
  node.view.node = node.After(node.Judge(/*admitted=*/true));
  CHECK(node.view.node.annotations.contains(kInitial));
  node.WithDriverPods({DriverPod("new").Build()});
  const Node after = node.After(node.Judge());
  CHECK(after.unschedulable);
  CHECK(after.annotations.empty());
}

TEST_CASE("dep-F7: spaces in the cordon set, which an administrator may have written, are not part of a name") {
  NodeUnderTest node("upgrade-required");
  node.Cordoned()
      .Annotated(kCordonedBy, "nvidia.com/nic , nvidia.com/ofed")
      .Labelled(Ofed().StateLabel(), "drain-required");
  const Verdict verdict = node.Judge(/*admitted=*/true);
  CHECK_FALSE(node.After(verdict).annotations.contains(kInitial));
  CHECK(node.After(verdict).annotations.at(kCordonedBy) == "nvidia.com/gpu,nvidia.com/ofed");
}

TEST_CASE("W1: a node without a label is neither done nor uncordoned before its driver is validated") {
  auto node = NodeUnderTest("", "new").CordonedByUs().WithDriverPods({DriverPod("new").NotReady().Build()});
  SECTION("our own upgrade") {
    const Verdict verdict = node.Judge();
    CHECK(verdict.plan.from == UpgradeState::kPodRestartRequired);
    CHECK(GateOf(verdict) == "DriverPodNotReady");
    CHECK(node.After(verdict).unschedulable);
    CHECK(verdict.tally.slots == 1);
  }
  SECTION("a node that another client uncordoned is cordoned again") {
    node.view.node.unschedulable = false;
    const Verdict verdict = node.Judge();
    CHECK(verdict.tally.slots == 1);
    CHECK(GateOf(verdict) == "DriverPodNotReady");
    CHECK(node.After(verdict).unschedulable);
  }
  SECTION("an administrator's cordon of which only the record is left") {
    node.view.node.annotations = {{kInitial, "true"}};
    const Verdict verdict = node.Judge();
    CHECK(GateOf(verdict) == "DriverPodNotReady");
    CHECK(verdict.plan.empty());
  }
  SECTION("before its validation pods are ready") {
    node.WithDriverPods({DriverPod("new").Build()});
    node.options.validation_selector = Selector("app=validator");
    CHECK(node.Judge().plan.to() == UpgradeState::kValidationRequired);
    node.view.node.unschedulable = false;
    CHECK(GateOf(node.Judge()) == "PodsUnknown");
    CHECK(GateOf(node.WithPods({}).Judge()) == "Validation");
  }
}

TEST_CASE("W1: a label that another client removed is written with the next patch, or separately after a pause") {
  auto node = NodeUnderTest("", "new").CordonedByUs().WithDriverPods({DriverPod("new").NotReady().Build()});
  node.view.attempts.label_loss = {.count = 2, .last = node.now};
  Verdict verdict = node.Judge();
  CHECK(verdict.plan.empty());
  CHECK(verdict.wake_at == node.now + absl::Seconds(20));
  REQUIRE(verdict.findings.size() == 1);
  CHECK(verdict.findings.front().code == FindingCode::kLabelTakenAway);
  node.view.attempts.label_loss->last = node.now - absl::Seconds(20);
  CHECK(node.After(node.Judge()).labels.at(Gpu().StateLabel()) == "pod-restart-required");

  node.view.attempts.label_loss->last = node.now;
  node.view.node.unschedulable = false;  // a patch must cordon the node again
  CHECK(node.After(node.Judge()).labels.at(Gpu().StateLabel()) == "pod-restart-required");

  auto idle = NodeUnderTest("", "new");
  idle.view.attempts.label_loss = {.count = 1, .last = idle.now};
  verdict = idle.Judge();
  CHECK(verdict.plan.empty());
  CHECK(verdict.plan.to() == UpgradeState::kDone);
  CHECK_FALSE(verdict.gate);
}

TEST_CASE("W2: another program's cordon counts as an administrator's cordon, unless it names an upgrade in progress") {
  auto node = NodeUnderTest("upgrade-required").Cordoned().Draining();
  node.Annotated(std::string(internal::kForeignCordonMarks.front().key), "true")
      .Annotated(kCordonedBy, "nvidia.com/ofed");
  CHECK(node.After(node.Judge(/*admitted=*/true)).annotations.contains(kInitial));
  node.Labelled(Ofed().StateLabel(), "drain-required");
  CHECK_FALSE(node.After(node.Judge(/*admitted=*/true)).annotations.contains(kInitial));
}

}  // namespace
}  // namespace driverupgrade::tests
