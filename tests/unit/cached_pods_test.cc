// Tests how an engine that reads from a cache learns about the pods of nodes, and how it loses track of them.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/rollout_policy.h"
#include "support/catch.h"
#include "unit/cached_world.h"

namespace driverupgrade::tests {
namespace {

using World = CachedWorld;

TEST_CASE("arch-A10: the cache reads pods with a single list and a watch, and without a request for each node") {
  World world({.node_count = 12, .workload = ""}, /*calls_in_flight=*/1, /*with_threads=*/false);
  world.ledger = AdmissionLedgerOptions{.ns = "ops", .name = "ledger"};
  world.controller.reset();
  world.engine.reset();
  world.MakeEngine();
  world.controller = std::make_unique<UpgradeController>(*world.engine, world.cache, ControllerOptions{});
  world.policy.max_parallel = 1;
  world.policy.rollout = RolloutPolicy{.order = {{.by = OrderBy::kFewestPods}}};
  world.controller->SetPolicy(world.policy);
  const auto add = [&](std::size_t node, const std::string& name) {
    world.cluster->AddPod(
        testing::PodBuilder("team", name).OnNode(world.fleet.node_names[node]).OwnedByReplicaSet("x", "rs").Build());
  };
  for (const char* name : {"a", "b", "c"}) add(0, name);
  for (const char* name : {"d", "e"}) add(1, name);
  std::vector<std::string> started;
  world.cluster->SetChangeObserver([&](const Change& change) {
    world.Watch(change);
    if (world.busy.size() == 1 && (started.empty() || started.back() != *world.busy.begin())) {
      started.push_back(*world.busy.begin());
    }
  });
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  world.Settle();
  // Only the watch reports these pods.
  REQUIRE(world.StepsUntil([&] { return started.size() == 2; }));
  for (const char* name : {"f", "g", "h", "i"}) add(4, name);
  world.RunUntilDone();
  CHECK(world.AllDone());
  const std::vector<std::string>& names = world.fleet.node_names;
  std::vector<std::string> wanted = {names[2], names[3]};
  wanted.insert(wanted.end(), names.begin() + 5, names.end());
  wanted.insert(wanted.end(), {names[1], names[0], names[4]});
  CHECK(started == wanted);
  CHECK(world.Count(Operation::kListPods) == 1 + names.size());
}

TEST_CASE("arch-A11: while a list of one node's pods has no response, the other nodes are still upgraded") {
  World world({.node_count = 3}, /*calls_in_flight=*/8);
  world.policy.max_parallel = 3;
  world.controller->SetPolicy(world.policy);
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  // Waits until the node is cordoned, so that `Hold` delays only the list.
  REQUIRE(world.StepsUntil([&] { return world.cluster->node(world.fleet.node_names[0])->unschedulable; }));
  world.line->Hold(world.fleet.node_names[0]);
  const auto done = [&](std::size_t node) { return World::IsDone(*world.cluster->node(world.fleet.node_names[node])); };
  CHECK(world.StepsUntil([&] { return done(1) && done(2) && world.Count(Operation::kDeletePod) >= 2; }));
  world.line->LetGo();
  CHECK(world.StepsUntil([&] { return world.AllDone() && world.Count(Operation::kDeletePod) == 3; }));
}

TEST_CASE("A node is not patched until the list of its pods has returned") {
  World world({.node_count = 1}, /*calls_in_flight=*/8);
  world.validation = LabelSelector::FromMatchLabels({{"app", "validator"}});
  world.controller.reset();
  world.engine.reset();
  world.MakeEngine();
  const std::string node = world.fleet.node_names[0];
  world.line->Hold(node);
  // The Go library left the node in this state. The engine must read the node's validation pods before it patches the
  // node.
  world.cluster->EditNode(node, [](Node& edited) {
    edited.labels[Gpu().StateLabel()] = "validation-required";
    edited.unschedulable = true;
  });
  world.Settle();
  for (int i = 0; i < 100; ++i) {
    const auto pass = world.engine->Reconcile({}, world.policy);
    REQUIRE(pass.ok());
    CHECK(pass->plan.nodes.empty());
  }
  world.line->LetGo();
  world.engine->Quiesce();
  REQUIRE(world.engine->Reconcile({}, world.policy).ok());
  world.engine->Quiesce();
  CHECK(world.Count(Operation::kListPods) == 1);
  CHECK(world.Count(Operation::kPatchNode) == 1);
}

TEST_CASE("A list of pods that is older than the cordon is repeated immediately, and does not cause a finding") {
  World world({.node_count = 1}, /*calls_in_flight=*/1, /*with_threads=*/false);
  const std::string node = world.fleet.node_names[0];
  const auto cordon = [&](bool unschedulable) {
    world.cluster->EditNode(node, [=](Node& edited) { edited.unschedulable = unschedulable; });
    world.cache->Turn({});
  };
  world.cluster->EditNode(node, [](Node& edited) {
    edited.labels[Gpu().StateLabel()] = "drain-required";
    edited.unschedulable = true;
  });
  world.cache->Turn({});
  world.line->after_list = [&] {
    cordon(false);
    cordon(true);
  };
  auto pass = world.engine->Reconcile({}, world.policy);
  REQUIRE(pass.ok());
  CHECK(world.Count(Operation::kListPods) == 2);
  for (const Finding& finding : pass->plan.findings) CHECK(finding.code != FindingCode::kReadFailed);
}

TEST_CASE("A pass waits for each list no longer than call_timeout") {
  World world({.node_count = 2}, /*calls_in_flight=*/1, /*with_threads=*/false);
  const absl::Time begin = world.clock->Now();
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  for (int i = 0; i < 10; ++i) {
    world.cache->Turn({});
    REQUIRE(world.engine->Reconcile({}, world.policy).ok());
  }
  CHECK(world.Count(Operation::kListPods) >= 1);
  CHECK(world.Count(Operation::kListControllerRevisions) >= 1);
  CHECK(world.clock->Now() == begin);
  CHECK(world.line->latest_deadline() == begin + ExecutorOptions{}.call_timeout);
}

TEST_CASE("arch-A11: pods that arrive after the cordon are evicted, even if the watch lags") {
  World world({.node_count = 1});
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  world.Settle();
  world.controller->Step({});  // the engine cordons the node
  world.cluster->PauseWatches();
  world.cluster->AddPod(
      testing::PodBuilder("team-a", "late").OnNode(world.fleet.node_names[0]).OwnedByReplicaSet("x").Build());
  world.cluster->ResumeWatches();
  world.Settle();
  world.RunUntilDone();
  CHECK(world.AllDone());
  CHECK_FALSE(world.cluster->pod("team-a", "late"));
}

TEST_CASE("arch-A11: pods that arrive while the driver starts are evicted before the driver is replaced again") {
  // With these delays, the engine learns in the same step that the previous driver pod has ended and that the next one
  // exists. At that time, the engine knows the node's other pods.
  const testing::PodBehavior at_once{.start_delay = absl::Seconds(20), .stop_delay = absl::ZeroDuration()};
  World world({.node_count = 6, .driver_behavior = at_once, .workload = ""}, /*calls_in_flight=*/1,
              /*with_threads=*/false);
  // Each pass evaluates two nodes, reads the pods of one node, and has capacity for a third node. Every third node gets
  // the skip label, so that its pods are not needed.
  world.nodes_per_pass = 2;
  std::vector<std::string> nodes = world.fleet.node_names;
  for (const std::size_t i : {3, 0}) {
    world.cluster->EditNode(nodes[i], [](Node& node) { node.labels[Gpu().SkipUpgradeLabel()] = "true"; });
    nodes.erase(nodes.begin() + static_cast<std::ptrdiff_t>(i));
  }
  world.controller.reset();
  world.engine.reset();
  world.MakeEngine();
  world.controller = std::make_unique<UpgradeController>(*world.engine, world.cache, ControllerOptions{});
  world.policy.max_parallel = 4;
  world.controller->SetPolicy(world.policy);
  const auto waits_for_driver = [&](const std::string& node) {
    const std::optional<Gate> gate = world.engine->Explain(node);
    return gate && gate->reason == GateReason::kDriverPodNotReady && !world.cache->KnowsPodsOn(node);
  };
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  world.Settle();
  REQUIRE(world.StepsUntil([&] { return std::all_of(nodes.begin(), nodes.end(), waits_for_driver); }));
  for (const std::string& node : nodes) {
    world.cluster->AddPod(testing::PodBuilder("team-a", "late-" + node).OnNode(node).OwnedByReplicaSet("x").Build());
  }
  std::set<std::string> restarted_under_pods;
  const auto is_restarted = [&](const std::string& node) {
    const std::vector<Pod> pods = world.cluster->pods_on(node);
    const bool restarted = std::none_of(pods.begin(), pods.end(), [&](const Pod& pod) {
      return pod.ref.ns == world.fleet.ns && RevisionHash(pod) == "rev-2";
    });
    if (restarted && world.cluster->pod("team-a", "late-" + node)) restarted_under_pods.insert(node);
    return restarted;
  };
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-3");
  world.Settle();
  REQUIRE(world.StepsUntil([&] { return std::count_if(nodes.begin(), nodes.end(), is_restarted) == 4; }));
  CHECK(restarted_under_pods.empty());
}

TEST_CASE("arch-A9: a refused eviction keeps its retry interval while the pods of its node are briefly unknown") {
  World world({.node_count = 1});
  world.cluster->AddDisruptionBudget({.ns = "team-a", .name = "web", .min_available = 1});
  world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2");
  world.Settle();
  const auto refused = [&] {
    std::vector<absl::Time> times;
    for (const Call& call : world.cluster->journal()) {
      if (call.operation == Operation::kEvictPod && call.object.starts_with("team-a/web-")) times.push_back(call.time);
    }
    return times;
  };
  const auto pass = [&] {
    world.controller->Step({});
    world.Settle();
    world.cluster->Advance(absl::Milliseconds(30));
    world.Settle();
  };
  for (int i = 0; i < 10 && refused().empty(); ++i) pass();
  REQUIRE(refused().size() == 1);
  for (int i = 0; i < 3; ++i) {
    world.cluster->CompactLog();
    world.cluster->BreakWatches(absl::OutOfRangeError("too old resource version"));
    world.Settle();
    for (int again = 0; again < 3; ++again) pass();
  }
  const std::vector<absl::Time> times = refused();
  for (std::size_t i = 1; i < times.size(); ++i) CHECK(times[i] - times[i - 1] >= absl::Milliseconds(4500));
}

// Starts a drain on one node, and makes the next list of this node's pods fail.
void FailOneList(World& world) {
  world.cluster->EditNode(world.fleet.node_names[0], [](Node& edited) {
    edited.labels[Gpu().StateLabel()] = "drain-required";
    edited.unschedulable = true;
  });
  world.cache->Turn({});
  world.cluster->FailNext(Operation::kListPods, absl::DeadlineExceededError("too slow"));
}

bool HasReadFailed(const Plan& plan) {
  return std::any_of(plan.findings.begin(), plan.findings.end(),
                     [](const Finding& finding) { return finding.code == FindingCode::kReadFailed; });
}

TEST_CASE("The pause after a failed list of pods starts when the list fails, not when the request is sent") {
  World world({.node_count = 1}, /*calls_in_flight=*/1, /*with_threads=*/false);
  FailOneList(world);
  world.line->after_list = [&] { world.clock->Advance(absl::Seconds(30)); };
  const auto pass = world.engine->Reconcile({}, world.policy);
  REQUIRE(pass.ok());
  CHECK(HasReadFailed(pass->plan));
  REQUIRE(world.engine->Reconcile({}, world.policy).ok());
  CHECK(world.Count(Operation::kListPods) == 1);
  world.clock->Advance(absl::Seconds(10));
  REQUIRE(world.engine->Reconcile({}, world.policy).ok());
  CHECK(world.Count(Operation::kListPods) == 2);
}

TEST_CASE("A failed read of a node's pods is reported only while the engine needs the pods") {
  World world({.node_count = 1}, /*calls_in_flight=*/1, /*with_threads=*/false);
  FailOneList(world);
  const auto pass = world.engine->Reconcile({}, world.policy);
  REQUIRE(pass.ok());
  CHECK(HasReadFailed(pass->plan));
  world.cluster->EditNode(world.fleet.node_names[0],
                          [](Node& edited) { edited.labels[Gpu().StateLabel()] = "pod-restart-required"; });
  world.cache->Turn({});
  const auto later = world.engine->Reconcile({}, world.policy);
  REQUIRE(later.ok());
  CHECK_FALSE(HasReadFailed(later->plan));
  CHECK(world.Count(Operation::kListPods) == 1);
}

}  // namespace
}  // namespace driverupgrade::tests
