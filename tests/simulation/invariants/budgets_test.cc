// Tests I1 (slots and unavailable nodes) and I2 (driver restarts). The tests break each invariant on purpose, with
// requests that our engine would never send.
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/testing/invariants.h"
#include "simulation/invariants/world.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

TEST_CASE("A start within all limits breaks no invariant") {
  World world;
  world.Start(0);
  CHECK(world.checker->Report() == "");
}

TEST_CASE("I1: more nodes are in progress than maxParallel allows") {
  World world;
  world.Start(0);
  world.Start(1);
  CHECK(world.Broken() == "I1");
}

TEST_CASE("I1: a node starts although too many nodes become unavailable") {
  World world({.auto_upgrade = true, .max_parallel = std::nullopt, .max_unavailable = Count{1}});
  REQUIRE(world.cluster->EditNode(world.NodeName(2), [](Node& node) {
    node.unschedulable = true;
    node.labels[Gpu().StateLabel()] = "upgrade-done";
  }));
  // Gives node 0 a version newer than the change to node 2. The checker assumes that a writer that has not reported its
  // request knows only the changes before that version.
  REQUIRE(world.cluster->EditNode(world.NodeName(0), [](Node& node) { node.labels["rack"] = "7"; }));
  world.Start(0);
  CHECK(world.Broken() == "I1");
}

TEST_CASE("I1: a slot that only the new policy counts limits a replica only once the replica has read the node") {
  for (const bool read : {false, true}) {
    UpgradePolicy policy{.auto_upgrade = true, .max_parallel = 1, .drain = DrainPolicy{}};
    World world(policy);
    REQUIRE(world.guarded->ListNodes({}, {}).ok());
    // A node that an administrator cordoned takes no slot while cordonedNodes is Proceed.
    world.Put(1, "drain-required", [](Node& node) {
      node.unschedulable = true;
      node.annotations[Gpu().InitiallyUnschedulableAnnotation()] = "true";
    });
    REQUIRE(world.cluster->EditNode(world.NodeName(0), [](Node& node) { node.labels["rack"] = "7"; }));
    policy.cordoned_nodes = CordonedNodes::kWithinBudget;
    world.checker->SetPolicy(policy);
    if (read) REQUIRE(world.guarded->ListNodes({}, {}).ok());
    world.StartUnread(0);
    CHECK(world.Broken() == (read ? "I1" : ""));
  }
}

TEST_CASE("I1: once the ledger is lost, a slot counts only for a replica that has read the node") {
  enum class Ledger { kStays, kIsLost, kIsLostAndRead };
  for (const Ledger ledger : {Ledger::kStays, Ledger::kIsLost, Ledger::kIsLostAndRead}) {
    INFO(static_cast<int>(ledger));
    World world;
    REQUIRE(world.cluster->CreateConfigMap({}, {.ns = world.fleet.ns, .name = "ledger"}).ok());
    const auto other = world.checker->Guard("other");
    REQUIRE(other->ListNodes({}, {}).ok());
    world.Start(1);
    REQUIRE(world.cluster->EditNode(world.NodeName(0), [](Node& node) { node.labels["rack"] = "7"; }));
    if (ledger != Ledger::kStays) world.cluster->RemoveConfigMap(world.fleet.ns, "ledger");
    if (ledger == Ledger::kIsLostAndRead) REQUIRE(other->ListNodes({}, {}).ok());
    world.Announce(0, UpgradeState::kUnknown, {UpgradeState::kUpgradeRequired, UpgradeState::kCordonRequired});
    const Node node = world.NodeAt(0);
    REQUIRE(other
                ->PatchNode({}, {.name = node.name,
                                 .uid = node.uid,
                                 .resource_version = node.resource_version,
                                 .labels = {{Gpu().StateLabel(), "cordon-required"}}})
                .ok());
    CHECK(world.Broken() == (ledger == Ledger::kIsLost ? "" : "I1"));
  }
}

