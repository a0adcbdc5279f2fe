// Tests the isolation of devices instead of nodes (rules ).
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "decide/admission/upgrade_budget.h"
#include "decide/devices/claims.h"
#include "decide/devices/rules.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

using testing::PodBuilder;

constexpr std::string_view kGpu = "gpu.nvidia.com";

ResourceSlice SliceOf(int devices, const std::string& version = "580.1.0") {
  ResourceSlice slice{.name = "n1-gpu",
                      .node_name = "n1",
                      .driver = std::string(kGpu),
                      .pool = "n1",
                      .pool_generation = 1,
                      .pool_slices = 1};
  for (int i = 0; i < devices; ++i) {
    slice.devices.push_back({.name = "gpu-" + std::to_string(i), .driver_version = version});
  }
  return slice;
}

ResourceClaim ClaimOf(const Pod& pod, absl::Time allocated_at = kNow - absl::Hours(1)) {
  return {.ns = pod.ref.ns,
          .name = pod.ref.name + "-gpu",
          .uid = pod.ref.uid + "-claim",
          .pod_uid = pod.ref.uid,
          .allocated = {{.driver = std::string(kGpu), .pool = "n1"}},
          .allocation_time = allocated_at,
          .reserved_for = {{.resource = "pods", .name = pod.ref.name, .uid = pod.ref.uid}}};
}

Pod CpuPod() {
  return PodBuilder("team-a", "cpu").WithUid("cpu-uid").OnNode("n1").OwnedByReplicaSet("cpu", "rs2").Build();
}

/// A node with eight devices, which are marked as isolated unless `state` is empty, upgrade-required, or upgrade-done.
struct DeviceNode : NodeUnderTest {
  explicit DeviceNode(std::string_view state) : NodeUnderTest(state) {
    policy.isolation.scope = IsolationScope::kDevices;
    policy.drain = DrainPolicy{};  // a drain would evict all pods
    view.devices = NodeDevices{.slices = {SliceOf(8)}};
    view.pods.emplace();
    view.maintenances.emplace();
    if (!state.empty() && state != "upgrade-required" && state != "upgrade-done") {
      Annotated(identity.IsolatedDevicesAnnotation(), "8");
    }
  }
  /// Adds our rule, whose `effect` was set at `now - ago`. The controller manager has processed the rule.
  DeviceNode& Ruled(DeviceTaintEffect effect, absl::Duration ago = absl::Minutes(1)) {
    DeviceTaintRule rule = internal::RuleFor(view.node, kGpu, identity);
    rule.uid = "rule-uid";
    rule.resource_version = "20";
    rule.generation = 2;
    rule.effect = effect;
    rule.time_added = now - ago;
    rule.conditions = {{.type = "EvictionInProgress", .status = "False", .observed_generation = 2}};
    view.devices->rules = {rule};
    return *this;
  }
  /// Adds a pod, and a claim whose device was allocated for the pod at `allocated_at`.
  DeviceNode& Held(const Pod& pod, absl::Time allocated_at = kNow - absl::Hours(1)) {
    view.devices->claims.push_back(ClaimOf(pod, allocated_at));
    view.pods->push_back(pod);
    view.pods_using_driver.insert(pod.ref.uid);
    return *this;
  }
  DeviceNode& WithCpuPod() {
    view.pods->push_back(CpuPod());
    return *this;
  }
  DeviceTaintRule& rule() { return view.devices->rules.front(); }
};

/// Returns a node on which evictions may start.
DeviceNode Settled(std::string_view state) { return DeviceNode(state).Ruled(DeviceTaintEffect::kNoSchedule); }

std::string Calls(const Verdict& verdict) {
  std::string text;
  for (const DeviceCall& call : verdict.plan.devices) {
    text += (text.empty() ? "" : ",") + std::string(ToString(call.kind));
    if (call.kind != DeviceCall::Kind::kDelete) text += " " + std::string(ToString(call.object.effect));
  }
  return text;
}

bool Contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

bool IsMarked(const DeviceNode& node, const Verdict& verdict) {
  return node.After(verdict).annotations.contains(node.identity.IsolatedDevicesAnnotation());
}

