// Creates the fake cluster of a simulation from the user's cluster.
#ifndef DRIVERUPGRADE_SRC_WHATIF_SIMULATION_FURNISH_H_
#define DRIVERUPGRADE_SRC_WHATIF_SIMULATION_FURNISH_H_

#include <random>
#include <string_view>

#include "absl/time/time.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/testing/gang_controller.h"
#include "whatif/simulation/simulate.h"
#include "whatif/simulation/simulated_devices.h"
#include "whatif/situation.h"

namespace driverupgrade::whatif {

// The objects of the simulated rollout represent the user's driver, under names that none of the user's objects has.
inline constexpr std::string_view kDriverSet = "simulated-driver";
inline constexpr std::string_view kLedger = "simulated-ledger";

// Varies durations by a relative deviation, which depends only on the seed.
struct Jitter {
  double part = 0;
  std::mt19937 random;
  absl::Duration operator()(absl::Duration duration);
};

// Adds the nodes with a driver pod, without marks of an upgrade, their devices, their other pods, the budgets, and a
// DaemonSet whose pods are out of date. Its two revisions have the templates of the newest revision of the driver and of
// the revision that most driver pods have now, if these differ. `gangs` gets the pods that only run together.
void Furnish(const Situation& situation, const Durations& durations, const SimulatedDevices& devices, Jitter& jitter,
             testing::FakeCluster& cluster, testing::GangController& gangs);

// Stores the durations of nodes from the record of the rollout. Stages and halts start from scratch. Returns false if
// the ledger has no record.
bool SeedRecord(const Situation& situation, testing::FakeCluster& cluster);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_SIMULATION_FURNISH_H_