TEST_CASE("I1: a slot that a policy did not count is no longer attributed to an engine") {
  UpgradePolicy policy{.auto_upgrade = true, .max_parallel = 1, .drain = DrainPolicy{}};
  World world(policy);
  world.Start(1);
  world.Put(1, "uncordon-required");
  world.Move(1, UpgradeState::kUncordonRequired, {UpgradeState::kDone},
             {.annotations = {{std::string(kCordonedByAnnotation), std::nullopt}}, .unschedulable = false});
  // With a failurePolicy, failed nodes hold no slot. Without a failurePolicy, this node holds a slot that no engine
  // requested.
  policy.failure_policy = FailurePolicy{};
  world.checker->SetPolicy(policy);
  world.Put(1, "upgrade-failed");
  REQUIRE(world.cluster->EditNode(world.NodeName(0), [](Node& node) { node.labels["rack"] = "7"; }));
  policy.failure_policy.reset();
  world.checker->SetPolicy(policy);
  world.StartUnread(0);
  CHECK(world.Broken() == "");
}

TEST_CASE("I1: the new policy determines from when a slot counts, even if the previous policy counted it earlier") {
  for (const bool read : {false, true}) {
    UpgradePolicy policy{.auto_upgrade = true,
                         .max_parallel = 1,
                         .drain = DrainPolicy{},
                         .cordoned_nodes = CordonedNodes::kWithinBudget};
    World world(policy);
    world.Put(1, "drain-required", [](Node& node) {
      node.unschedulable = true;
      node.annotations[Gpu().InitiallyUnschedulableAnnotation()] = "true";
    });
    REQUIRE(world.guarded->ListNodes({}, {}).ok());
    // With Proceed, the node takes a slot only once the administrator has removed the cordon.
    world.Put(1, "drain-required", [](Node& node) { node.unschedulable = false; });
    REQUIRE(world.cluster->EditNode(world.NodeName(0), [](Node& node) { node.labels["rack"] = "7"; }));
    policy.cordoned_nodes = CordonedNodes::kProceed;
    world.checker->SetPolicy(policy);
    if (read) REQUIRE(world.guarded->ListNodes({}, {}).ok());
    world.StartUnread(0);
    CHECK(world.Broken() == (read ? "I1" : ""));
  }
}

TEST_CASE("I1: a start that was decided under an earlier policy is checked against that policy") {
  UpgradePolicy policy{.auto_upgrade = true, .max_parallel = 1, .drain = DrainPolicy{}};
  World world(policy);
  world.guarded->BeginPass();
  policy.max_parallel = 4;
  world.checker->SetPolicy(policy);
  world.Start(0);
  CHECK(world.Broken() == "");
  world.Ask(1);
  world.Start(1);
  CHECK(world.Broken() == "I1");
}

TEST_CASE("I1: a start that is repeated after a change of the policy must satisfy one of the two policies") {
  for (const int before : {1, 2}) {
    UpgradePolicy policy{.auto_upgrade = true, .max_parallel = before, .drain = DrainPolicy{}};
    World world(policy);
    world.Start(0);
    world.guarded->BeginPass();
    world.Ask(1);
    policy.max_parallel = 1;
    policy.max_unavailable = Count{4};
    world.checker->SetPolicy(policy);
    world.guarded->BeginPass();
    world.Start(1);
    CHECK(world.Broken() == (before == 2 ? "" : "I1"));
  }
}

TEST_CASE("I1: the start of a cordoned node needs no capacity, and does not change when the cordon started to count") {
  for (const bool known : {false, true}) {
    World world(
        {.auto_upgrade = true, .max_parallel = std::nullopt, .max_unavailable = Count{2}, .drain = DrainPolicy{}});
    if (!known) world.Ask(0);
    for (const std::size_t i : {1, 2}) {
      world.Put(i, "upgrade-required", [](Node& node) {
        node.unschedulable = true;
        node.annotations[Gpu().InitiallyUnschedulableAnnotation()] = "true";
      });
    }
    if (known) world.Ask(0);
    for (const std::size_t i : {1, 2}) {
      world.Move(i, UpgradeState::kUpgradeRequired,
                 {UpgradeState::kCordonRequired, UpgradeState::kWaitForJobsRequired, UpgradeState::kDrainRequired});
    }
    REQUIRE(world.Broken() == "");
    // Uses the slot of the first attempt, whose outcome is unknown.
    world.StartUnread(0);
    CHECK(world.Broken() == (known ? "I1" : ""));
  }
}

