// Tests requestor mode: T10, T34-T36, and T50, with the corrections dep-F13 and H12-H16.
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using Kind = MaintenanceCall::Kind;

const std::string kMode = Gpu().RequestorModeAnnotation();
const std::string kId = "nvidia.gpu-operator";

/// A node whose operator is in requestor mode. In states after upgrade-required, the node has the annotation for
/// requestor mode.
struct RequestedNode : NodeUnderTest {
  explicit RequestedNode(std::string_view state, std::string driver_hash = "old")
      : NodeUnderTest(state, std::move(driver_hash)) {
    Requesting();
    if (state == "" || state == "upgrade-required") view.node.annotations.clear();
  }
  RequestedNode& With(const std::string& reason, std::string requestor = kId,
                      std::vector<std::string> additional = {}) {
    WithMaintenance(reason, std::move(requestor), std::move(additional));
    return *this;
  }
  NodeMaintenance& object() { return view.maintenances->back(); }
};

std::vector<Kind> Calls(const NodePlan& plan) {
  std::vector<Kind> kinds;
  for (const MaintenanceCall& call : plan.maintenance) kinds.push_back(call.kind);
  return kinds;
}

TEST_CASE("T10: a node that needs an upgrade requests maintenance, without using our budgets") {
  const RequestedNode node("upgrade-required");
  const Verdict waiting = node.Judge();
  REQUIRE(waiting.candidate);
  CHECK_FALSE(waiting.candidate->needs_slot);
  CHECK_FALSE(waiting.candidate->needs_headroom);

  const Verdict verdict = node.Judge(/*admitted=*/true);
  CHECK(Path(verdict.plan) == "node-maintenance-required");
  CHECK(node.After(verdict).annotations.at(kMode) == "true");
  CHECK_FALSE(node.After(verdict).unschedulable);
  CHECK(Calls(verdict.plan) == std::vector{Kind::kCreate});
  CHECK(GateOf(verdict) == "Maintenance");
}

TEST_CASE("T10: the skip label also holds a node back in requestor mode") {
  RequestedNode node("upgrade-required");
  node.Labelled(Gpu().SkipUpgradeLabel(), "true");
  CHECK(GateOf(node.Judge()) == "SkipLabel");
}

TEST_CASE("dep-F8: in requestor mode a node does not wait for another driver's cordon") {
  RequestedNode node("upgrade-required");
  node.Cordoned().Labelled(Ofed().StateLabel(), "pod-restart-required");
  CHECK(node.Judge().candidate);
  node.options.requestor->enabled = false;
  CHECK(GateOf(node.Judge()) == "OtherDriver");
}

TEST_CASE("arch-A12, T34: in node-maintenance-required a missing object is created, and the node is not patched") {
  const Verdict verdict = RequestedNode("node-maintenance-required").Judge();
  CHECK(Path(verdict.plan).empty());
  CHECK_FALSE(verdict.plan.patch);
  CHECK(Calls(verdict.plan) == std::vector{Kind::kCreate});
}

TEST_CASE("T35: the driver pod is restarted once the NodeMaintenance is ready") {
  RequestedNode node("node-maintenance-required");
  node.With("Ready").Cordoned();
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "pod-restart-required");
  CHECK(verdict.plan.remove.size() == 1);
  // Another client may have returned the node to service since the engine read the object (I2).
  CHECK(verdict.plan.confirm == node.object());
  CHECK_FALSE(node.After(verdict).annotations.contains(std::string(kCordonedByAnnotation)));
}

TEST_CASE("T35, arch-A4: with EveryState the driver pod is only restarted on a cordoned and evacuated node") {
  RequestedNode node("node-maintenance-required");
  node.With("Ready");
  node.policy.pacing = Pacing::kEveryState;
  SECTION("the patch before the deletion cordons the node again") {
    const Verdict verdict = node.Judge();
    CHECK(Path(verdict.plan) == "pod-restart-required");
    CHECK(node.After(verdict).unschedulable);
    CHECK(verdict.plan.remove.size() == 1);
    CHECK(verdict.plan.confirm == node.object());
  }
  SECTION("pods are running again") {
    node.Cordoned().Draining().WithPods({WebPod().Build()});
    CHECK(node.Judge().plan.remove.empty());
  }
  SECTION("the pods have not been read") {
    node.Cordoned().Draining();
    CHECK(node.Judge().plan.remove.empty());
  }
}

