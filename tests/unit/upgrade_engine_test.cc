// Tests the complete engine on the fake cluster in virtual time. Most tests run until every node has reached its final
// state.
#include "driverupgrade/upgrade_engine.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <semaphore>
#include <thread>

#include "driverupgrade/cluster_facade.h"
#include "support/catch.h"
#include "unit/upgrade_engine_world.h"

namespace driverupgrade::tests {
namespace {

TEST_CASE("A rollout upgrades every node within both budgets and leaves nothing behind") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster);
  world.cluster->Cordon("node-6");
  world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  world.Start(fleet);
  world.RunUntilAll("upgrade-done");

  for (const Node& node : world.cluster->nodes()) {
    CAPTURE(node.name);
    CHECK(StateOf(node) == "upgrade-done");
    CHECK(node.unschedulable == (node.name == "node-6"));
    CHECK(node.annotations.empty());
    for (const char* state :
         {"upgrade-required", "cordon-required", "drain-required", "pod-restart-required", "upgrade-done"}) {
      CHECK(world.EventCount(node.name, std::string("Successfully updated node state label to ") + state) == 1);
    }
  }
  const auto driver_pods = world.cluster->daemon_set_pods(fleet.ns, fleet.daemon_set);
  CHECK(driver_pods.size() == 6);
  for (const Pod& pod : driver_pods) CHECK(RevisionHash(pod) == "rev-2");
  CHECK(world.most_in_progress == 2);
  CHECK(world.most_unschedulable == 3);
}

TEST_CASE("I12: a pass over a fleet that is up to date writes nothing") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster);
  world.Start(fleet);
  world.RunUntilAll("upgrade-done");
  const std::int64_t revision = world.cluster->revision();
  CHECK(world.Pass().nodes.empty());
  CHECK(world.cluster->revision() == revision);
}

TEST_CASE("arch-A12: the upgrade of a node without workloads takes three patches and one deletion") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster, {.node_count = 1, .workload = ""});
  world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  world.Start(fleet);
  world.RunUntilAll("upgrade-done");
  CHECK(world.cluster->CallCount(Operation::kPatchNode) == 3);
  CHECK(world.cluster->CallCount(Operation::kDeletePod) == 1);
}

TEST_CASE("If a disruption budget blocks a drain until its deadline, the node fails, and the other nodes continue") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster, {.node_count = 3, .workload = ""});
  world.cluster->AddPod(testing::PodBuilder("team-b", "pinned")
                            .OnNode("node-2")
                            .WithLabel("app", "pinned")
                            .OwnedByStatefulSet("pinned")
                            .Build());
  world.cluster->AddDisruptionBudget({.ns = "team-b", .name = "never", .max_unavailable = 0});
  world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  world.policy.drain->timeout = absl::Seconds(90);
  world.Start(fleet);
  const Plan plan = world.RunUntilAll("upgrade-done", absl::Minutes(10));

  CHECK(StateOf(*world.cluster->node("node-1")) == "upgrade-done");
  CHECK(StateOf(*world.cluster->node("node-2")) == "upgrade-failed");
  CHECK(StateOf(*world.cluster->node("node-3")) == "upgrade-done");
  CHECK(world.EventCount("node-2",
                         "Failed to drain the node, drain timed out after 90 s: team-b/pinned (refused by "
                         "disruption budget never)") == 1);
  CHECK(world.cluster->pod("team-b", "pinned"));
  REQUIRE(plan.gates.size() == 1);
  CHECK(plan.gates[0].gate.reason == GateReason::kFailed);
}

TEST_CASE(
    "dep-F4: after autoUpgrade was off, no deadline fails a node for a minute, even if no pass could read while it was "
    "off") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster, {.node_count = 1});
  world.cluster->AddDisruptionBudget({.ns = "team-a", .name = "never", .max_unavailable = 0});
  world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  world.policy.drain->timeout = absl::Minutes(5);
  world.Start(fleet);
  world.RunUntilAll("drain-required", absl::Minutes(1));
  REQUIRE(world.AllIn("drain-required"));

  world.policy.auto_upgrade = false;
  world.cluster->FailNext(Operation::kListNodes, absl::UnavailableError("connection refused"));
  CHECK_FALSE(world.engine->Reconcile({}, world.policy).ok());
  world.cluster->Advance(absl::Minutes(5));
  world.policy.auto_upgrade = true;
  world.RunUntilAll("upgrade-failed", absl::Seconds(59));
  CHECK(world.AllIn("drain-required"));
  world.RunUntilAll("upgrade-failed", absl::Seconds(2));
  CHECK(world.AllIn("upgrade-failed"));
}