TEST_CASE("A-1: a node that starts is marked, and stays schedulable") {
  DeviceNode node("upgrade-required");
  const Verdict verdict = node.Judge(/*admitted=*/true);
  CHECK(Path(verdict.plan) == "cordon-required");
  CHECK_FALSE(node.After(verdict).unschedulable);
  CHECK(node.After(verdict).annotations[node.identity.IsolatedDevicesAnnotation()] == "8");
  // Rules are created only for a marked node, so the mark is written first.
  CHECK(Calls(verdict).empty());
}

TEST_CASE("A-2: a node whose devices cannot be isolated is cordoned with scope Auto, and waits with scope Devices") {
  struct Row {
    const char* name;
    void (*spoil)(DeviceNode&);
    const char* why;
  };
  const auto row = GENERATE(values<Row>({
      {"no such kind in the cluster",
       [](DeviceNode& node) {
         node.view.devices.reset();
         node.view.devices_status = absl::NotFoundError("the cluster has no devicetaintrules");
       },
       "the cluster has no devicetaintrules"},
      {"no device taint rules in the cluster", [](DeviceNode& node) { node.view.devices->has_rules = false; },
       "the cluster has no DeviceTaintRules"},
      {"a device plugin", [](DeviceNode& node) { node.view.node.extended_resources = {"nvidia.com/gpu"}; },
       "a device plugin offers nvidia.com/gpu"},
      {"a device plugin of MIG devices",
       [](DeviceNode& node) { node.view.node.extended_resources = {"nvidia.com/mig-1g.10gb"}; },
       "a device plugin offers nvidia.com/mig-1g.10gb"},
      {"nothing is published", [](DeviceNode& node) { node.view.devices->slices.clear(); }, "no devices are published"},
      {"a pool with another name", [](DeviceNode& node) { node.view.devices->slices[0].pool = "rack"; },
       "devices of gpu.nvidia.com are in pool rack"},
      {"a claim that several pods can use",
       [](DeviceNode& node) {
         node.Held(WebPod().Build());
         node.view.devices->claims[0].pod_uid = "";
       },
       "claim team-a/web-gpu can be shared"},
      {"a claim of a PodGroup",
       [](DeviceNode& node) {
         node.Held(WebPod().Build());
         node.view.devices->claims[0].reserved_for[0].resource = "podgroups";
       },
       "claim team-a/web-gpu can be shared"},
      {"another scheduler",
       [](DeviceNode& node) {
         Pod pod = WebPod().Build();
         pod.scheduler_name = "kai-scheduler";
         node.Held(pod);
       },
       "pod team-a/web is scheduled by kai-scheduler"},
      {"an object that cannot be read",
       [](DeviceNode& node) { node.view.devices->slices[0].unreadable = "spec.driver: expected a string"; },
       "n1-gpu cannot be read"},
  }));
  CAPTURE(row.name);
  DeviceNode node("upgrade-required");
  row.spoil(node);
  SECTION("Devices") {
    const Verdict verdict = node.Judge(/*admitted=*/true);
    CHECK(GateOf(verdict) == "DevicesUnfit");
    CHECK(Contains(verdict.gate->detail, row.why));
    CHECK(verdict.plan.empty());
  }
  SECTION("Auto") {
    node.policy.isolation.scope = IsolationScope::kAuto;
    const Verdict verdict = node.Judge(/*admitted=*/true);
    CHECK(node.After(verdict).unschedulable);
    CHECK_FALSE(IsMarked(node, verdict));
    REQUIRE(verdict.findings.size() == 1);
    CHECK(verdict.findings[0].code == FindingCode::kDevicesNotIsolated);
    CHECK(Contains(verdict.findings[0].message, row.why));
  }
}

TEST_CASE("A-1: a node that is already cordoned stays cordoned") {
  DeviceNode node("upgrade-required");
  node.Cordoned();
  const Verdict verdict = node.Judge(/*admitted=*/true);
  CHECK_FALSE(IsMarked(node, verdict));
  CHECK(node.After(verdict).unschedulable);
}

