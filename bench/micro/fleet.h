// A fleet in the middle of a rollout, as input for Step and the planner. The fleet depends only on its size.
#ifndef DRIVERUPGRADE_BENCH_MICRO_FLEET_H_
#define DRIVERUPGRADE_BENCH_MICRO_FLEET_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/state_machine.h"
#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade::bench {

// One in ten nodes is being drained and waits for a pod that its disruption budget protects. Half of the nodes wait for
// a slot, and the others are done. Nodes have the labels of a GPU node, and pods have the labels of their owners.
struct MidRollout {
  explicit MidRollout(int nodes);

  DriverIdentity identity;
  StateMachine machine;
  UpgradePolicy policy = {};
  absl::Time now = absl::FromUnixSeconds(1'800'000'000);
  ClusterSnapshot snapshot = {};
};

// A node of the fleet as the API server would return it.
Node FleetNode(int index, const std::string& state);
Pod FleetPod(int node, int index);

// Number of allocations by operator new since the process started.
std::uint64_t Allocations();

}  // namespace driverupgrade::bench

#endif  // DRIVERUPGRADE_BENCH_MICRO_FLEET_H_