TEST_CASE("To show a gate, the engine sends one patch, and only for the stuck node") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster, {.node_count = 2, .workload = ""});
  world.cluster->AddPod(
      testing::PodBuilder("team-b", "pinned").OnNode("node-1").WithLabel("app", "pinned").OwnedByJob("j").Build());
  world.cluster->AddDisruptionBudget({.ns = "team-b", .name = "never", .max_unavailable = 0});
  world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  world.policy.drain->timeout = absl::InfiniteDuration();
  world.Start(fleet);
  world.RunUntilAll("upgrade-done", absl::Seconds(59));
  // Three patches for the node that is done, and one for the node that drains.
  CHECK(world.cluster->CallCount(Operation::kPatchNode) == 4);
  world.RunUntilAll("upgrade-done", absl::Hours(1));
  CHECK(world.cluster->CallCount(Operation::kPatchNode) == 5);
  const std::string key = Gpu().WaitingForAnnotation();
  CHECK(world.nodes.at("node-1").annotations.at(key) ==
        "DisruptionBudget: team-b/pinned: refused by disruption budget never");
  CHECK_FALSE(world.nodes.at("node-2").annotations.contains(key));

  REQUIRE(world.cluster->RemoveDisruptionBudget("team-b", "never"));
  world.RunUntilAll("upgrade-done");
  CHECK(world.cluster->CallCount(Operation::kPatchNode) == 7);
  CHECK_FALSE(world.nodes.at("node-1").annotations.contains(key));
}

TEST_CASE("defect-D16: a refused eviction is retried after growing pauses") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster, {.node_count = 1, .workload = ""});
  world.cluster->AddPod(
      testing::PodBuilder("team-b", "pinned").OnNode("node-1").WithLabel("app", "pinned").OwnedByJob("j").Build());
  world.cluster->AddDisruptionBudget({.ns = "team-b", .name = "never", .max_unavailable = 0});
  world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  world.Start(fleet);
  world.RunUntilAll("upgrade-failed");
  // In 300 s there are attempts after pauses of 5 s, 10 s, 20 s, and then every 40 s.
  CHECK(world.cluster->CallCount(Operation::kEvictPod) <= 12);
  CHECK(world.cluster->CallCount(Operation::kEvictPod) >= 8);
}

TEST_CASE("An eviction of a pod that no longer exists counts as accepted") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster, {.node_count = 1});
  world.Start(fleet);
  world.RunUntilAll("upgrade-done");
  world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  world.cluster->AnswerNextEviction({.gone = true}, 1);
  NodeOutcome evicted;
  for (int i = 0; i < 10 && world.cluster->CallCount(Operation::kEvictPod) == 0; ++i) {
    auto result = world.engine->Reconcile({}, world.policy);
    REQUIRE(result.ok());
    if (!result->outcomes.empty()) evicted = result->outcomes.back();
  }
  REQUIRE(world.cluster->CallCount(Operation::kEvictPod) == 1);
  CHECK(evicted.status.ok());
  CHECK(evicted.evictions_accepted == 1);
  CHECK(evicted.evictions_refused == 0);
  // The response to the eviction was wrong, because the pod is still running. The engine evicts it again, but only
  // after the time that it allows a terminating pod.
  world.cluster->Advance(absl::Seconds(29));
  world.Pass();
  CHECK(world.cluster->CallCount(Operation::kEvictPod) == 1);
  world.cluster->Advance(absl::Seconds(1));
  world.Pass();
  CHECK(world.cluster->CallCount(Operation::kEvictPod) == 2);
}

TEST_CASE("arch-A8: two identities in one process upgrade the same cluster") {
  World world;
  const Fleet gpu = AddFleet(*world.cluster, {.node_count = 4});
  world.cluster->AddDaemonSet({.ns = "network", .name = "mofed", .labels = {{"app", "mofed"}}});
  const Fleet ofed{.node_names = gpu.node_names, .ns = "network", .daemon_set = "mofed"};
  world.cluster->SetTemplate(gpu.ns, gpu.daemon_set, "rev-2");
  world.cluster->SetTemplate(ofed.ns, ofed.daemon_set, "rev-2");
  world.Start(gpu);
  const auto other = world.NewEngine(Ofed(), ofed);
  for (int i = 0; i < 1000; ++i) {
    world.Pass();
    REQUIRE(other->Reconcile({}, world.policy).ok());
    world.cluster->Advance(absl::Seconds(1));
  }
  for (const Node& node : world.cluster->nodes()) {
    CAPTURE(node.name);
    CHECK(StateOf(node, Gpu()) == "upgrade-done");
    CHECK(StateOf(node, Ofed()) == "upgrade-done");
    CHECK_FALSE(node.unschedulable);
    CHECK(node.annotations.empty());
  }
  for (const Pod& pod : world.cluster->daemon_set_pods("network", "mofed")) CHECK(RevisionHash(pod) == "rev-2");
  for (const Pod& pod : world.cluster->daemon_set_pods(gpu.ns, gpu.daemon_set)) CHECK(RevisionHash(pod) == "rev-2");
}

