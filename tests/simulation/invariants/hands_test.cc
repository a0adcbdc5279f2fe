// Tests I19, the limit on nodes that engines are processing. The tests break I19 on purpose, with requests that our
// engine would never send.
#include "driverupgrade/testing/invariants.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "driverupgrade/testing/fake_cluster.h"
#include "simulation/invariants/world.h"
#include "support/catch.h"
#include "support/node_under_test.h"

namespace driverupgrade::tests {
namespace {

const std::string kNames(kCordonedByAnnotation);

// Starts the node and adds our name to its cordon set.
void StartMarked(World& world, std::size_t i) {
  world.Move(i, UpgradeState::kUnknown,
             {UpgradeState::kUpgradeRequired, UpgradeState::kCordonRequired, UpgradeState::kWaitForJobsRequired,
              UpgradeState::kDrainRequired, UpgradeState::kPodRestartRequired},
             {.annotations = {{kNames, "nvidia.com/gpu"}}, .unschedulable = true});
}

void RemoveLabel(World& world, std::size_t i) {
  REQUIRE(world.cluster->EditNode(world.NodeName(i), [](Node& node) { node.labels.erase(Gpu().StateLabel()); }));
}

// Ends the node's upgrade after the label was removed. The engine treats a node without a label as done.
void EndWithoutLabel(World& world, std::size_t i) {
  world.Move(i, UpgradeState::kUnknown, {UpgradeState::kDone},
             {.annotations = {{kNames, std::nullopt}}, .unschedulable = false});
}

UpgradePolicy OneNode() { return {.auto_upgrade = true, .max_parallel = 1}; }

TEST_CASE("I1: a node with our mark keeps its slot when another client has removed its label") {
  World world(OneNode());
  StartMarked(world, 0);
  RemoveLabel(world, 0);
  world.Start(1);
  CHECK(world.Broken() == "I1");
}

TEST_CASE(
    "I19: a driver that never becomes Ready reaches at most maxParallelUpgrades nodes, even if they are labeled done") {
  for (const bool becomes_ready : {false, true}) {
    World world(OneNode());
    if (!becomes_ready) world.cluster->AddCrashRule(world.fleet.ns, world.fleet.daemon_set, "");
    StartMarked(world, 0);
    REQUIRE(world.guarded->DeletePod({}, {.pod = world.DriverPodOn(0).ref}).ok());
    world.cluster->Advance(absl::Minutes(1));
    RemoveLabel(world, 0);
    EndWithoutLabel(world, 0);
    CHECK(world.Broken() == "");
    world.Start(1);
    CHECK(world.Broken() == (becomes_ready ? "" : "I19"));
  }
}

TEST_CASE("I19: a node no longer counts once an administrator has set another state, or the operator was removed") {
  enum class End { kRetry, kRelease };
  for (const End end : {End::kRetry, End::kRelease}) {
    World world(OneNode());
    StartMarked(world, 0);
    if (end == End::kRetry) {
      world.Put(0, "upgrade-required");
    } else {
      world.guarded->BeginRelease();
      world.Patch(0, {.labels = {{Gpu().StateLabel(), std::nullopt}},
                      .annotations = {{kNames, std::nullopt}},
                      .unschedulable = false});
      world.guarded = world.checker->Guard("next");
    }
    world.Start(1);
    CHECK(world.Broken() == "");
  }
}

TEST_CASE("I19: with failurePolicy, failed nodes are counted separately, up to the number that the policy allows") {
  for (const int failures : {1, 2, 3}) {
    UpgradePolicy policy = OneNode();
    policy.failure_policy = FailurePolicy{.max_failures = Count{2}};
    World world(policy);
    world.cluster->AddCrashRule(world.fleet.ns, world.fleet.daemon_set, "");
    for (int i = 0; i < failures; ++i) {
      const auto node = static_cast<std::size_t>(i);
      StartMarked(world, node);
      if (world.Broken() != "") break;
      REQUIRE(world.guarded->DeletePod({}, {.pod = world.DriverPodOn(node).ref}).ok());
      world.cluster->Advance(absl::Minutes(1));
      // The labels and marks on which the rules for slots (I1) and failures (I8) rely have been removed.
      RemoveLabel(world, node);
      EndWithoutLabel(world, node);
    }
    CHECK(world.Broken() == (failures == 3 ? "I19" : ""));
  }
}

}  // namespace
}  // namespace driverupgrade::tests
