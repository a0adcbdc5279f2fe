// Checks that the actors undo their changes when the faults end, so that every node can complete its upgrade (L1).
#include "driverupgrade/testing/builders.h"
#include "simulation/world/actors.h"
#include "support/catch.h"

namespace driverupgrade::tests {
namespace {

using testing::SimulationOptions;
using testing::internal::MakeAdministrator;
using testing::internal::World;

// If the NodeMaintenance stayed, pods would return to a node that is being evacuated, because the maintenance operator
// does not cordon the node again.
TEST_CASE("The client that lifts the maintenance operator's cordon also removes the NodeMaintenance of the node") {
  for (const bool maintained : {false, true}) {
    World world(1, SimulationOptions{.nodes = 2, .requestor_percent = 100});
    world.policy.cordoned_nodes = CordonedNodes::kIgnore;
    const std::string node = world.cluster->nodes().front().name;
    world.cluster->RunMaintenanceOperator();
    world.cluster->AddNodeMaintenance({.ns = "default", .name = "a", .requestor_id = "another", .node_name = node});
    world.cluster->Advance(absl::Minutes(1));
    REQUIRE(world.cluster->node(node)->unschedulable);
    REQUIRE(world.checker->CordonIsMaintenanceOperators(node));
    if (!maintained) {
      // An administrator's cordon replaces the cordon of the maintenance operator.
      world.cluster->EditNode(node, [](Node& edited) { edited.unschedulable = false; });
      world.cluster->EditNode(node, [](Node& edited) { edited.unschedulable = true; });
    }
    MakeAdministrator(world)->Mend();
    CHECK_FALSE(world.cluster->node(node)->unschedulable);
    CHECK(world.cluster->node_maintenances().empty() == maintained);
  }
}

}  // namespace
}  // namespace driverupgrade::tests