TEST_CASE("I1: a percentage is relative to the number of nodes that have the driver, and is rounded up") {
  for (const int percent : {25, 26}) {
    World world({.auto_upgrade = true,
                 .max_parallel = std::nullopt,
                 .max_unavailable = Percent{percent},
                 .drain = DrainPolicy{}});
    // Four nodes have the driver: 25 % of them is one node, and 26 % is two.
    for (int i = 0; i < 8; ++i) world.cluster->AddNode(testing::NodeBuilder("other-" + std::to_string(i)).Build());
    world.Start(0);
    CHECK(world.Broken() == "");
    world.Start(1);
    CHECK(world.Broken() == (percent == 25 ? "I1" : ""));
  }
}

TEST_CASE("I1: 100 % never limits, even if all nodes are unavailable") {
  for (const CountOrPercent& limit :
       {CountOrPercent(Percent{99}), CountOrPercent(Percent{100}), CountOrPercent(Count{4})}) {
    World world({.auto_upgrade = true, .max_parallel = std::nullopt, .max_unavailable = limit, .drain = DrainPolicy{}});
    for (const std::size_t i : {0, 1, 2, 3}) world.Put(i, "upgrade-done", [](Node& node) { node.ready = false; });
    // Gives node 0 a version newer than the changes to the other nodes. The checker assumes that a writer that has not
    // reported its request knows only the changes before that version.
    REQUIRE(world.cluster->EditNode(world.NodeName(0), [](Node& node) { node.labels["rack"] = "7"; }));
    using enum UpgradeState;
    world.Move(0, kDone, {kUpgradeRequired, kCordonRequired, kWaitForJobsRequired, kDrainRequired},
               {.unschedulable = true});
    CHECK(world.Broken() == (limit == CountOrPercent(Percent{100}) ? "" : "I1"));
  }
}

TEST_CASE("I2: the driver is restarted while a workload runs") {
  World world;
  world.Start(0);
  REQUIRE(world.guarded->ListPods({}, {.node_name = world.NodeName(0)}).ok());
  REQUIRE(world.guarded->DeletePod({}, {.pod = world.DriverPodOn(0).ref}).ok());
  CHECK(world.Broken() == "I2");
}

TEST_CASE("I2: on a node marked as restart-only, the operator's predicate decides whether a restart is allowed") {
  for (const bool enough : {false, true}) {
    const auto hash_of = [](const ControllerRevision& revision) {
      return revision.labels.at("controller-revision-hash");
    };
    World world({.auto_upgrade = true, .max_parallel = 1, .drain = DrainPolicy{}},
                [&](const CallContext&, const Pod&, const ControllerRevision& running,
                    const ControllerRevision& wanted) -> absl::StatusOr<bool> {
                  CHECK(hash_of(running) == "rev-1");
                  CHECK(hash_of(wanted) == "rev-2");
                  return enough;
                });
    REQUIRE(world.cluster->SetTemplate(world.fleet.ns, world.fleet.daemon_set, "rev-2"));
    world.Put(0, "pod-restart-required",
              [](Node& node) { node.annotations[Gpu().RestartOnlyAnnotation()] = "rev-1@rev-2"; });
    REQUIRE(world.guarded->ListNodes({}, {}).ok());
    REQUIRE(world.guarded->ListPods({}, {.node_name = world.NodeName(0)}).ok());
    REQUIRE(world.guarded->DeletePod({}, {.pod = world.DriverPodOn(0).ref}).ok());
    CHECK(world.Broken() == (enough ? "" : "I2"));
  }
}

