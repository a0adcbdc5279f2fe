// Predicts a rollout by running the real engine in virtual time, on a fake cluster created from the user's cluster.
#ifndef DRIVERUPGRADE_SRC_WHATIF_SIMULATION_SIMULATE_H_
#define DRIVERUPGRADE_SRC_WHATIF_SIMULATION_SIMULATE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/upgrade_policy.h"
#include "driverupgrade/upgrade_state.h"
#include "whatif/durations.h"
#include "whatif/node_history.h"
#include "whatif/situation.h"

namespace driverupgrade::whatif {

// The reason why a node is not done at the end.
struct Blocked {
  // Gate of the node. For a failed node, the gate before the failure, or kFailed if the node had no gate.
  GateReason gate = {};
  bool failed = false;
  // Subject of the gate, such as `disruption budget shop/web`. Empty if the gate has no subject that nodes can share.
  std::string subject = {};
  // Failure message, or the gate's detail.
  std::string why = {};
  // Time since which the gate has had this reason, or the time of the failure.
  absl::Duration since = {};
};

// A simulated rollout. Times are relative to its start.
struct Rollout {
  absl::Duration makespan = {};
  int nodes = 0;
  int done = 0;
  int failed = 0;
  // True if each node is done or left out of the rollout (GateTraits::left_out).
  bool finishes = false;
  // Nodes that are not done.
  std::map<std::string, Blocked> blocked = {};
  // Maximum number of nodes that were unavailable at the same time.
  int unavailable_peak = 0;
  // Maximum number of pods that were not ready at the same time. Counts only pods that were ready at the start and do
  // not belong to a DaemonSet.
  int pods_unavailable_peak = 0;
  // Numbers of nodes that the engine cordoned, and of pods that it evicted. Unlike in `evictions`, refused requests do
  // not count.
  int nodes_cordoned = 0;
  int pods_evicted = 0;
  // True if one of the compared policies isolates devices. Kept pods are counted only in this case.
  bool devices = false;
  // Number of pods that were running on a node when its driver pod was stopped. Pods of DaemonSets do not count.
  int pods_kept = 0;
  // Gangs with pods on several nodes (docs/policy.md#gangs), the total number of their interruptions, and the highest
  // number for one gang.
  int gangs = 0;
  int gang_interruptions = 0;
  int gang_interruptions_peak = 0;
  std::int64_t evictions = 0;
  // Number of writes that the engine made, including evictions.
  std::int64_t writes = 0;
  // Number of writes, lists of pods, and first lists of watches. Watches and Events do not count.
  std::int64_t requests = 0;
  // Number of engine passes, and number of plans that were built for all nodes. The cost of such a plan grows with the
  // number of nodes.
  int passes = 0;
  int whole_plans = 0;
  // Histories by name.
  std::vector<NodeHistory> timeline = {};
};

// Simulates a rollout on the nodes of the question that have a driver pod, with their other pods and the budgets. All
// nodes start at the old revision and without marks of an upgrade, but keep their cordons and skip labels. The same
// seed produces the same rollout. `device_drivers`: DRA drivers whose devices and claims are simulated; must include
// the drivers of all devices that the policy isolates.
[[nodiscard]] absl::StatusOr<Rollout> SimulateRollout(const Situation& situation, const UpgradePolicy& policy,
                                                      const std::vector<std::string>& device_drivers,
                                                      const Durations& durations, std::uint32_t seed);

// Returns the DRA drivers whose devices the policy isolates; empty if it isolates no devices.
std::vector<std::string> IsolatedDrivers(const UpgradePolicy& policy);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_SIMULATION_SIMULATE_H_