TEST_CASE("T36: a node waits until its NodeMaintenance is ready, and its gate shows the state of the object") {
  RequestedNode node("node-maintenance-required");
  node.With("Draining");
  const Verdict verdict = node.Judge();
  CHECK(verdict.plan.empty());
  CHECK(verdict.gate->detail == "NodeMaintenance maintenance/nvidia-operator-n1: Draining");
}

TEST_CASE("dep-F13: a NodeMaintenance of another requestor is joined, and not treated as ours") {
  RequestedNode node("node-maintenance-required");
  node.With("Ready", "nvidia.network-operator");
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan).empty());
  REQUIRE(Calls(verdict.plan) == std::vector{Kind::kJoin});
  CHECK(verdict.plan.maintenance.front().object.additional_requestors == std::vector{kId});
}

TEST_CASE("H12: a NodeMaintenance that is being deleted, or belongs to an earlier node, must disappear first") {
  RequestedNode node("node-maintenance-required");
  node.With("Ready").Cordoned();
  SECTION("the object is being deleted") {
    node.object().deletion_timestamp = kNow;
    const Verdict verdict = node.Judge();
    CHECK(verdict.plan.empty());
    CHECK(GateOf(verdict) == "Maintenance");
  }
  SECTION("our own object of an earlier node with the same name is deleted") {
    node.object().node_uid = "earlier";
    CHECK(Calls(node.Judge().plan) == std::vector{Kind::kDelete});
  }
}

TEST_CASE("NodeMaintenances that could not be read are not treated as absent") {
  RequestedNode node("node-maintenance-required");
  node.view.maintenances.reset();
  const Verdict verdict = node.Judge();
  CHECK(verdict.plan.empty());
  CHECK(GateOf(verdict) == "Maintenance");
  CHECK(verdict.wake_at == kNow + absl::Seconds(5));
}

TEST_CASE("arch-A9: a request without a response is not repeated, and a refused request is retried after a pause") {
  RequestedNode node("node-maintenance-required");
  MaintenanceAttempt& attempt = node.view.attempts.maintenances["nvidia-operator-n1"];
  CHECK(node.Judge().plan.empty());
  attempt = {.count = 1,
             .outcome = Outcome::kNotApplied,
             .answered_at = kNow - absl::Seconds(1),
             .message = "create node maintenance: forbidden"};
  const Verdict verdict = node.Judge();
  CHECK(verdict.plan.empty());
  CHECK(verdict.gate->detail == "create node maintenance: forbidden");
  attempt.answered_at = kNow - absl::Seconds(6);
  CHECK(Calls(node.Judge().plan) == std::vector{Kind::kCreate});
}

TEST_CASE(
    "dep-F8, H13: a node that the maintenance operator uncordons early is cordoned and later uncordoned by the "
    "engine") {
  RequestedNode node("pod-restart-required");
  node.Draining();
  const Verdict verdict = node.Judge();
  Node after = node.After(verdict);
  CHECK(after.unschedulable);
  CHECK(after.annotations.at(std::string(kCordonedByAnnotation)) == Gpu().Name());
  CHECK(verdict.plan.remove.empty());  // the engine waits until the node's pods are known

  RequestedNode finished("uncordon-required", "new");
  finished.CordonedByUs();
  after = finished.After(finished.Judge());
  CHECK_FALSE(after.unschedulable);
  CHECK(after.annotations.empty());
}

TEST_CASE("The engine does not lift the maintenance operator's cordon") {
  RequestedNode node("uncordon-required", "new");
  node.Cordoned();
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "upgrade-done");
  CHECK(node.After(verdict).unschedulable);
}