TEST_CASE("I2: a pod that existed when the node was cordoned counts as known, even if it was never read") {
  for (const bool before : {false, true}) {
    DrainPolicy drain{.pod_selector = LabelSelector::FromMatchLabels({{"app", "new"}})};
    World world({.auto_upgrade = true, .max_parallel = 1, .drain = std::move(drain)});
    const auto come = [&] {
      world.cluster->AddPod(PodBuilder("team-a", "new").WithLabel("app", "new").OnNode(world.NodeName(0)).Build());
    };
    if (before) come();
    world.Start(0);
    if (!before) come();
    REQUIRE(world.guarded->DeletePod({}, {.pod = world.DriverPodOn(0).ref}).ok());
    CHECK(world.Broken() == (before ? "I2" : ""));
  }
}

TEST_CASE("I2: an engine that read the labels before they changed may leave pods that only pod deletion would evict") {
  for (const bool relabelled : {false, true}) {
    INFO(relabelled);
    World world(
        {.auto_upgrade = true,
         .max_parallel = 1,
         .pod_deletion = PodDeletionPolicy{.pod_selector = LabelSelector::FromMatchLabels({{"uses", "driver"}})},
         .drain = DrainPolicy{.pod_selector = LabelSelector::FromMatchLabels({{"app", "none"}})}});
    const auto add = [&](const char* name, bool bare) {
      PodBuilder pod("team-a", name);
      pod.WithLabel("uses", "driver").OnNode(world.NodeName(0));
      if (!bare) pod.OwnedByJob("j");
      world.cluster->AddPod(pod.Build());
    };
    add("job", /*bare=*/false);
    if (relabelled) add("bare", /*bare=*/true);  // blocks pod deletion
    world.Start(0);
    REQUIRE(world.guarded->ListPods({}, {.node_name = world.NodeName(0)}).ok());
    if (relabelled) {
      REQUIRE(world.cluster->EditPod("team-a", "bare", [](Pod& pod) { pod.labels.erase("uses"); }));
    }
    REQUIRE(world.guarded->DeletePod({}, {.pod = world.DriverPodOn(0).ref}).ok());
    CHECK(world.Broken() == (relabelled ? "" : "I2"));
  }
}

TEST_CASE("I2: a pod counts as lost one second after its grace period, or earlier if clocks differ") {
  for (const auto& [overdue, clocks_differ, broken] :
       std::vector<std::tuple<int, bool, std::string>>{{0, false, "I2"}, {1, false, ""}, {0, true, ""}}) {
    World world;
    if (clocks_differ) {
      world.JudgeBy({.auto_upgrade = true, .max_parallel = 1, .drain = DrainPolicy{}},
                    [](InvariantOptions& options) { options.clock_skew_max = absl::Minutes(1); });
    }
    world.Start(0);
    // Kubernetes reports whole seconds.
    const absl::Time grace_ends = world.clock->Now() + absl::Minutes(2) + absl::Milliseconds(900);
    REQUIRE(world.cluster->EditPod("team-a", world.WebPodOn(0).name,
                                   [&](Pod& pod) { pod.deletion_timestamp = grace_ends; }));
    world.cluster->SetNodeReady(world.NodeName(0), false);
    world.clock->Advance(absl::Minutes(2) + overdue * absl::Seconds(1));
    REQUIRE(world.guarded->DeletePod({}, {.pod = world.DriverPodOn(0).ref}).ok());
    CHECK(world.Broken() == broken);
  }
}

