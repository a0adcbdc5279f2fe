// Tests I3: which client owns a cordon, and which client may lift the cordon. The tests break I3 on purpose.
#include "driverupgrade/testing/invariants.h"

#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "driverupgrade/testing/fake_cluster.h"
#include "simulation/invariants/world.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

TEST_CASE("I3: an administrator's cordon is lifted") {
  World world;
  world.cluster->Cordon(world.NodeName(0));
  world.Patch(0, {.unschedulable = false});
  CHECK(world.Broken() == "I3");
}

// Cordons one of our nodes, sets its state to uncordon-required, and stores `names` as its cordon set.
void PutCordoned(World& world, std::size_t i, const std::string& names) {
  world.Put(i, "uncordon-required", [&](Node& node) {
    node.unschedulable = true;
    node.annotations[std::string(kCordonedByAnnotation)] = names;
  });
}

TEST_CASE("I3: a cordon that another driver relies on is lifted, whichever client wrote our marks") {
  const std::string ofed = "nvidia.com/ofed-driver-upgrade-state";
  for (const auto& [names, label, state, broken] :
       std::vector<std::tuple<std::string, std::string, std::string, std::string>>{
           {"nvidia.com/gpu", ofed, "drain-required", "I3"},  // OFED is in progress, but not in the cordon set
           {"nvidia.com/gpu", ofed, "upgrade-failed", "I3"},
           {"nvidia.com/gpu", ofed, "cordon-required", ""},
           {"nvidia.com/gpu", ofed, "uncordon-required", ""},
           {"nvidia.com/gpu", ofed, "node-maintenance-required", ""},            // no maintenance requested yet
           {"nvidia.com/gpu,nvidia.com/ofed", ofed, "uncordon-required", "I3"},  // OFED's name still counts
           {"nvidia.com/gpu,nvidia.com/ofed", ofed, "upgrade-done", ""},
           {"nvidia.com/gpu,nvidia.com/ofed", "rack", "7", ""}}) {
    INFO(names << " " << state);
    World world;
    PutCordoned(world, 0, names);
    REQUIRE(world.cluster->EditNode(world.NodeName(0), [&label = label, &state = state](Node& node) { node.labels[label] = state; }));
    world.Move(0, UpgradeState::kUncordonRequired, {UpgradeState::kDone},
               {.annotations = {{std::string(kCordonedByAnnotation), std::nullopt}}, .unschedulable = false});
    CHECK(world.Broken() == broken);
  }
}

TEST_CASE("I3: the content of the node decides, even if another client has edited our marks") {
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

TEST_CASE("I3: dep-F7: a failed node that recovers keeps a cordon that is marked as an administrator's") {
  World world;
  world.Put(0, "upgrade-failed", [&](Node& node) {
    node.unschedulable = true;
    node.annotations[std::string(kCordonedByAnnotation)] = "nvidia.com/gpu";
    node.annotations[Gpu().InitiallyUnschedulableAnnotation()] = "true";
  });
  world.Move(0, UpgradeState::kFailed, {UpgradeState::kDone},
             {.annotations = {{std::string(kCordonedByAnnotation), std::nullopt},
                              {Gpu().InitiallyUnschedulableAnnotation(), std::nullopt}},
              .unschedulable = false});
  CHECK(world.Broken() == "I3");
}

TEST_CASE("I3: dep-F7: a failed node that starts and ends in one patch keeps an administrator's cordon") {
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

TEST_CASE("I3: an upgrade that starts does not lift the cordon of a driver that set it without a name") {
  const std::string ofed = "nvidia.com/ofed-driver-upgrade";
  for (const auto& [found, lifts, broken] : std::vector<std::tuple<bool, bool, std::string>>{
           {false, false, ""}, {false, true, "I3"}, {true, false, "I3"}, {true, true, ""}}) {
    INFO(found << " " << lifts);
    World world;
    PutCordoned(world, 0, "nvidia.com/gpu");
    REQUIRE(world.cluster->EditNode(world.NodeName(0), [&](Node& node) {
      node.labels[Gpu().StateLabel()] = "upgrade-required";
      node.labels[ofed + "-state"] = "uncordon-required";
      if (found) node.annotations[ofed + ".node-initial-state.unschedulable"] = "true";
    }));
    PatchNodeParams params{.annotations = {{std::string(kCordonedByAnnotation), std::nullopt}}};
    if (lifts) params.unschedulable = false;
    using enum UpgradeState;
    world.Move(0, kUpgradeRequired,
               {kCordonRequired, kWaitForJobsRequired, kDrainRequired, kPodRestartRequired, kUncordonRequired, kDone},
               params);
    CHECK(world.Broken() == broken);
  }
}

TEST_CASE("I3: a cordon that is set while the node has the mark of another upgrade may belong to any client") {
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

// Only the requesting driver's label and annotation show which driver requested the cordon.
TEST_CASE(
    "I3: a cordon of the maintenance operator on a node about to be cordoned belongs to the driver that requested it") {
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

// If a client deletes a NodeMaintenance, the maintenance operator never lifts the cordon, so the cordon has no owner.
TEST_CASE("I3: if another client deletes the NodeMaintenance, the cordon of the maintenance operator has no owner") {
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

TEST_CASE("I3: dep-F8: in requestor mode, if our cordon does not carry our name, another driver lifts it") {
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

TEST_CASE("I3: an upgrade finishes, but its cordon stays") {
  World world;
  world.Start(0);
  world.Move(0, UpgradeState::kDrainRequired,
             {UpgradeState::kPodRestartRequired, UpgradeState::kUncordonRequired, UpgradeState::kDone});
  CHECK(world.Broken() == "I3");
}

TEST_CASE("I3: in requestor mode an initial cordon that another client recorded counts, even if the state was erased") {
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

}  // namespace
}  // namespace driverupgrade::tests