TEST_CASE("If an engine is killed after any pass, another engine finishes the upgrade") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster);
  world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  for (int i = 0; i < 600 && !world.AllIn("upgrade-done"); ++i) {
    world.Start(fleet);
    world.Pass();
    world.cluster->Advance(absl::Seconds(1));
  }
  CHECK(world.AllIn("upgrade-done"));
  CHECK(world.most_in_progress == 2);
}

TEST_CASE("arch-A6: a write with a lost response counts as applied until the node has been read") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster, {.node_count = 5});
  world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  world.Start(fleet);
  for (int i = 0; i < 30; ++i) {
    world.cluster->FailNextAfterApplying(Operation::kPatchNode, absl::UnavailableError("connection reset"));
    world.cluster->FailNext(Operation::kPatchNode, absl::DeadlineExceededError("no answer"));
    world.Pass();
    world.cluster->Advance(absl::Seconds(2));
  }
  world.RunUntilAll("upgrade-done");
  CHECK(world.AllIn("upgrade-done"));
  CHECK(world.most_in_progress <= 2);
}

TEST_CASE("arch-A9: if the patch that starts a node is lost, that node and the other nodes still start") {
  World world;
  world.policy.max_parallel = 1;
  world.policy.max_unavailable = Count{1};
  const Fleet fleet = AddFleet(*world.cluster, {.node_count = 2, .workload = ""});
  world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  for (const std::string& name : fleet.node_names) {
    world.cluster->EditNode(name, [](Node& node) { node.labels[Gpu().StateLabel()] = "upgrade-required"; });
  }
  world.Start(fleet);
  world.cluster->FailNext(Operation::kPatchNode, absl::UnavailableError("503"));
  world.RunUntilAll("upgrade-done", absl::Minutes(5));
  CHECK(world.AllIn("upgrade-done"));
  CHECK(world.most_in_progress == 1);
}

TEST_CASE("wake_at alone drives a rollout, even if calls fail") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster, {.node_count = 3});
  world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  world.policy.drain->timeout = absl::InfiniteDuration();
  world.Start(fleet);
  world.cluster->FailNext(Operation::kPatchNode, absl::ResourceExhaustedError("429"), 2);
  world.cluster->FailNext(Operation::kDeletePod, absl::UnavailableError("503"));
  world.cluster->FailNext(Operation::kEvictPod, absl::UnavailableError("503"));
  int passes = 0;
  for (; passes < 500 && !world.AllIn("upgrade-done"); ++passes) {
    if (passes == 3) world.cluster->FailNext(Operation::kListPods, absl::UnavailableError("503"));
    const auto result = world.engine->Reconcile({}, world.policy);
    const absl::Time cluster_event = world.cluster->NextEventTime();
    const absl::Time wake = result.ok() ? result->wake_at.value_or(absl::InfiniteFuture()) : world.clock->Now();
    REQUIRE(std::min(wake, cluster_event) < absl::InfiniteFuture());
    // The test also wakes up for the next change in the cluster, in place of a watch event.
    world.cluster->RunUntil(std::max(std::min(wake, cluster_event), world.clock->Now() + absl::Milliseconds(20)));
  }
  CHECK(world.AllIn("upgrade-done"));
  CHECK(passes < 200);
}