TEST_CASE("A-4 to A-6: a rule is created without effect, gets its effect once it has been processed, and settles") {
  DeviceNode node("cordon-required");
  SECTION("it is created") {
    const Verdict verdict = node.Judge();
    CHECK(Calls(verdict) == "create None");
    const DeviceTaintRule& rule = verdict.plan.devices.at(0).object;
    CHECK(rule.driver == kGpu);
    CHECK(rule.pool == "n1");
    CHECK(rule.node_uid == "n1-uid");
    CHECK(rule.key == "nvidia.com/gpu-driver-upgrade");
    CHECK(rule.value == "gpu");
    CHECK(GateOf(verdict) == "DevicesTainted");
  }
  SECTION("it has not been processed") {
    node.Ruled(DeviceTaintEffect::kNone, absl::Seconds(29));
    node.rule().generation = 3;
    const Verdict verdict = node.Judge();
    CHECK(Calls(verdict).empty());
    CHECK(verdict.gate->not_before == kNow + absl::Seconds(1));
  }
  SECTION("it is never processed, because the feature gate of the cluster is off") {
    node.Ruled(DeviceTaintEffect::kNone, absl::Seconds(30));
    node.rule().conditions.clear();
    const Verdict verdict = node.Judge();
    CHECK(node.After(verdict).unschedulable);
    CHECK_FALSE(IsMarked(node, verdict));
    CHECK(verdict.findings.at(0).code == FindingCode::kDevicesNotIsolated);
  }
  SECTION("it was processed") { CHECK(Calls(node.Ruled(DeviceTaintEffect::kNone).Judge()) == "patch NoSchedule"); }
  SECTION("it settles") {
    const Verdict verdict = node.Ruled(DeviceTaintEffect::kNoSchedule, absl::Seconds(9)).Judge();
    CHECK(GateOf(verdict) == "DevicesTainted");
    CHECK(verdict.gate->not_before == kNow + absl::Seconds(1));
    CHECK(Path(verdict.plan).empty());
  }
  SECTION("the clock of the API server is behind, and the response has just arrived") {
    node.Ruled(DeviceTaintEffect::kNoSchedule, absl::Minutes(5));
    node.view.attempts.devices[node.rule().name] = {.outcome = Outcome::kApplied, .answered_at = kNow};
    CHECK(node.Judge().gate->not_before == kNow + absl::Seconds(10));
  }
  SECTION("it has settled") {
    const Verdict verdict =
        node.Ruled(DeviceTaintEffect::kNoSchedule, absl::Seconds(10)).Held(WebPod().Build()).Judge();
    CHECK(Path(verdict.plan) == "wait-for-jobs-required,pod-deletion-required");
    CHECK_FALSE(node.After(verdict).unschedulable);
  }
  SECTION("a failed call is repeated after a pause, and its error is shown") {
    node.view.attempts.devices[internal::RuleFor(node.view.node, kGpu, node.identity).name] = {
        .count = 1, .outcome = Outcome::kNotApplied, .answered_at = kNow, .message = "forbidden"};
    const Verdict verdict = node.Judge();
    CHECK(Calls(verdict).empty());
    CHECK(verdict.gate->detail == "forbidden");
    CHECK(verdict.gate->not_before.has_value());
  }
}

TEST_CASE("A-7: if more than three claims were allocated after the devices had been tainted, the node is cordoned") {
  auto node = Settled("pod-deletion-required");
  for (int i = 0; i < 4; ++i) node.Held(WebPod("late-" + std::to_string(i)).Build(), kNow - absl::Seconds(10 + i));
  SECTION("four claims: the node is cordoned") {
    const Verdict verdict = node.Judge();
    CHECK(node.After(verdict).unschedulable);
    CHECK(Contains(verdict.findings.at(0).message, "4 claims were allocated"));
  }
  SECTION("three claims: their pods are evicted like all others") {
    node.view.devices->claims.pop_back();
    node.view.pods_using_driver.erase(node.view.pods->back().ref.uid);
    const Verdict verdict = node.Judge();
    CHECK_FALSE(node.After(verdict).unschedulable);
    CHECK_FALSE(Evicted(verdict).empty());
  }
}