TEST_CASE(
    "dep-F8: the driver pod is deleted once no pod that our policy drains is left, except the maintenance operator's "
    "pod") {
  RequestedNode node("pod-restart-required");
  node.With("Ready").Cordoned().Draining();
  const Pod maintenance_operator =
      WebPod("mop").WithLabel("app.kubernetes.io/component", "maintenance-operator-controller-manager").Build();
  node.WithPods({maintenance_operator, WebPod().Build()});
  Verdict verdict = node.Judge();
  REQUIRE(verdict.plan.evict.size() == 1);
  CHECK(verdict.plan.evict.front().name == "web");
  node.WithPods({maintenance_operator});
  verdict = node.Judge();
  CHECK(verdict.plan.evict.empty());
  CHECK(verdict.plan.remove.size() == 1);
}

TEST_CASE("T48: in requestor mode a node finishes through uncordon-required, whichever client cordoned it before") {
  RequestedNode node("pod-restart-required", "new");
  node.With("Ready").Cordoned().Annotated(Gpu().InitiallyUnschedulableAnnotation(), "true").WithPods({});
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "uncordon-required");
  CHECK(Calls(verdict.plan) == std::vector{Kind::kDelete});
  CHECK_FALSE(node.After(verdict).annotations.contains(Gpu().InitiallyUnschedulableAnnotation()));
}

TEST_CASE("T50, dep-F13: a node is done only after the claim is released") {
  RequestedNode node("uncordon-required", "new");
  node.Cordoned();
  SECTION("the node waits until our own object is deleted") {
    node.With("Ready");
    Verdict verdict = node.Judge();
    CHECK(Path(verdict.plan).empty());
    CHECK_FALSE(verdict.plan.patch);
    CHECK(Calls(verdict.plan) == std::vector{Kind::kDelete});
    node.object().deletion_timestamp = kNow;
    verdict = node.Judge();
    CHECK(verdict.plan.empty());
    CHECK(GateOf(verdict) == "Maintenance");
    node.object().additional_requestors = {"nvidia.network-operator"};
    CHECK(GateOf(node.Judge()) == "OtherDriver");
    node.view.maintenances->clear();
    verdict = node.Judge();
    CHECK(Path(verdict.plan) == "upgrade-done");
    CHECK_FALSE(node.After(verdict).annotations.contains(kMode));
  }
  SECTION("our entry is removed from another requestor's object, and the node is done while the object still exists") {
    node.With("Ready", "nvidia.network-operator", {kId, "third"});
    const Verdict verdict = node.Judge();
    REQUIRE(Calls(verdict.plan) == std::vector{Kind::kLeave});
    CHECK(verdict.plan.maintenance.front().object.additional_requestors == std::vector<std::string>{"third"});
    node.object().additional_requestors = {"third"};
    CHECK(Path(node.Judge().plan) == "upgrade-done");
  }
  SECTION("the node waits while the objects cannot be read") {
    node.view.maintenances.reset();
    CHECK(Path(node.Judge().plan).empty());
  }
}

TEST_CASE("dep-F13: a failure is reported to the maintenance operator, and the next attempt withdraws the report") {
  RequestedNode node("pod-restart-required");
  node.With("Ready").Cordoned().WithPods({}).WithDriverPods({DriverPod("new").Crashing(11).Build()});
  Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "upgrade-failed");
  REQUIRE(Calls(verdict.plan) == std::vector{Kind::kReportFailure});

  RequestedNode failed("upgrade-failed");
  failed.With("Ready").Cordoned();
  CHECK(Calls(failed.Judge().plan) == std::vector{Kind::kReportFailure});
  failed.object() = verdict.plan.maintenance.front().object;
  CHECK(Calls(failed.Judge().plan).empty());

  RequestedNode again("node-maintenance-required");
  again.With("").Cordoned();
  again.object() = verdict.plan.maintenance.front().object;
  CHECK(Calls(again.Judge().plan) == std::vector{Kind::kWithdrawFailure});
}

TEST_CASE("dep-F13: a failure is not reported in another requestor's NodeMaintenance") {
  RequestedNode failed("upgrade-failed");
  failed.With("Ready", "somebody.else").Cordoned();
  CHECK(Calls(failed.Judge().plan).empty());
}

