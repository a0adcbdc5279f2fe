// Plans one pass of an upgrade, and prints the plan. Sends nothing.
#include <iostream>
#include <memory>

#include "driverupgrade/snapshot_builder.h"
#include "driverupgrade/state_machine.h"
#include "driverupgrade/testing/builders.h"

using namespace driverupgrade;

int main() {
  const auto clock = std::make_shared<testing::FakeClock>();
  const auto cluster = std::make_shared<testing::FakeCluster>(clock);
  const testing::Fleet fleet = testing::AddFleet(*cluster, {.node_count = 3});
  cluster->SetTemplate(fleet.ns, fleet.daemon_set, "rev-2");
  cluster->SetNodeReady("node-3", false);

  const auto identity = DriverIdentity::Create("example.com", "fpga");
  SnapshotBuilder builder(
      *identity, cluster,
      {.ns = fleet.ns, .driver_labels = LabelSelector::FromMatchLabels({{"app", fleet.daemon_set}})});
  auto snapshot = builder.Build({});
  if (!snapshot.ok()) return 1;

  const StateMachine machine(*identity, {});
  const UpgradePolicy policy{.auto_upgrade = true, .max_parallel = 1};
  const Plan first = machine.Step(*snapshot, policy, clock->Now());
  builder.ReadPods({}, first.pod_interest, *snapshot);
  const Plan plan = machine.Step(*snapshot, policy, clock->Now());
  for (const NodePlan& node : plan.nodes) {
    std::cout << node.node << ": " << ToString(node.from) << " -> " << ToString(node.to()) << ", " << node.reason
              << "\n";
  }
  for (const NodeGate& node : plan.gates) std::cout << node.node << " waits: " << node.gate.detail << "\n";
}