TEST_CASE("A-9: pods with devices are evicted, and all others stay") {
  auto node = Settled("pod-deletion-required").Held(WebPod().Build()).WithCpuPod();
  CHECK(Evicted(node.Judge()) == "team-a/web");
  SECTION("the node continues once they have terminated") {
    node.view.pods = {CpuPod()};
    node.view.devices->claims.clear();
    const Verdict verdict = node.Judge();
    CHECK(Path(verdict.plan) == "pod-restart-required");
    CHECK(verdict.plan.remove.size() == 1);  // the driver pod
  }
}

TEST_CASE(
    "A-9: a node waits for a pod that is not bound yet, and the pod is evicted if its claim was allocated too late") {
  const Pod pending = WebPod("pending").Build();
  const bool is_late = GENERATE(false, true);
  auto node = Settled("pod-deletion-required").WithCpuPod();
  node.view.devices->claims = {ClaimOf(pending, is_late ? kNow - absl::Seconds(59) : kNow - absl::Hours(1))};
  const Verdict verdict = node.Judge();
  CHECK(GateOf(verdict) == "DevicesInUse");
  CHECK(Evicted(verdict) == (is_late ? "team-a/pending" : ""));
  CHECK(Path(verdict.plan).empty());
}

TEST_CASE("A-18: a plan counts pods that got a device after it was tainted, and pods that stay") {
  auto node = Settled("pod-deletion-required").Held(WebPod("early").Build()).WithCpuPod();
  node.Held(WebPod("late").Build(), kNow - absl::Seconds(59));
  const NodePlan evicts = node.Judge().plan;
  CHECK(evicts.evict.size() == 2);
  CHECK(evicts.late_holders == std::vector<std::string>{"late-uid"});
  CHECK(evicts.pods_kept == 0);

  node.view.pods = {CpuPod(), WebPod("ended").Succeeded().Build(), DriverPod("old").Build()};
  node.view.devices->claims.clear();
  const NodePlan replaces = node.Judge().plan;
  CHECK(replaces.remove.size() == 1);
  CHECK(replaces.late_holders.empty());
  CHECK(replaces.pods_kept == 1);
}

TEST_CASE("A-10: the driver pod is not deleted while a claim is held") {
  auto node = Settled("pod-restart-required").Held(WebPod().Build()).WithCpuPod();
  const Verdict verdict = node.Judge();
  CHECK(Evicted(verdict) == "team-a/web");
  CHECK(verdict.plan.remove.empty());
}

TEST_CASE("A-10: a pod whose claim has not been read yet may hold a device, whether or not devices are isolated") {
  auto node = Settled(GENERATE("pod-deletion-required", "pod-restart-required"));
  if (GENERATE(false, true)) {
    node.CordonedByUs();
    node.view.node.annotations.erase(node.identity.IsolatedDevicesAnnotation());
    node.view.devices->rules.clear();
    node.policy.drain.reset();
    node.policy.pod_deletion.emplace();
  }
  node.view.pods->push_back(WebPod().Build());
  node.view.unread_claims[WebPod().Build().ref] = "web-gpu";
  const Verdict verdict = node.Judge();
  CHECK(verdict.plan.remove.empty());
  CHECK(Evicted(verdict).empty());
  CHECK(GateOf(verdict) == "DevicesInUse");
  CHECK(verdict.gate->detail == "team-a/web has claim web-gpu, which has not been read yet");
  REQUIRE(verdict.gate->not_before);
  CHECK(*verdict.gate->not_before <= kNow + absl::Minutes(1));
}

TEST_CASE("A-2: a pod that uses the driver without a claim could be scheduled again, so the node is cordoned") {
  auto node = Settled(GENERATE("cordon-required", "pod-deletion-required", "pod-restart-required")).WithCpuPod();
  node.view.pods_using_driver = {"cpu-uid"};
  const Verdict verdict = node.Judge();
  CHECK(node.After(verdict).unschedulable);
  CHECK_FALSE(IsMarked(node, verdict));
  CHECK(Contains(verdict.findings.at(0).message, "pod team-a/cpu uses the driver without a claim"));
}