TEST_CASE("arch-A10: a refused report is repeated when it is due, even without any other change") {
  RequestedNode node("upgrade-failed");
  node.With("Ready").Cordoned();
  node.Annotated(Gpu().FailedRevisionAnnotation(), "new").Annotated(Gpu().FailuresAnnotation(), "1@900");
  node.view.attempts.maintenances["nvidia-operator-n1"] = {
      .kind = Kind::kReportFailure, .based_on = "7", .count = 1, .outcome = Outcome::kNotApplied, .answered_at = kNow};
  const Verdict verdict = node.Judge();
  CHECK(verdict.plan.empty());
  CHECK(GateOf(verdict) == "Failed");
  REQUIRE(verdict.wake_at);
  node.now = *verdict.wake_at;
  CHECK(Calls(node.Judge().plan) == std::vector{Kind::kReportFailure});
}

TEST_CASE("H16: a node finishes in the mode in which it started") {
  SECTION("switched off: the node finishes with its NodeMaintenance") {
    RequestedNode node("node-maintenance-required");
    node.options.requestor->enabled = false;
    node.With("Ready").Cordoned();
    CHECK(Path(node.Judge().plan) == "pod-restart-required");
    RequestedNode finished("uncordon-required", "new");
    finished.options.requestor->enabled = false;
    finished.With("Ready").Cordoned();
    CHECK(Calls(finished.Judge().plan) == std::vector{Kind::kDelete});
  }
  SECTION("switched off before admission: the claim is released first, then the node starts in place") {
    RequestedNode node("upgrade-required");
    node.options.requestor->enabled = false;
    node.Annotated(kMode, "true").WithMaintenance("Ready");
    CHECK(Calls(node.Judge().plan) == std::vector{Kind::kDelete});
    node.view.maintenances->clear();
    const Verdict verdict = node.Judge(/*admitted=*/true);
    CHECK(node.After(verdict).annotations.count(kMode) == 0);
    CHECK(verdict.plan.path.front() == UpgradeState::kCordonRequired);
  }
  SECTION("switched on: the node finishes in place") {
    RequestedNode node("uncordon-required", "new");
    node.view.node.annotations.clear();
    node.CordonedByUs();
    const Verdict verdict = node.Judge();
    CHECK(Path(verdict.plan) == "upgrade-done");
    CHECK_FALSE(node.After(verdict).unschedulable);
  }
  SECTION("an operator without requestor options leaves nodes in requestor mode alone, with a finding") {
    for (const char* state : {"node-maintenance-required", "uncordon-required"}) {
      RequestedNode node(state, "new");
      node.options.requestor.reset();
      const Verdict verdict = node.Judge();
      CHECK(verdict.plan.empty());
      CHECK(GateOf(verdict) == "UnhandledState");
      CHECK(verdict.findings.size() == 1);
    }
  }
}

TEST_CASE("H16: if requestor mode is switched off before an object exists, the node returns to upgrade-required") {
  RequestedNode node("node-maintenance-required");
  node.options.requestor->enabled = false;
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "upgrade-required");
  CHECK(verdict.plan.maintenance.empty());
}

TEST_CASE(
    "dep-F2: when a failed node is retried, the maintenance operator's cordon does not count as an administrator's") {
  RequestedNode node("upgrade-failed");
  node.policy.cordoned_nodes = CordonedNodes::kIgnore;
  node.Annotated(Gpu().FailedRevisionAnnotation(), "older").WithMaintenance("Ready").Cordoned();
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "upgrade-required");
  CHECK_FALSE(node.After(verdict).annotations.contains(Gpu().InitiallyUnschedulableAnnotation()));
  node.view.node = node.After(verdict);
  CHECK(node.Judge().candidate);
  node.options.requestor->enabled = false;
  CHECK(Calls(node.Judge().plan) == std::vector{Kind::kDelete});
}

TEST_CASE("An object of ours with another name is released before a new object is created") {
  RequestedNode node("node-maintenance-required");
  node.With("Ready");
  node.object().name = "old-prefix-n1";
  CHECK(Calls(node.Judge().plan) == std::vector{Kind::kDelete});
}