TEST_CASE("A rollout reaches the same result after a crash at any request") {
  int calls = 1000;
  for (int crash_at = 1; crash_at <= calls; ++crash_at) {
    CAPTURE(crash_at);
    World world;
    const Fleet fleet = AddFleet(*world.cluster, {.node_count = 2});
    world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
    world.Start(fleet);
    // After `crash_at` writes the process is dead, so the pass's remaining requests are lost too.
    int sent = 0;
    const auto die = [&](const testing::Call& call) -> std::optional<absl::Status> {
      const bool write = call.operation == Operation::kPatchNode || call.operation == Operation::kEvictPod ||
                         call.operation == Operation::kDeletePod;
      if (!write || ++sent <= crash_at) return std::nullopt;
      return absl::UnavailableError("the process is gone");
    };
    world.cluster->SetFaultHooks(die, nullptr);
    for (int i = 0; i < 200 && sent <= crash_at; ++i) {
      world.Pass();
      world.cluster->Advance(absl::Seconds(1));
    }
    if (sent <= crash_at) calls = sent;  // no requests were left to lose
    world.cluster->SetFaultHooks(nullptr, nullptr);
    world.Start(fleet);
    world.RunUntilAll("upgrade-done", absl::Minutes(10));
    CHECK(world.AllIn("upgrade-done"));
    for (const Node& node : world.cluster->nodes()) {
      CHECK_FALSE(node.unschedulable);
      CHECK(node.annotations.empty());
    }
  }
  CHECK(calls >= 10);
}

TEST_CASE("§5.5: the start and the end of a drain are reported once each") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster, {.node_count = 2});
  world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  world.Start(fleet);
  world.RunUntilAll("upgrade-done");
  for (const std::string& node : fleet.node_names) {
    CHECK(world.EventCount(node, "Scheduling drain of the node") == 1);
    CHECK(world.EventCount(node, "Successfully drained the node") == 1);
  }
}

TEST_CASE("arch-A5: a node that cannot be patched does not block the other nodes") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster, {.node_count = 3, .workload = ""});
  world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  world.cluster->SetFaultHooks(
      [](const testing::Call& call) -> std::optional<absl::Status> {
        if (call.operation != Operation::kPatchNode || call.object != "node-1") return std::nullopt;
        return absl::PermissionDeniedError("nodes \"node-1\" is forbidden");
      },
      nullptr);
  world.Start(fleet);
  world.RunUntilAll("upgrade-done", absl::Minutes(5));
  CHECK(StateOf(*world.cluster->node("node-1")).empty());
  CHECK(StateOf(*world.cluster->node("node-2")) == "upgrade-done");
  CHECK(StateOf(*world.cluster->node("node-3")) == "upgrade-done");
}

TEST_CASE("dep-F1: a driver pod on a deleted node causes a finding, and does not stop the rollout") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster, {.node_count = 2, .workload = ""});
  world.cluster->AddPod(
      testing::PodBuilder(fleet.ns, "ghost").OnNode("gone").WithLabel("app", fleet.daemon_set).Build());
  world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  world.Start(fleet);
  const Plan plan = world.RunUntilAll("upgrade-done");
  CHECK(world.AllIn("upgrade-done"));
  REQUIRE(plan.findings.size() == 1);
  CHECK(plan.findings[0].code == FindingCode::kNodeMissing);
}

TEST_CASE("A pass fails if the list of nodes fails, and the next pass continues the upgrade") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster, {.node_count = 2});
  world.Start(fleet);
  world.cluster->FailNext(Operation::kListNodes, absl::UnavailableError("etcd"));
  CHECK(world.engine->Reconcile({}, world.policy).status().code() == absl::StatusCode::kUnavailable);
  world.RunUntilAll("upgrade-done");
  CHECK(world.AllIn("upgrade-done"));
}

TEST_CASE("onUnscheduledPods: an unscheduled driver pod makes the node in its affinity unavailable, or is ignored") {
  World world({.scheduler_delay = absl::InfiniteDuration()});
  const Fleet fleet = AddFleet(*world.cluster, {.node_count = 2, .workload = ""});
  Pod unbound = testing::PodBuilder(fleet.ns, "unbound").WithLabel("app", fleet.daemon_set).Pending().Build();
  unbound.affinity_node_name = fleet.node_names.front();
  world.cluster->AddPod(unbound);
  unbound.ref.name = "of-no-node";
  unbound.affinity_node_name.clear();
  world.cluster->AddPod(unbound);
  const std::vector<Pod> pods = world.cluster->pods();
  const auto bound =
      std::find_if(pods.begin(), pods.end(), [&](const Pod& pod) { return pod.node_name == fleet.node_names.front(); });
  REQUIRE(world.cluster->SetNodeFull(fleet.node_names.front(), "Too many pods"));
  REQUIRE(world.cluster->RemovePod(fleet.ns, bound->ref.name));
  REQUIRE(world.cluster->pod(fleet.ns, "unbound")->node_name.empty());
  world.Start(fleet);
  CHECK(world.Pass().totals.unavailable == 1);
  world.policy.on_unscheduled_pods = OnUnscheduledPods::kIgnore;
  CHECK(world.Pass().totals.unavailable == 0);
}