TEST_CASE("A-6: a node that starts again while its rules are being removed waits until the rules have settled again") {
  const bool is_admitted = GENERATE(false, true);
  DeviceNode node(is_admitted ? "upgrade-required" : "uncordon-required");
  node.Annotated(node.identity.IsolatedDevicesAnnotation(), "8");
  node.Ruled(DeviceTaintEffect::kNoSchedule);
  const Verdict verdict = node.Judge(is_admitted);
  CHECK(verdict.plan.remove.empty());
  CHECK(verdict.plan.evict.empty());
  CHECK(Path(verdict.plan) == (is_admitted ? "cordon-required" : "upgrade-required"));
}

TEST_CASE("A-6: a rule that our last request may have changed counts as settled once it is read again or confirmed") {
  using Kind = DeviceCall::Kind;
  auto node = Settled("pod-deletion-required");
  const auto attempted = [&](Kind kind, std::optional<Outcome> outcome, absl::Duration ago,
                             const std::string& based_on = "20") {
    node.view.attempts.devices[node.rule().name] = {
        .kind = kind, .based_on = based_on, .count = 1, .outcome = outcome, .answered_at = kNow - ago};
    const Verdict verdict = node.Judge();
    return GateOf(verdict) == "DevicesTainted" ? "waits, " + Calls(verdict) : "settled";
  };
  const Outcome outcome = GENERATE(Outcome::kApplied, Outcome::kConflict, Outcome::kUnclear);
  CHECK(attempted(Kind::kPatch, outcome, absl::Seconds(4)) == "waits, ");
  CHECK(attempted(Kind::kPatch, outcome, absl::Seconds(5)) == "waits, confirm NoSchedule");
  CHECK(attempted(Kind::kPatch, outcome, absl::Minutes(1), "19") == "settled");
  CHECK(attempted(Kind::kPatch, std::nullopt, absl::Minutes(1)) == "waits, ");
  CHECK(attempted(Kind::kPatch, Outcome::kNotApplied, absl::Minutes(1)) == "settled");

  CHECK(attempted(Kind::kConfirm, std::nullopt, absl::Minutes(1)) == "waits, ");
  CHECK(attempted(Kind::kConfirm, Outcome::kApplied, absl::Seconds(9)) == "waits, ");  // for settleSeconds
  CHECK(attempted(Kind::kConfirm, Outcome::kApplied, absl::Seconds(10)) == "settled");
  const Outcome failed = GENERATE(Outcome::kConflict, Outcome::kUnclear, Outcome::kNotApplied);
  CHECK(attempted(Kind::kConfirm, failed, absl::Seconds(4)) == "waits, ");
  CHECK(attempted(Kind::kConfirm, failed, absl::Seconds(7)) == "waits, confirm NoSchedule");
}

TEST_CASE("A-5: if there are neither rules nor published devices, rules are created for all drivers") {
  DeviceNode node("pod-restart-required");
  node.view.devices->slices.clear();
  CHECK(Calls(node.Judge()) == "create None,create None");
  CHECK(node.Judge().plan.remove.empty());
}

TEST_CASE(
    "A-15: a node that an administrator has since cordoned still enters uncordon-required, which removes the rules") {
  auto node = Settled("pod-restart-required").WithCpuPod();
  Pod driver = DriverPod("new").Build();
  driver.ready_since = kNow - absl::Minutes(1);
  node.WithDriverPods({driver});
  node.Cordoned();
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "uncordon-required");
  CHECK(node.After(verdict).unschedulable);
}

TEST_CASE(
    "A-9: a node whose devices are isolated is not drained, even if another client sets the state drain-required") {
  auto node = Settled("drain-required").WithCpuPod();
  CHECK(Evicted(node.Judge()).empty());
  CHECK(Path(node.Judge().plan) == "pod-restart-required");
}

