// The checker checks: each invariant is broken on purpose, by a request that no engine of ours would make.
#include "driverupgrade/testing/invariants.h"

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "simulation/invariants_world.h"
#include "simulation/world/liveness.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

TEST_CASE("A start in good order breaks nothing") {
  World world;
  world.Start(0);
  CHECK(world.checker->Report() == "");
}

TEST_CASE("I1: more nodes in progress than maxParallel") {
  World world;
  world.Start(0);
  world.Start(1);
  CHECK(world.Broken() == "I1");
}

TEST_CASE("I1: a node that becomes one too many unavailable") {
  World world({.auto_upgrade = true, .max_parallel = std::nullopt, .max_unavailable = Count{1}});
  REQUIRE(world.cluster->EditNode(world.NodeName(2), [](Node& node) {
    node.unschedulable = true;
    node.labels[Gpu().StateLabel()] = "upgrade-done";
  }));
  // What came after the version that is patched may have come after an earlier try.
  REQUIRE(world.cluster->EditNode(world.NodeName(0), [](Node& node) { node.labels["rack"] = "7"; }));
  world.Start(0);
  CHECK(world.Broken() == "I1");
}

TEST_CASE("I1: a slot that only a new policy sees counts for who has read the node") {
  for (const bool read : {false, true}) {
    UpgradePolicy policy{.auto_upgrade = true, .max_parallel = 1, .drain = DrainPolicy{}};
    World world(policy);
    REQUIRE(world.guarded->ListNodes({}, {}).ok());
    // An administrator's node is outside the slots as long as the policy says Proceed.
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

TEST_CASE("I1: a slot is held since the new policy sees it, not since the one before did") {
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
    // With Proceed it holds a slot only once the administrator has lifted his cordon.
    world.Put(1, "drain-required", [](Node& node) { node.unschedulable = false; });
    REQUIRE(world.cluster->EditNode(world.NodeName(0), [](Node& node) { node.labels["rack"] = "7"; }));
    policy.cordoned_nodes = CordonedNodes::kProceed;
    world.checker->SetPolicy(policy);
    if (read) REQUIRE(world.guarded->ListNodes({}, {}).ok());
    world.StartUnread(0);
    CHECK(world.Broken() == (read ? "I1" : ""));
  }
}

TEST_CASE("I1: a start under an earlier policy is judged by that policy") {
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

TEST_CASE("I1: a start that is repeated after the policy has changed has to keep one of the two") {
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

TEST_CASE("I1: a start of a node that somebody has cordoned takes no room, and does not make the cordon older") {
  for (const bool known : {false, true}) {
    World world({.auto_upgrade = true,
                 .max_parallel = std::nullopt,
                 .max_unavailable = Count{2},
                 .drain = DrainPolicy{}});
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
    // With the slot of the first try, which was not answered clearly.
    world.StartUnread(0);
    CHECK(world.Broken() == (known ? "I1" : ""));
  }
}

TEST_CASE("I1: a percentage is one of the nodes that have the driver, rounded up") {
  for (const int percent : {25, 26}) {
    World world({.auto_upgrade = true,
                 .max_parallel = std::nullopt,
                 .max_unavailable = Percent{percent},
                 .drain = DrainPolicy{}});
    // With the driver there are four: 25 % are one of them, 26 % are two.
    for (int i = 0; i < 8; ++i) world.cluster->AddNode(testing::NodeBuilder("other-" + std::to_string(i)).Build());
    world.Start(0);
    CHECK(world.Broken() == "");
    world.Start(1);
    CHECK(world.Broken() == (percent == 25 ? "I1" : ""));
  }
}

TEST_CASE("I2: the driver is restarted under a workload") {
  World world;
  world.Start(0);
  REQUIRE(world.guarded->ListPods({}, {.node_name = world.NodeName(0)}).ok());
  REQUIRE(world.guarded->DeletePod({}, {.pod = world.DriverPodOn(0).ref}).ok());
  CHECK(world.Broken() == "I2");
}

TEST_CASE("I2: a node says that a restart is enough, and the operator's predicate is asked of the two revisions") {
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

TEST_CASE("I2: a pod that was there when the node was cordoned is known, read or not") {
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

TEST_CASE("I2: a pod is lost a second after its grace, unless clocks differ") {
  for (const int overdue : {0, 1}) {
    World world;
    world.Start(0);
    // Kubernetes tells whole seconds.
    const absl::Time grace_ends = world.clock->Now() + absl::Minutes(2) + absl::Milliseconds(900);
    REQUIRE(world.cluster->EditPod("team-a", world.WebPodOn(0).name,
                                   [&](Pod& pod) { pod.deletion_timestamp = grace_ends; }));
    world.cluster->SetNodeReady(world.NodeName(0), false);
    world.clock->Advance(absl::Minutes(2) + overdue * absl::Seconds(1));
    REQUIRE(world.guarded->DeletePod({}, {.pod = world.DriverPodOn(0).ref}).ok());
    CHECK(world.Broken() == (overdue == 1 ? "" : "I2"));
  }
}

TEST_CASE("I3: an administrator's cordon is lifted") {
  World world;
  world.cluster->Cordon(world.NodeName(0));
  world.Patch(0, {.unschedulable = false});
  CHECK(world.Broken() == "I3");
}

// A node of ours that is about to be given back, with a name on its cordon.
void PutCordoned(World& world, std::size_t i, const std::string& names) {
  world.Put(i, "uncordon-required", [&](Node& node) {
    node.unschedulable = true;
    node.annotations[std::string(kCordonedByAnnotation)] = names;
  });
}

TEST_CASE("I3: a cordon is lifted on which another driver relies, whoever wrote our marks") {
  const std::string ofed = "nvidia.com/ofed-driver-upgrade-state";
  for (const auto& [names, label, state, broken] :
       std::vector<std::tuple<std::string, std::string, std::string, std::string>>{
           {"nvidia.com/gpu", ofed, "drain-required", "I3"},  // at work, without a name
           {"nvidia.com/gpu", ofed, "upgrade-failed", "I3"},
           {"nvidia.com/gpu", ofed, "cordon-required", ""},
           {"nvidia.com/gpu", ofed, "uncordon-required", ""},
           {"nvidia.com/gpu", ofed, "node-maintenance-required", ""},            // nobody has been asked yet
           {"nvidia.com/gpu,nvidia.com/ofed", ofed, "uncordon-required", "I3"},  // its name is live
           {"nvidia.com/gpu,nvidia.com/ofed", ofed, "upgrade-done", ""},
           {"nvidia.com/gpu,nvidia.com/ofed", "rack", "7", ""}}) {
    INFO(names << " " << state);
    World world;
    PutCordoned(world, 0, names);
    REQUIRE(world.cluster->EditNode(world.NodeName(0), [&](Node& node) { node.labels[label] = state; }));
    world.Move(0, UpgradeState::kUncordonRequired, {UpgradeState::kDone},
               {.annotations = {{std::string(kCordonedByAnnotation), std::nullopt}}, .unschedulable = false});
    CHECK(world.Broken() == broken);
  }
}

TEST_CASE("I3: what the node says decides although somebody has edited our marks") {
  World administrators;
  PutCordoned(administrators, 0, "nvidia.com/gpu");
  administrators.Put(0, "uncordon-required",
                     [](Node& node) { node.annotations[Gpu().InitiallyUnschedulableAnnotation()] = "true"; });
  administrators.Patch(0, {.unschedulable = false});
  CHECK(administrators.Broken() == "I3");
  World ours;
  PutCordoned(ours, 0, "nvidia.com/gpu");
  ours.Move(0, UpgradeState::kUncordonRequired, {UpgradeState::kDone},
            {.annotations = {{std::string(kCordonedByAnnotation), std::nullopt}}});
  CHECK(ours.Broken() == "I3");
}

TEST_CASE("I3: dep-F7: whose cordon it is, is noted anew by the patch that leaves upgrade-required, and by no other") {
  using enum UpgradeState;
  const std::vector<UpgradeState> all_of_it = {
      kUpgradeRequired, kCordonRequired, kWaitForJobsRequired, kDrainRequired, kPodRestartRequired, kUncordonRequired, kDone};
  for (const auto& [path, broken] :
       std::vector<std::pair<std::vector<UpgradeState>, std::string>>{{all_of_it, ""}, {{kDone}, "I3"}}) {
    World world;
    PutCordoned(world, 0, "nvidia.com/gpu");
    REQUIRE(world.cluster->EditNode(world.NodeName(0), [](Node& node) {
      node.labels.erase(Gpu().StateLabel());
      node.annotations[Gpu().InitiallyUnschedulableAnnotation()] = "of an upgrade before";
    }));
    world.Move(0, kUnknown, path,
               {.annotations = {{std::string(kCordonedByAnnotation), std::nullopt},
                                {Gpu().InitiallyUnschedulableAnnotation(), std::nullopt}},
                .unschedulable = false});
    CHECK(world.Broken() == broken);
  }
}

TEST_CASE("I3: dep-F7: a failed node that begins and ends in one patch leaves the cordon that is an administrator's") {
  using enum UpgradeState;
  const std::string name(kCordonedByAnnotation);
  for (const auto& [names, lifts, broken] : std::vector<std::tuple<std::string, bool, std::string>>{
           {"", false, ""}, {"", true, "I3"}, {"nvidia.com/gpu", false, "I3"}, {"nvidia.com/gpu", true, ""}}) {
    INFO(names << " " << lifts);
    World world;
    world.Put(0, "upgrade-failed", [&](Node& node) {
      node.unschedulable = true;
      node.annotations[Gpu().InitiallyUnschedulableAnnotation()] = "true";
      if (!names.empty()) node.annotations[name] = names;
    });
    PatchNodeParams params{
        .annotations = {{name, std::nullopt}, {Gpu().InitiallyUnschedulableAnnotation(), std::nullopt}}};
    if (lifts) params.unschedulable = false;
    world.Move(0, kFailed,
               {kUpgradeRequired, kCordonRequired, kWaitForJobsRequired, kDrainRequired, kPodRestartRequired,
                kUncordonRequired, kDone},
               params);
    CHECK(world.Broken() == broken);
  }
}

TEST_CASE("I3: a broken-off upgrade leaves the cordon to a driver without a name that made it") {
  const std::string ofed = "nvidia.com/ofed-driver-upgrade";
  for (const auto& [found, lifts, broken] : std::vector<std::tuple<bool, bool, std::string>>{
           {false, false, ""}, {false, true, "I3"}, {true, false, "I3"}, {true, true, ""}}) {
    INFO(found << " " << lifts);
    World world;
    PutCordoned(world, 0, "nvidia.com/gpu");
    REQUIRE(world.cluster->EditNode(world.NodeName(0), [&](Node& node) {
      node.labels.erase(Gpu().StateLabel());
      node.labels[ofed + "-state"] = "uncordon-required";
      if (found) node.annotations[ofed + ".node-initial-state.unschedulable"] = "true";
    }));
    PatchNodeParams params{.annotations = {{std::string(kCordonedByAnnotation), std::nullopt}}};
    if (lifts) params.unschedulable = false;
    world.Move(0, UpgradeState::kUnknown, {UpgradeState::kDone}, params);
    CHECK(world.Broken() == broken);
  }
}

TEST_CASE("I3: a cordon on a node that still says that another upgrade made one is anybody's") {
  for (const bool live : {false, true}) {
    World world;
    const auto set_ofed = [&](const char* state) {
      REQUIRE(world.cluster->EditNode(
          world.NodeName(0), [&](Node& node) { node.labels["nvidia.com/ofed-driver-upgrade-state"] = state; }));
    };
    const std::string name(kCordonedByAnnotation);
    world.Patch(0, {.annotations = {{name, "nvidia.com/ofed"}}});
    set_ofed(live ? "cordon-required" : "upgrade-done");
    world.cluster->Cordon(world.NodeName(0));
    world.Move(0, UpgradeState::kUnknown, {UpgradeState::kUpgradeRequired, UpgradeState::kCordonRequired},
               {.annotations = {{name, "nvidia.com/gpu,nvidia.com/ofed"}}});
    set_ofed("upgrade-done");
    world.Patch(0, {.annotations = {{name, std::nullopt}}, .unschedulable = false});
    INFO(world.checker->Report());
    CHECK(world.Broken() == (live ? "" : "I3"));
  }
}

// Its cordon leaves no trace on the node but what the driver wrote that asked for it.
TEST_CASE(
    "I3: a cordon of the maintenance operator on a node that a driver is about to cordon is told by who asked for it") {
  for (const bool asked : {false, true}) {
    World world;
    const std::string ofed = "nvidia.com/ofed-driver-upgrade";
    const std::string node = world.NodeName(0);
    world.Move(0, UpgradeState::kUnknown, {UpgradeState::kUpgradeRequired, UpgradeState::kCordonRequired});
    REQUIRE(world.cluster->EditNode(node, [&](Node& edited) {
      if (!asked) return;
      edited.labels[ofed + "-state"] = "node-maintenance-required";
      edited.annotations[ofed + "-requestor-mode"] = "true";
    }));
    world.cluster->RunMaintenanceOperator();
    world.cluster->AddNodeMaintenance({.ns = "default", .name = "a", .requestor_id = "another", .node_name = node});
    world.cluster->Advance(absl::Minutes(1));
    REQUIRE(world.NodeAt(0).unschedulable);
    world.Move(0, UpgradeState::kCordonRequired, {UpgradeState::kWaitForJobsRequired, UpgradeState::kDrainRequired},
               {.annotations = {{std::string(kCordonedByAnnotation), "nvidia.com/gpu"}}});
    if (asked)
      REQUIRE(world.cluster->EditNode(node, [&](Node& edited) {
        edited.labels[ofed + "-state"] = "upgrade-done";
        edited.annotations.erase(ofed + "-requestor-mode");
      }));
    world.Patch(0, {.annotations = {{std::string(kCordonedByAnnotation), std::nullopt}}, .unschedulable = false});
    INFO(world.checker->Report());
    CHECK(world.Broken() == (asked ? "I3" : ""));
  }
}

// Who takes its object away takes the cordon from it: it would never lift it.
TEST_CASE("I3: a cordon of the maintenance operator whose object somebody has taken away is nobody's") {
  enum class Objects { kStands, kIsTaken, kOneOfTwoIsTaken };
  for (const Objects objects : {Objects::kStands, Objects::kIsTaken, Objects::kOneOfTwoIsTaken}) {
    World world;
    const std::string ofed = "nvidia.com/ofed-driver-upgrade";
    const std::string node = world.NodeName(0);
    world.Move(0, UpgradeState::kUnknown, {UpgradeState::kUpgradeRequired, UpgradeState::kCordonRequired});
    REQUIRE(world.cluster->EditNode(node, [&](Node& edited) {
      edited.labels[ofed + "-state"] = "node-maintenance-required";
      edited.annotations[ofed + "-requestor-mode"] = "true";
    }));
    world.cluster->RunMaintenanceOperator();
    for (const char* name : {"a", "b"}) {
      if (*name == 'b' && objects != Objects::kOneOfTwoIsTaken) continue;
      world.cluster->AddNodeMaintenance({.ns = "default", .name = name, .requestor_id = "another", .node_name = node});
    }
    world.cluster->Advance(absl::Minutes(1));
    REQUIRE(world.NodeAt(0).unschedulable);
    world.Move(0, UpgradeState::kCordonRequired, {UpgradeState::kWaitForJobsRequired, UpgradeState::kDrainRequired},
               {.annotations = {{std::string(kCordonedByAnnotation), "nvidia.com/gpu"}}});
    if (objects != Objects::kStands) world.cluster->RemoveNodeMaintenance("default", "a");
    REQUIRE(world.cluster->EditNode(node, [&](Node& edited) {
      edited.labels[ofed + "-state"] = "upgrade-done";
      edited.annotations.erase(ofed + "-requestor-mode");
    }));
    world.Patch(0, {.annotations = {{std::string(kCordonedByAnnotation), std::nullopt}}, .unschedulable = false});
    INFO(world.checker->Report());
    CHECK(world.Broken() == (objects == Objects::kIsTaken ? "" : "I3"));
  }
}

TEST_CASE("I3: dep-F8: in requestor mode a cordon of ours without our name is left to a driver that will lift it") {
  const std::string ofed = "nvidia.com/ofed-driver-upgrade";
  for (const auto& [names, found, broken] : std::vector<std::tuple<std::string, bool, std::string>>{
           {"", false, ""}, {"", true, "I3"}, {"nvidia.com/gpu", false, "I3"}}) {
    INFO(names << " " << found);
    World world;
    world.Start(0);
    REQUIRE(world.cluster->EditNode(world.NodeName(0), [&](Node& node) {
      node.annotations[Gpu().RequestorModeAnnotation()] = "true";
      node.labels[ofed + "-state"] = "uncordon-required";
      if (found) node.annotations[ofed + ".node-initial-state.unschedulable"] = "true";
    }));
    if (!names.empty()) world.Patch(0, {.annotations = {{std::string(kCordonedByAnnotation), names}}});
    world.Move(0, UpgradeState::kDrainRequired,
               {UpgradeState::kPodRestartRequired, UpgradeState::kUncordonRequired, UpgradeState::kDone},
               {.annotations = {{std::string(kCordonedByAnnotation), std::nullopt},
                                {Gpu().RequestorModeAnnotation(), std::nullopt}}});
    INFO(world.checker->Report());
    CHECK(world.Broken() == broken);
  }
}

TEST_CASE("I3: an upgrade ends, and its cordon stays") {
  World world;
  world.Start(0);
  world.Move(0, UpgradeState::kDrainRequired,
             {UpgradeState::kPodRestartRequired, UpgradeState::kUncordonRequired, UpgradeState::kDone});
  CHECK(world.Broken() == "I3");
}

TEST_CASE("I3: in requestor mode a note that somebody wrote decides, also once somebody has erased the state") {
  for (const bool noted : {false, true}) {
    World world;
    REQUIRE(world.cluster->EditNode(world.NodeName(0), [&](Node& node) {
      node.unschedulable = true;
      node.annotations[std::string(kCordonedByAnnotation)] = Gpu().Name();
      node.annotations[Gpu().RequestorModeAnnotation()] = "true";
      if (noted) node.annotations[Gpu().InitiallyUnschedulableAnnotation()] = "mistyped";
    }));
    world.Move(0, UpgradeState::kUnknown, {UpgradeState::kDone},
               {.annotations = {{std::string(kCordonedByAnnotation), std::nullopt},
                                {Gpu().RequestorModeAnnotation(), std::nullopt},
                                {Gpu().InitiallyUnschedulableAnnotation(), std::nullopt}}});
    CHECK(world.Broken() == (noted ? "" : "I3"));
  }
}

TEST_CASE("I4: a pod is evicted that the policy leaves alone") {
  World world({.auto_upgrade = true});
  world.Start(0);
  REQUIRE(world.guarded->EvictPod({}, {.pod = world.WebPodOn(0)}).ok());
  CHECK(world.Broken() == "I4");
}

TEST_CASE("I4: a workload pod is deleted, not evicted") {
  World world;
  world.Start(0);
  REQUIRE(world.guarded->DeletePod({}, {.pod = world.WebPodOn(0)}).ok());
  CHECK(world.Broken() == "I4");
}

// In the state for evictions since `began`, and read so.
void PutDraining(World& world, std::size_t i, absl::Time began) {
  world.Put(i, "drain-required", [&](Node& node) {
    node.unschedulable = true;
    node.annotations[Gpu().StageAnnotation()] = "drain-required@" + std::to_string(absl::ToUnixSeconds(began)) + "@rev";
  });
  REQUIRE(world.guarded->ListNodes({}, {}).ok());
}

TEST_CASE("I4: a pod is evicted from a node that was not read cordoned, nor answered so") {
  for (const bool read : {false, true}) {
    World world;
    REQUIRE(world.guarded->ListNodes({}, {}).ok());
    world.Put(0, "drain-required", [](Node& node) { node.unschedulable = true; });
    if (read) REQUIRE(world.guarded->ListNodes({}, {}).ok());
    REQUIRE(world.guarded->EvictPod({}, {.pod = world.WebPodOn(0)}).ok());
    CHECK(world.Broken() == (read ? "" : "I4"));
  }
  World answered;
  answered.StartUnread(0);
  REQUIRE(answered.guarded->EvictPod({}, {.pod = answered.WebPodOn(0)}).ok());
  CHECK(answered.Broken() == "");
}

TEST_CASE("I4: who has lost the answer to his patch goes by what he knew before") {
  for (const bool lost : {false, true}) {
    World world;
    PutDraining(world, 0, world.clock->Now());
    REQUIRE(world.guarded->ListNodes({}, {}).ok());
    const testing::Writer before = world.guarded->writer();
    world.Move(0, UpgradeState::kDrainRequired, {UpgradeState::kFailed});
    if (lost) world.guarded->NoteAnswerLost(world.NodeName(0), before);
    REQUIRE(world.guarded->EvictPod({}, {.pod = world.WebPodOn(0)}).ok());
    CHECK(world.Broken() == (lost ? "" : "I4"));
  }
}

// It wants nothing of what it is given.
class DeafSink final : public WatchSink<Node> {
 public:
  bool OnList(std::vector<Node>, std::string_view) override { return false; }
  bool OnChange(Node, std::string_view) override { return false; }
  bool OnDelete(Node, std::string_view) override { return false; }
  bool OnBookmark(std::string_view) override { return false; }
};

TEST_CASE("I4: who follows nodes goes by his watch, and by a list once he gives back") {
  for (const auto& [follows, releases, broken] : std::vector<std::tuple<bool, bool, std::string>>{
           {false, false, "I4"}, {true, false, ""}, {true, true, "I4"}}) {
    INFO(follows << " " << releases);
    World world;
    PutDraining(world, 0, world.clock->Now());
    if (follows) {
      DeafSink sink;
      REQUIRE(world.guarded->WatchNodes({}, {}, sink).ok());
    }
    if (releases) world.guarded->BeginRelease();
    world.Put(0, "upgrade-done", [](Node& node) { node.unschedulable = false; });
    REQUIRE(world.guarded->ListNodes({}, {}).ok());
    REQUIRE(world.guarded->EvictPod({}, {.pod = world.WebPodOn(0)}).ok());
    CHECK(world.Broken() == broken);
  }
}

TEST_CASE("I4: who is given an old list of nodes goes by it") {
  for (const bool old : {false, true}) {
    World world;
    PutDraining(world, 0, world.clock->Now());
    const std::int64_t revision = world.cluster->revision();
    world.Put(0, "upgrade-done", [](Node& node) { node.unschedulable = false; });
    REQUIRE(world.guarded->ListNodes({}, {}).ok());
    if (old) world.guarded->NoteOldNodes(revision);
    REQUIRE(world.guarded->EvictPod({}, {.pod = world.WebPodOn(0)}).ok());
    CHECK(world.Broken() == (old ? "" : "I4"));
  }
}

TEST_CASE("I4: a pod is evicted in a state in which nothing goes") {
  for (const auto& [state, broken] : std::map<std::string, std::string>{{"drain-required", ""},
                                                                        {"pod-deletion-required", ""},
                                                                        {"pod-restart-required", ""},
                                                                        {"validation-required", ""},
                                                                        {"upgrade-required", "I4"},
                                                                        {"cordon-required", "I4"},
                                                                        {"wait-for-jobs-required", "I4"},
                                                                        {"uncordon-required", "I4"},
                                                                        {"upgrade-failed", "I4"},
                                                                        {"upgrade-done", "I4"}}) {
    INFO(state);
    World world;
    world.Put(0, state, [](Node& node) { node.unschedulable = true; });
    REQUIRE(world.guarded->ListNodes({}, {}).ok());
    // A person puts it elsewhere: who evicts has not read that.
    if (broken.empty()) world.Put(0, "upgrade-required");
    REQUIRE(world.guarded->EvictPod({}, {.pod = world.WebPodOn(0)}).ok());
    CHECK(world.Broken() == broken);
  }
}

TEST_CASE("I4: a pod is deleted before the time for its eviction is over") {
  for (const absl::Duration passed : {absl::Seconds(299), absl::Seconds(300)}) {
    World world(
        {.auto_upgrade = true, .drain = DrainPolicy{.timeout = absl::Minutes(5), .on_timeout = OnTimeout::kDelete}});
    PutDraining(world, 0, world.clock->Now());
    world.clock->Advance(passed);
    REQUIRE(world.guarded->DeletePod({}, {.pod = world.WebPodOn(0)}).ok());
    CHECK(world.Broken() == (passed < absl::Minutes(5) ? "I4" : ""));
  }
}

TEST_CASE("I4: a node goes on while a job is at work that is to be waited for") {
  for (const absl::Duration passed : {absl::Seconds(299), absl::Seconds(300)}) {
    World world({.auto_upgrade = true,
                 .wait_for_completion =
                     WaitForCompletionPolicy{.pod_selector = LabelSelector::FromMatchLabels({{"app", "web"}}),
                                             .timeout = absl::Minutes(5)},
                 .drain = DrainPolicy{}});
    world.Put(0, "wait-for-jobs-required", [&](Node& node) {
      node.unschedulable = true;
      node.annotations[Gpu().StageAnnotation()] =
          "wait-for-jobs-required@" + std::to_string(absl::ToUnixSeconds(world.clock->Now())) + "@rev";
    });
    world.clock->Advance(passed);
    world.Move(0, UpgradeState::kWaitForJobsRequired,
               {UpgradeState::kPodDeletionRequired, UpgradeState::kDrainRequired});
    CHECK(world.Broken() == (passed < absl::Minutes(5) ? "I4" : ""));
  }
}

TEST_CASE("I4: a pod is evicted whatever incarnation it is") {
  World world;
  PodRef pod = world.WebPodOn(0);
  pod.uid.clear();
  CHECK_FALSE(world.guarded->EvictPod({}, {.pod = pod}).ok());
  CHECK(world.Broken() == "I4");
}

TEST_CASE("I5: a write without a precondition") {
  World world;
  CHECK_FALSE(world.guarded->PatchNode({}, {.name = world.NodeName(0), .uid = world.NodeAt(0).uid}).ok());
  CHECK(world.Broken() == "I5");
  World other;
  CHECK_FALSE(other.guarded->UpdateLease({}, {.ns = "a", .name = "b"}).ok());
  CHECK(other.Broken() == "I5");
}

TEST_CASE("I6: something foreign is changed") {
  World labels;
  labels.Patch(0, {.labels = {{"zone", "b"}}});
  CHECK(labels.Broken() == "I6");
  World annotations;
  annotations.Patch(0, {.annotations = {{Gpu().SafeLoadAnnotation(), "true"}}});
  CHECK(annotations.Broken() == "I6");
}

TEST_CASE("I7: a path that is none") {
  World world;
  world.Move(0, UpgradeState::kUnknown, {UpgradeState::kDrainRequired});
  CHECK(world.Broken() == "I7");
  World unannounced;
  unannounced.Patch(0, {.labels = {{Gpu().StateLabel(), "upgrade-done"}}});
  CHECK(unannounced.Broken() == "I7");
}

TEST_CASE("I7: with EveryState one of the plans for a version has to be of one state") {
  for (const bool explained : {false, true}) {
    World world({.auto_upgrade = true, .max_parallel = 1, .drain = DrainPolicy{}, .pacing = Pacing::kEveryState});
    world.cluster->EditNode(world.NodeName(0), [](Node& node) {
      node.labels[Gpu().StateLabel()] = "wait-for-jobs-required";
      node.unschedulable = true;
    });
    // As under another policy, a moment ago.
    world.Announce(0, UpgradeState::kWaitForJobsRequired,
                   {UpgradeState::kPodDeletionRequired, UpgradeState::kDrainRequired});
    if (explained) world.Announce(0, UpgradeState::kWaitForJobsRequired, {UpgradeState::kDrainRequired});
    world.Patch(0, {.labels = {{Gpu().StateLabel(), "drain-required"}}});
    CHECK(world.Broken() == (explained ? "" : "I7"));
  }
}

TEST_CASE("I7: only Release takes a node back to no label") {
  for (const bool released : {false, true}) {
    World world;
    world.Start(0);
    if (released) world.guarded->BeginRelease();
    world.Announce(0, UpgradeState::kDrainRequired, {UpgradeState::kUnknown});
    world.Patch(0, {.labels = {{Gpu().StateLabel(), std::nullopt}}, .unschedulable = false});
    CHECK(world.Broken() == (released ? "" : "I7"));
  }
}

TEST_CASE("I8: skipped, paused and frozen nodes are started, and some beyond the limit of failures") {
  World skipped;
  skipped.cluster->EditNode(skipped.NodeName(0), [](Node& node) { node.labels[Gpu().SkipUpgradeLabel()] = "true"; });
  skipped.Start(0);
  CHECK(skipped.Broken() == "I8");
  World paused({.auto_upgrade = true, .paused = true});
  paused.Start(0);
  CHECK(paused.Broken() == "I8");
  const UpgradePolicy half_may_fail{
      .auto_upgrade = true, .max_parallel = 4, .failure_policy = FailurePolicy{.max_failures = Percent{50}}};
  World halted(half_may_fail);
  halted.Put(0, "upgrade-failed");
  halted.Ask(2);
  halted.StartUnread(2);
  CHECK(halted.checker->Report().empty());
  // One that had been asked for before the second node failed.
  halted.Ask(3);
  halted.Put(1, "upgrade-failed");
  halted.StartUnread(3);
  CHECK(halted.checker->Report().empty());
  World unheeded(half_may_fail);
  unheeded.Put(0, "upgrade-failed");
  unheeded.Put(1, "upgrade-failed");
  unheeded.Ask(2);
  unheeded.StartUnread(2);
  CHECK(unheeded.Broken() == "I8");
  World frozen({.auto_upgrade = false});
  frozen.Patch(0, {.unschedulable = true});
  CHECK(frozen.Broken() == "I8");
}

TEST_CASE("I10: a timer that is older than its node") {
  World world;
  world.clock->Advance(absl::Hours(1));
  world.cluster->AddNode(testing::NodeBuilder(world.NodeName(0)).Build());
  const std::int64_t began = absl::ToUnixSeconds(FakeClock::DefaultStart());
  world.Patch(0, {.annotations = {{Gpu().StageAnnotation(), "drain-required@" + std::to_string(began) + "@rev-1"}}});
  CHECK(world.Broken() == "I10");
}

TEST_CASE("I13: one pod is asked to go again and again") {
  World world;
  world.Start(0);
  const PodRef pod = world.WebPodOn(0);
  REQUIRE(world.guarded->EvictPod({}, {.pod = pod}).ok());
  CHECK(world.Broken() == "");
  REQUIRE(world.guarded->EvictPod({}, {.pod = pod}).ok());
  CHECK(world.Broken() == "I13");
}

TEST_CASE("I9: a replica writes when its lease is over") {
  World world;
  world.checker->CheckLease("replica", absl::Seconds(10), absl::Seconds(10));
  CHECK(world.Broken() == "");
  world.checker->CheckLease("replica", absl::Seconds(11), absl::Seconds(10));
  CHECK(world.Broken() == "I9");
}

TEST_CASE("I11: a log line that is two, or moves the cursor") {
  for (const char* line : {"level=info\nlevel=error", "node=\x1b[2J", "node=\x7f"}) {
    World world;
    world.checker->CheckLogLine("level=info node=\xc3\xa9");
    CHECK(world.Broken() == "");
    world.checker->CheckLogLine(line);
    CHECK(world.Broken() == "I11");
  }
}

TEST_CASE("I12: writes where nothing is to be done") {
  World world;
  world.checker->CheckRest(7, 7);
  CHECK(world.Broken() == "");
  world.checker->CheckRest(7, 8);
  CHECK(world.Broken() == "I12");
}

TEST_CASE("I13: an upgrade that takes too many writes, three times as many with faults") {
  enum class Faults { kNone, kAllTheTime, kOne, kOneLongAgo };
  for (const Faults faults : {Faults::kNone, Faults::kAllTheTime, Faults::kOne, Faults::kOneLongAgo}) {
    World world;
    world.checker->set_disturbed(faults == Faults::kAllTheTime);
    if (faults == Faults::kOne || faults == Faults::kOneLongAgo) world.checker->NoteFault();
    if (faults == Faults::kOneLongAgo) world.clock->Advance(absl::Seconds(61));
    world.Start(0);
    // What others do to the node may be answered.
    world.cluster->EditNode(world.NodeName(0), [](Node& node) { node.labels["rack"] = "7"; });
    int writes = 1;
    for (; world.Broken().empty() && writes < 100; ++writes) {
      world.Patch(0, {.annotations = {{Gpu().StageAnnotation(), "drain-required@" + std::to_string(writes)}}});
    }
    CHECK(world.Broken() == "I13");
    CHECK(writes == (faults == Faults::kAllTheTime || faults == Faults::kOne ? 36 : 12) + 2);
  }
}

TEST_CASE("I13: a failed node that a person puts back begins another try") {
  World world;
  world.Start(0);
  int stamp = 0;
  const auto write = [&] {
    world.Patch(0, {.annotations = {{Gpu().StageAnnotation(), "drain-required@" + std::to_string(++stamp)}}});
  };
  for (int i = 0; i < 11; ++i) write();
  for (const UpgradeState state : {UpgradeState::kFailed, UpgradeState::kUpgradeRequired}) {
    world.cluster->EditNode(world.NodeName(0),
                            [&](Node& node) { node.labels[Gpu().StateLabel()] = std::string(ToLabelValue(state)); });
  }
  for (int i = 0; i < 12; ++i) write();
  CHECK(world.Broken() == "");
  write();
  CHECK(world.Broken() == "I13");
}

TEST_CASE("I13: a pod that goes, and an eviction that is refused, cost nothing") {
  World world;
  world.Start(0);
  const PodRef pod = world.WebPodOn(0);
  world.cluster->AnswerNextEviction({.refusal = Refusal::kDisruptionBudget}, 20);
  for (int i = 0; i < 20; ++i) {
    REQUIRE(world.guarded->EvictPod({}, {.pod = pod}).ok());
    world.clock->Advance(absl::Seconds(5));
  }
  CHECK(world.Broken() == "");
}

TEST_CASE("I13: however many pods a drain has to delete, each is one request more, once") {
  World world({.auto_upgrade = true, .drain = DrainPolicy{.force = true, .on_timeout = OnTimeout::kDelete}});
  PutDraining(world, 0, absl::UnixEpoch());
  const auto add_and_delete = [&](int i) {
    const Pod pod =
        world.cluster->AddPod(PodBuilder("team-a", "job-" + std::to_string(i)).OnNode(world.NodeName(0)).Build());
    REQUIRE(world.guarded->DeletePod({}, {.pod = pod.ref}).ok());
    return pod;
  };
  Pod last;
  for (int i = 0; i < 40; ++i) last = add_and_delete(i);
  CHECK(world.Broken() == "");
  for (int i = 0; i < 20; ++i) REQUIRE(world.guarded->DeletePod({}, {.pod = last.ref}).ok());
  CHECK(world.Broken() == "I13");
}

TEST_CASE("L1: ninety minutes, and ten for each round and two more") {
  testing::internal::World world(1, {.nodes = 8});
  world.policy.max_parallel = 2;
  world.policy.max_unavailable.reset();
  CHECK(testing::internal::TimeToConverge(world, world.policy) == absl::Minutes(90 + 60));
}

TEST_CASE("L4: the others wait for one bad node") {
  World world;
  const absl::Duration limit = InvariantChecker::MayTakeBesideBadNode(absl::Minutes(10));
  world.checker->CheckDelay(absl::Minutes(10), limit);
  CHECK(world.Broken() == "");
  world.checker->CheckDelay(absl::Minutes(10), limit + absl::Seconds(10));
  CHECK(world.Broken() == "L4");
}

Plan Waiting(const std::string& node, std::vector<GateReason> reasons) {
  Plan plan;
  for (const GateReason reason : reasons) plan.gates.push_back({.node = node, .gate = {.reason = reason}});
  return plan;
}

TEST_CASE("L5: no reason, two of them, and one that is not true") {
  World none;
  none.Start(0);
  none.checker->CheckGates(*none.guarded, {});
  CHECK(none.Broken() == "L5");
  World two;
  two.Start(0);
  two.cluster->SetPodReady(two.fleet.ns, two.DriverPodOn(0).ref.name, false);
  two.checker->CheckGates(*two.guarded,
                          Waiting(two.NodeName(0), {GateReason::kDriverPodNotReady, GateReason::kUnsettled}));
  CHECK(two.Broken() == "L5");
}

TEST_CASE("L5: a reason is compared with the cluster") {
  for (const GateReason reason : {GateReason::kMaxParallel,
                                  GateReason::kMaxUnavailable,
                                  GateReason::kMaxFailures,
                                  GateReason::kPaused,
                                  GateReason::kSkipLabel,
                                  GateReason::kCordoned,
                                  GateReason::kFrozen,
                                  GateReason::kOtherDriver,
                                  GateReason::kUnsettled,
                                  GateReason::kUnknownState,
                                  GateReason::kUnreadable,
                                  GateReason::kUnhandledState,
                                  GateReason::kRevisionUnknown,
                                  GateReason::kMaintenance,
                                  GateReason::kJobs,
                                  GateReason::kPodsTerminating,
                                  GateReason::kDisruptionBudget,
                                  GateReason::kSeveralBudgets,
                                  GateReason::kUndeletablePods,
                                  GateReason::kHook,
                                  GateReason::kDriverPodMissing,
                                  GateReason::kDriverPodNotReady,
                                  GateReason::kSafeLoad,
                                  GateReason::kFailed}) {
    INFO(ToString(reason));
    World world({.auto_upgrade = true, .max_parallel = 3, .drain = DrainPolicy{}});
    world.Start(0);
    world.checker->CheckGates(*world.guarded, Waiting(world.NodeName(0), {reason}));
    CHECK(world.Broken() == "L5");
  }
}

TEST_CASE("L5: reasons that are true") {
  World world;
  world.Start(0);
  world.cluster->SetPodReady(world.fleet.ns, world.DriverPodOn(0).ref.name, false);
  world.cluster->EditNode(world.NodeName(1), [](Node& node) { node.labels[Gpu().SkipUpgradeLabel()] = "true"; });
  Plan plan = Waiting(world.NodeName(0), {GateReason::kDriverPodNotReady});
  plan.gates.push_back({.node = world.NodeName(1), .gate = {.reason = GateReason::kSkipLabel}});
  plan.gates.push_back({.node = world.NodeName(2), .gate = {.reason = GateReason::kMaxParallel}});
  world.checker->CheckGates(*world.guarded, plan);
  CHECK(world.checker->Report() == "");
}

TEST_CASE("L5: a node that is under way and holds a grant is one") {
  for (const int max_parallel : {1, 2}) {
    World world({.auto_upgrade = true, .max_parallel = max_parallel, .drain = DrainPolicy{}});
    world.Start(0);
    const Node node = world.NodeAt(0);
    REQUIRE(world.guarded
                ->CreateConfigMap({}, {.ns = world.fleet.ns,
                                       .name = "ledger",
                                       .data = {{"grants", node.uid + " " + node.resource_version}}})
                .ok());
    world.cluster->SetPodReady(world.fleet.ns, world.DriverPodOn(0).ref.name, false);
    Plan plan = Waiting(world.NodeName(0), {GateReason::kDriverPodNotReady});
    plan.gates.push_back({.node = world.NodeName(1), .gate = {.reason = GateReason::kMaxParallel}});
    world.checker->CheckGates(*world.guarded, plan);
    CHECK(world.Broken() == (max_parallel == 1 ? "" : "L5"));
  }
}

TEST_CASE("L5: our own cordon is none that an administrator has to lift") {
  for (const bool ours : {false, true}) {
    World world({.auto_upgrade = true, .drain = DrainPolicy{}, .cordoned_nodes = CordonedNodes::kIgnore});
    if (ours) {
      world.Start(0);
    } else {
      world.Put(0, "upgrade-required", [](Node& node) { node.unschedulable = true; });
    }
    world.checker->CheckGates(*world.guarded, Waiting(world.NodeName(0), {GateReason::kCordoned}));
    CHECK(world.Broken() == (ours ? "L5" : ""));
  }
}

TEST_CASE("L6: totals that are not those of the cluster") {
  World world;
  world.Start(0);
  world.checker->CheckTotals({.total = 4, .in_progress = 1});
  CHECK(world.checker->Report() == "");
  world.checker->CheckTotals({.total = 4, .in_progress = 1, .done = 1});
  CHECK(world.Broken() == "L6");
}

TEST_CASE("L5: a driver pod that is bound to no node is one unavailable node, if the policy counts it") {
  for (const bool counts : {true, false}) {
    World world({.auto_upgrade = true,
                 .max_unavailable = Count{2},
                 .drain = DrainPolicy{},
                 .on_unscheduled_pods = counts ? OnUnscheduledPods::kCountUnavailable : OnUnscheduledPods::kIgnore});
    world.Start(0);
    world.Move(1, UpgradeState::kUnknown, {UpgradeState::kUpgradeRequired});
    world.cluster->AddWorkload(
        {.ns = world.fleet.ns, .name = world.fleet.daemon_set, .node_selector = {{"zone", "nowhere"}}});
    Plan plan = Waiting(world.NodeName(1), {GateReason::kMaxUnavailable});
    plan.gates.push_back({.node = world.NodeName(0), .gate = {.reason = GateReason::kDriverPodNotReady}});
    plan.totals.total = 4;
    world.cluster->SetPodReady(world.fleet.ns, world.DriverPodOn(0).ref.name, false);
    world.checker->CheckGates(*world.guarded, plan);
    INFO(world.checker->Report());
    CHECK(world.Broken() == (counts ? "" : "L5"));
  }
}

}  // namespace
}  // namespace driverupgrade::tests