TEST_CASE("I2: the engine's clock and its last read of the node decide whether a pod is lost") {
  enum class Why { kNothing, kClockIsBehind, kReadyAgain, kReadyAsRead };
  for (const auto& [why, broken] : std::vector<std::pair<Why, std::string>>{
           {Why::kNothing, ""}, {Why::kClockIsBehind, "I2"}, {Why::kReadyAgain, ""}, {Why::kReadyAsRead, "I2"}}) {
    INFO(static_cast<int>(why));
    World world;
    world.Start(0);
    // A finalizer keeps this pod, regardless of the node's state.
    Pod held = *world.cluster->pod("team-a", world.WebPodOn(0).name);
    world.cluster->RemovePod("team-a", held.ref.name);
    held.ref = {.ns = "team-a", .name = "held"};
    held.deletion_timestamp = world.clock->Now() + absl::Minutes(2);
    world.cluster->AddPod(held, {.stop_delay = absl::InfiniteDuration()});
    REQUIRE(world.guarded->ListPods({}, {.node_name = world.NodeName(0)}).ok());
    world.cluster->SetNodeReady(world.NodeName(0), false);
    REQUIRE(world.guarded->ListNodes({}, {}).ok());
    world.clock->Advance(absl::Minutes(2) + absl::Seconds(1));
    if (why == Why::kClockIsBehind) world.guarded->NoteClock(-absl::Seconds(2));
    if (why == Why::kReadyAgain || why == Why::kReadyAsRead) {
      world.cluster->EditNode(world.NodeName(0), [](Node& node) { node.ready = true; });
    }
    if (why == Why::kReadyAsRead) REQUIRE(world.guarded->ListNodes({}, {}).ok());
    REQUIRE(world.guarded->DeletePod({}, {.pod = world.DriverPodOn(0).ref}).ok());
    CHECK(world.Broken() == broken);
  }
  // The engine's clock is ahead now, or was ahead in an earlier pass.
  for (const bool before : {false, true}) {
    World world;
    world.JudgeBy({.auto_upgrade = true, .max_parallel = 1, .drain = DrainPolicy{}},
                  [](InvariantOptions& options) { options.clock_skew_max = absl::Minutes(9); });
    world.Start(0);
    REQUIRE(world.cluster->EditPod("team-a", world.WebPodOn(0).name,
                                   [&](Pod& pod) { pod.deletion_timestamp = world.clock->Now() + absl::Minutes(2); }));
    world.cluster->SetNodeReady(world.NodeName(0), false);
    world.guarded->NoteClock(absl::Minutes(3));
    if (before) {
      world.guarded->BeginPass();
      world.guarded->NoteClock(absl::Seconds(1));
    }
    REQUIRE(world.guarded->DeletePod({}, {.pod = world.DriverPodOn(0).ref}).ok());
    CHECK(world.Broken() == (before ? "I2" : ""));
  }
}

TEST_CASE("I1, I6: a node may start only with a grant for its version, and only if the operator selects the node") {
  World world;
  const auto judge = [&](InvariantOptions options) {
    options.identity = Gpu();
    options.driver_ns = world.fleet.ns;
    options.driver_labels = LabelSelector::FromMatchLabels({{"app", world.fleet.daemon_set}});
    options.policy = {.auto_upgrade = true, .max_parallel = 4, .drain = DrainPolicy{}};
    world.checker.reset();
    world.checker = std::make_unique<InvariantChecker>(world.cluster, options);
    world.guarded = world.checker->Guard("engine");
    world.observer = world.checker->MakeObserver();
  };
  const auto grant = [&](std::size_t i) { return world.NodeAt(i).uid + " " + world.NodeAt(i).resource_version + "\n"; };
  const std::string ns = world.fleet.ns;
  const InvariantOptions with_ledger{.identity = Gpu(), .grants_max = 1};
  judge(with_ledger);
  REQUIRE(
      world.guarded->CreateConfigMap({}, {.ns = ns, .name = "grants", .data = {{"nvidia.com_gpu", grant(0)}}}).ok());
  world.Start(0);
  CHECK(world.Broken() == "");
  world.Start(1);
  CHECK(world.Broken() == "I1");

  judge(with_ledger);
  REQUIRE(
      world.guarded->CreateConfigMap({}, {.ns = ns, .name = "two", .data = {{"nvidia.com_gpu", grant(1) + grant(2)}}})
          .ok());
  CHECK(world.Broken() == "I1");

  judge({.identity = Gpu(), .node_selector = *LabelSelector::Parse("driver!=gpu")});
  world.Start(3);
  CHECK(world.Broken() == "I6");
}

}  // namespace
}  // namespace driverupgrade::tests