TEST_CASE(
    "A-11: a pod that got a device after the driver pod was deleted is evicted if it runs, but not if it is pending") {
  auto node = Settled("pod-restart-required").WithCpuPod();
  node.WithDriverPods({DriverPod("new").NotReady().Build()});
  SECTION("it runs") {
    const Verdict verdict = node.Held(WebPod().Build()).Judge();
    CHECK(Evicted(verdict) == "team-a/web");
    CHECK(verdict.plan.remove.empty());
  }
  SECTION("it waits for the kubelet plugin") {
    const Verdict verdict = node.Held(WebPod().Pending().Build()).Judge();
    CHECK(Evicted(verdict).empty());
    CHECK(GateOf(verdict) == "DriverPodNotReady");
  }
}

TEST_CASE("A-12: the driver is validated once its devices are published again") {
  struct Row {
    const char* name;
    std::vector<ResourceSlice> slices;
    absl::Duration ready_for;
    const char* why;
  };
  std::vector<ResourceSlice> mixed = {SliceOf(8)};
  mixed[0].devices[7].driver_version = "570.0.0";
  std::vector<ResourceSlice> incomplete = {SliceOf(8)};
  incomplete[0].pool_slices = 2;
  std::vector<ResourceSlice> renewed = {SliceOf(3), SliceOf(8)};
  renewed[1].pool_generation = 2;
  const auto row = GENERATE_COPY(values<Row>({
      {"nothing", {}, absl::Minutes(1), "0 of 8 devices are published"},
      {"a device is lost", {SliceOf(7)}, absl::Minutes(1), "7 of 8 devices are published"},
      {"a slice is missing", incomplete, absl::Minutes(1), "1 of 2 slices of gpu.nvidia.com are published"},
      {"two versions", mixed, absl::Minutes(1),
       "devices of gpu.nvidia.com have different driver versions: 580.1.0 and 570.0.0"},
      {"a moment ago", {SliceOf(8)}, absl::Seconds(4), "the driver is ready; its devices may still change"},
      {"all", {SliceOf(8)}, absl::Seconds(5), ""},
      {"only the last generation counts", renewed, absl::Minutes(1), ""},
  }));
  CAPTURE(row.name);
  auto node = Settled("pod-restart-required").WithCpuPod();
  node.view.devices->slices = row.slices;
  Pod driver = DriverPod("new").Build();
  driver.ready_since = kNow - row.ready_for;
  node.WithDriverPods({driver});
  const Verdict verdict = node.Judge();
  if (*row.why != 0) {
    CHECK(GateOf(verdict) == "DevicesMissing");
    CHECK(verdict.gate->detail == row.why);
  } else {
    CHECK(Path(verdict.plan) == "uncordon-required");
  }
}

DeviceNode Ready(std::string_view state) {
  auto node = Settled(state).WithCpuPod();
  Pod driver = DriverPod("new").Build();
  driver.ready_since = kNow - absl::Minutes(1);
  node.WithDriverPods({driver});
  return node;
}

TEST_CASE("A-13: a node is cordoned for its validation, and its rules are removed first") {
  auto node = Ready("validation-required");
  node.options.validation_selector = Selector("app=validator");
  node.view.pods->push_back(PodBuilder("drivers", "validator").OnNode("n1").WithLabel("app", "validator").Build());
  SECTION("the node is cordoned") {
    const Verdict verdict = node.Judge();
    CHECK(node.After(verdict).unschedulable);
    CHECK_FALSE(IsMarked(node, verdict));
    CHECK(Path(verdict.plan).empty());
  }
  SECTION("the rules are removed once the node is cordoned") {
    node.CordonedByUs();
    node.view.node.annotations.erase(node.identity.IsolatedDevicesAnnotation());
    CHECK(Calls(node.Judge()) == "patch None");
    CHECK(Path(node.Judge().plan).empty());
    node.view.devices->rules.clear();
    CHECK(Path(node.Judge().plan).starts_with("uncordon-required"));
  }
  SECTION("the node is not cordoned if the validator tolerates the taint") {
    node.policy.isolation.validator_tolerates = true;
    const Verdict verdict = node.Judge();
    CHECK_FALSE(node.After(verdict).unschedulable);
    CHECK(Path(verdict.plan) == "uncordon-required");
  }
}