TEST_CASE("dep-F9: Release returns every node to service during an upgrade, and keeps an administrator's cordon") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster);
  world.cluster->Cordon("node-6");
  world.cluster->EditNode("node-5", [](Node& node) { node.labels[Gpu().SkipUpgradeLabel()] = "true"; });
  world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  world.Start(fleet);
  for (int i = 0; i < 12; ++i) {
    world.Pass();
    world.cluster->Advance(absl::Seconds(1));
  }
  REQUIRE(world.most_in_progress == 2);
  const auto released = world.engine->Release({});
  REQUIRE(released.ok());
  CHECK(released->plan.nodes.size() == 6);
  for (const Node& node : world.cluster->nodes()) {
    CAPTURE(node.name);
    CHECK(StateOf(node).empty());
    CHECK(node.annotations.empty());
    CHECK(node.unschedulable == (node.name == "node-6"));
    CHECK(node.labels.contains(Gpu().SkipUpgradeLabel()) == (node.name == "node-5"));
  }
  CHECK(world.engine->Release({})->plan.nodes.empty());
}

/// Holds the next node list until the test calls LetGo.
class HeldFacade final : public ForwardingFacade {
 public:
  using ForwardingFacade::ForwardingFacade;
  void HoldNext() { holds_ = true; }
  void AwaitHeld() { held_.acquire(); }
  void LetGo() { let_go_.release(); }

 protected:
  absl::Status Around(Operation operation, const CallContext& context, const Call& call) override {
    if (operation == Operation::kListNodes && holds_.exchange(false)) {
      held_.release();
      let_go_.acquire();
    }
    return call(context);
  }

 private:
  std::atomic<bool> holds_ = false;
  std::binary_semaphore held_{0};
  std::binary_semaphore let_go_{0};
};

TEST_CASE("Explain and Everything return the result of the last pass, and do not wait for a running pass") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster);
  world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  const auto facade = std::make_shared<HeldFacade>(world.cluster);
  EngineOptions options{
      .snapshot = {.ns = fleet.ns, .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}})},
      .clock = world.clock};
  options.executor.calls_in_flight = 1;
  world.engine = *UpgradeEngine::Create(Gpu(), facade, options);
  CHECK(world.engine->Everything().totals.total == 0);
  CHECK_FALSE(world.engine->Explain("node-5"));
  world.policy.paused = true;
  while (!world.Pass().nodes.empty()) {
  }
  REQUIRE(world.engine->Explain("node-5")->reason == GateReason::kPaused);

  facade->HoldNext();
  world.policy.auto_upgrade = false;
  std::thread pass([&] { world.Pass(); });
  facade->AwaitHeld();
  // If the pass held a lock here, the following calls would never return.
  CHECK(world.engine->Explain("node-5")->reason == GateReason::kPaused);
  const Plan before = world.engine->Everything();
  CHECK(before.totals.total > 0);
  facade->LetGo();
  pass.join();
  CHECK(world.engine->Explain("node-5")->reason == GateReason::kFrozen);
  CHECK(world.engine->Everything() != before);
}

TEST_CASE("The rollout continues if Events cannot be written (api-A50)") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster, {.node_count = 2});
  world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  world.cluster->FailNext(Operation::kRecordEvent, absl::PermissionDeniedError("events is forbidden"), 1000);
  world.Start(fleet);
  world.RunUntilAll("upgrade-done");
  CHECK(world.AllIn("upgrade-done"));
}

TEST_CASE("Creating an engine fails if its facade does not support a required operation") {
  World world;
  world.cluster->SetSupported(Operation::kEvictPod, false);
  EngineOptions options{.snapshot = {.ns = "drivers", .driver_labels = Selector("app=driver")}};
  CHECK(UpgradeEngine::Create(Gpu(), world.cluster, options).status().code() == absl::StatusCode::kUnimplemented);
  options.snapshot.driver_labels = {};
  CHECK(UpgradeEngine::Create(Gpu(), world.cluster, options).status().code() == absl::StatusCode::kInvalidArgument);
}

