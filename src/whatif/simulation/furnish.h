// Creates the fake cluster of a simulation from the user's cluster.
#ifndef DRIVERUPGRADE_SRC_WHATIF_SIMULATION_FURNISH_H_
#define DRIVERUPGRADE_SRC_WHATIF_SIMULATION_FURNISH_H_

#include <random>
#include <string_view>

#include "absl/time/time.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "testing/gang_controller.h"
#include "whatif/simulation/simulate.h"
#include "whatif/simulation/simulated_devices.h"
#include "whatif/situation.h"

namespace driverupgrade::whatif {

// Names of the simulated objects that represent the user's driver. They differ from the names of the user's own
// objects.
inline constexpr std::string_view kDriverSet = "simulated-driver";
inline constexpr std::string_view kLedger = "simulated-ledger";

// Applies a random relative deviation of at most `part` to each duration. The sequence of deviations depends only on
// the seed.
struct Jitter {
  double part = 0;
  std::mt19937 random;
  absl::Duration operator()(absl::Duration duration);
};

// Adds the nodes that have a driver pod, but not the marks that an upgrade has left on them. Also adds the devices and
// other pods of these nodes, the budgets, and a DaemonSet whose pods are out of date. If the template of most driver
// pods differs from the template of the driver's newest revision, the DaemonSet's two revisions have these two
// templates. Adds the pods of gangs through `gangs`.
void Furnish(const Situation& situation, const Durations& durations, const SimulatedDevices& devices, Jitter& jitter,
             testing::FakeCluster& cluster, testing::GangController& gangs);

// Copies the measured node durations, but not the stages or halts, from the rollout record to the simulated ledger.
// Returns false if there is no record.
bool SeedRecord(const Situation& situation, testing::FakeCluster& cluster);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_SIMULATION_FURNISH_H_