TEST_CASE("A-14: a rule loses its effect, and is deleted 5 s later") {
  auto node = Ready("uncordon-required");
  CHECK(Calls(node.Judge()) == "patch None");
  SECTION("after only 4 s: the rule is not deleted yet") {
    node.Ruled(DeviceTaintEffect::kNone, absl::Seconds(4));
    const Verdict verdict = node.Judge();
    CHECK(Calls(verdict).empty());
    CHECK(verdict.gate->not_before == kNow + absl::Seconds(1));
  }
  SECTION("after 5 s") { CHECK(Calls(node.Ruled(DeviceTaintEffect::kNone, absl::Seconds(5)).Judge()) == "delete"); }
  SECTION("the node is done once the rule is deleted") {
    node.view.devices->rules.clear();
    const Verdict verdict = node.Judge();
    CHECK(Path(verdict.plan) == "upgrade-done");
    CHECK_FALSE(IsMarked(node, verdict));
  }
}

TEST_CASE("A-15: a leftover rule of an upgrade is removed, and a rule of another owner is not touched") {
  auto node = Ready("upgrade-done");
  CHECK(Calls(node.Judge()) == "patch None");
  node.rule().key = "example.com/broken";
  CHECK(Calls(node.Judge()).empty());
}

TEST_CASE("A-15: a node that failed keeps its rules") {
  auto node = Settled("upgrade-failed");
  CHECK(Calls(node.Judge()).empty());
  CHECK(IsMarked(node, node.Judge()));
}

TEST_CASE("A-15: a node that recovers stays in upgrade-failed while its rules are being removed") {
  auto node = Ready("upgrade-failed");
  const Verdict verdict = node.Judge();
  CHECK(Calls(verdict) == "patch None");
  CHECK(Path(verdict.plan).empty());
  node.view.devices->rules.clear();
  CHECK(Path(node.Judge().plan) == "uncordon-required,upgrade-done");
}

TEST_CASE("A-15: a release removes the rules before the mark") {
  auto node = Settled("pod-deletion-required");
  const StateMachine machine(node.identity, {});
  NodePlan plan = machine.Release(node.view, kNow);
  CHECK(plan.devices.size() == 1);
  CHECK_FALSE(plan.patch.has_value());
  node.view.devices->rules.clear();
  plan = machine.Release(node.view, kNow);
  REQUIRE(plan.patch.has_value());
  CHECK(plan.patch->annotations.contains(node.identity.IsolatedDevicesAnnotation()));
}

TEST_CASE("A-16: a node whose devices are isolated counts as unavailable") {
  const auto* state = GENERATE("cordon-required", "pod-deletion-required", "uncordon-required", "upgrade-failed");
  const auto node = Settled(state);
  const Tally tally = internal::TallyOf(node.view, node.identity, node.policy);
  CHECK_FALSE(node.view.node.unschedulable);
  CHECK(tally.unavailable == 1);
  CHECK(tally.slots == 1);
}

TEST_CASE("a cordon of another client stays when the devices are released") {
  auto node = Ready("uncordon-required");
  node.view.devices->rules.clear();
  node.Cordoned();
  const Verdict verdict = node.Judge();
  CHECK(Path(verdict.plan) == "upgrade-done");
  CHECK(node.After(verdict).unschedulable);
}

TEST_CASE("a node whose state label was removed continues from its mark of isolated devices") {
  auto node = Settled("");
  node.Annotated(node.identity.IsolatedDevicesAnnotation(), "8");
  node.Held(WebPod().Build());
  const Verdict verdict = node.Judge();
  CHECK(verdict.plan.from == UpgradeState::kCordonRequired);
  CHECK_FALSE(node.After(verdict).unschedulable);
}

TEST_CASE("if the policy does not allow a pod to be evicted, but enables a drain, the node is cordoned and drained") {
  auto node =
      Settled("pod-deletion-required").Held(PodBuilder("team-a", "bare").WithUid("bare-uid").OnNode("n1").Build());
  const Verdict verdict = node.Judge();
  CHECK(node.After(verdict).unschedulable);
  CHECK(Path(verdict.plan).starts_with("drain-required"));
}

}  // namespace
}  // namespace driverupgrade::tests