/// Holds node patches until `wanted` patches are in progress at the same time, or until a timeout. After that, holds no
/// more patches.
class MeetingFacade final : public ForwardingFacade {
 public:
  MeetingFacade(std::shared_ptr<ClusterFacade> next, int wanted) : ForwardingFacade(std::move(next)), wanted_(wanted) {}
  absl::StatusOr<Node> PatchNode(const CallContext& context, const PatchNodeParams& params) override {
    Meet();
    return ForwardingFacade::PatchNode(context, params);
  }
  int most() const {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  void Meet() {
    std::unique_lock lock(mutex_);
    if (over_) return;
    most_ = std::max(most_, ++waiting_);
    if (waiting_ < wanted_) changed_.wait_for(lock, std::chrono::minutes(1), [this] { return over_; });
    --waiting_;
    over_ = true;
    changed_.notify_all();
  }

  const int wanted_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  int waiting_ = 0;
  int most_ = 0;
  bool over_ = false;
};

TEST_CASE("Problems with the configuration are in the result of a pass that reads lists, but not in the plan") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster, {.node_count = 1, .workload = ""});
  const auto codes = [&](const LabelSelector& labels, const UpgradePolicy& policy, EngineOptions options = {}) {
    options.snapshot.ns = fleet.ns;
    options.snapshot.driver_labels = labels;
    options.clock = world.clock;
    const auto pass = (*UpgradeEngine::Create(Gpu(), world.cluster, std::move(options)))->Reconcile({}, policy);
    REQUIRE(pass.ok());
    CHECK(pass->plan.findings.empty());
    std::vector<FindingCode> found;
    for (const Finding& finding : pass->configuration) found.push_back(finding.code);
    return found;
  };
  using Codes = std::vector<FindingCode>;
  const LabelSelector driver = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}});
  CHECK(codes(LabelSelector::FromMatchLabels({{"app", "nobody"}}), world.policy) == Codes{FindingCode::kNoDaemonSet});
  CHECK(codes(driver, world.policy).empty());
  world.policy.drain.reset();
  CHECK(codes(driver, world.policy) == Codes{FindingCode::kNothingIsEvicted});
  EngineOptions filtered;
  filtered.snapshot.uses_driver = [](const CallContext&, const Pod&) { return false; };
  CHECK(codes(driver, world.policy, filtered).empty());
  EngineOptions requestor;
  requestor.state_machine.requestor = RequestorOptions{.id = "nvidia.gpu", .ns = "default"};
  CHECK(codes(driver, world.policy, requestor).empty());
  world.policy.pod_deletion = PodDeletionPolicy{.pod_selector = LabelSelector::FromMatchLabels({{"gpu", "yes"}})};
  CHECK(codes(driver, world.policy).empty());
  world.policy.pod_deletion.reset();
  world.policy.auto_upgrade = false;
  CHECK(codes(driver, world.policy).empty());
}

TEST_CASE("Requests for different nodes are sent in parallel") {
  World world;
  const auto meeting = std::make_shared<MeetingFacade>(world.cluster, 8);
  const Fleet fleet = AddFleet(*world.cluster, {.node_count = 20, .workload = ""});
  world.policy.max_parallel.reset();
  world.policy.max_unavailable.reset();
  world.cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  EngineOptions options{
      .snapshot = {.ns = fleet.ns, .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}})},
      .clock = world.clock};
  options.executor.calls_in_flight = 8;
  auto engine = UpgradeEngine::Create(Gpu(), meeting, options);
  REQUIRE(engine.ok());
  world.engine = *std::move(engine);
  world.RunUntilAll("upgrade-done");
  world.engine->Quiesce();
  CHECK(world.AllIn("upgrade-done"));
  CHECK(meeting->most() == 8);
}

TEST_CASE("dep-F9: a release fails while NodeMaintenances cannot be read, and succeeds at a later attempt") {
  World world;
  const Fleet fleet = AddFleet(*world.cluster, {.node_count = 1});
  EngineOptions options{
      .snapshot = {.ns = fleet.ns, .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}})},
      .clock = world.clock};
  options.state_machine.requestor = RequestorOptions{.id = "nvidia.gpu-operator", .ns = "maintenance"};
  auto engine = UpgradeEngine::Create(Gpu(), world.cluster, std::move(options));
  REQUIRE(engine.ok());
  REQUIRE((*engine)->Release({}).ok());
  world.cluster->FailNext(Operation::kListNodeMaintenances, absl::UnavailableError("etcd"));
  CHECK(absl::IsUnavailable((*engine)->Release({}).status()));
  CHECK((*engine)->Release({}).ok());
}

}  // namespace
}  // namespace driverupgrade::tests