TEST_CASE("A leftover requestor annotation does not block a node without a requestor") {
  for (const char* state : {"", "upgrade-done", "upgrade-required"}) {
    CAPTURE(state);
    RequestedNode node(state);
    node.options.requestor.reset();
    node.view.maintenances.reset();
    node.Annotated(kMode, "true");
    CHECK(node.Judge().candidate);
    CHECK_FALSE(node.After(node.Judge(/*admitted=*/true)).annotations.contains(kMode));
  }
}

TEST_CASE("dep-F9: a node whose NodeMaintenances could not be read is not released") {
  RequestedNode node("pod-restart-required");
  node.view.maintenances.reset();
  CHECK(node.Machine().Release(node.view, kNow).empty());
}

TEST_CASE(
    "dep-F8: a cordon that the maintenance operator has set for another driver does not count as an administrator's") {
  NodeUnderTest node("upgrade-required");
  node.Cordoned()
      .Labelled(Ofed().StateLabel(), "node-maintenance-required")
      .Annotated(Ofed().RequestorModeAnnotation(), "true");
  CHECK(GateOf(node.Judge()) == "OtherDriver");
}

TEST_CASE("dep-F7: in requestor mode the record of an administrator's cordon is removed once the cordon is lifted") {
  RequestedNode node("node-maintenance-required");
  node.Annotated(Gpu().InitiallyUnschedulableAnnotation(), "true");
  CHECK_FALSE(node.After(node.Judge()).annotations.contains(Gpu().InitiallyUnschedulableAnnotation()));
  node.Cordoned();
  CHECK(node.After(node.Judge()).annotations.contains(Gpu().InitiallyUnschedulableAnnotation()));
}

TEST_CASE("arch-A9: a refused release of a leftover claim is retried after a pause, and a finding reports it") {
  RequestedNode done("upgrade-done", "new");
  done.view.node.annotations.clear();
  done.With("Ready");
  done.view.attempts.maintenances["nvidia-operator-n1"] = {.kind = Kind::kDelete,
                                                           .based_on = "7",
                                                           .count = 1,
                                                           .outcome = Outcome::kNotApplied,
                                                           .answered_at = kNow,
                                                           .message = "403"};
  const Verdict verdict = done.Judge();
  CHECK(verdict.plan.empty());
  REQUIRE(verdict.findings.size() == 1);
  CHECK(verdict.findings.front().code == FindingCode::kClaimLeftBehind);
  CHECK(verdict.wake_at > kNow);
}

TEST_CASE("defect-D18: a leftover claim of an upgrade is released, even if no other mark of ours is left") {
  RequestedNode done("upgrade-done", "new");
  done.view.node.annotations.clear();
  done.With("Ready");
  Verdict verdict = done.Judge();
  CHECK(Calls(verdict.plan) == std::vector{Kind::kDelete});
  CHECK_FALSE(verdict.plan.patch);
  CHECK_FALSE(verdict.gate);

  RequestedNode unlabelled("", "");
  unlabelled.With("Ready", "nvidia.network-operator", {kId});
  CHECK(Calls(unlabelled.Judge().plan) == std::vector{Kind::kLeave});
}

TEST_CASE("dep-F9: a node in requestor mode is released in two rounds, with its claim first") {
  RequestedNode node("pod-restart-required");
  node.With("Ready").Cordoned();
  const StateMachine machine = node.Machine();
  NodePlan plan = machine.Release(node.view, kNow);
  CHECK(Calls(plan) == std::vector{Kind::kDelete});
  CHECK_FALSE(plan.patch);
  node.object().deletion_timestamp = kNow;
  plan = machine.Release(node.view, kNow);
  REQUIRE(plan.patch);
  const Node after = Patched(node.view.node, *plan.patch);
  CHECK(after.labels.empty());
  CHECK(after.annotations.empty());
  CHECK(after.unschedulable);  // cordoned by the maintenance operator
}

}  // namespace
}  // namespace driverupgrade::tests
