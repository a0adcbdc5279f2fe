// What a seed draws before anything happens.
#ifndef DRIVERUPGRADE_SRC_TESTING_SIMULATION_SETUP_H_
#define DRIVERUPGRADE_SRC_TESTING_SIMULATION_SETUP_H_

#include <array>
#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "driverupgrade/testing/simulation.h"
#include "driverupgrade/upgrade_policy.h"
#include "testing/simulation/random.h"

namespace driverupgrade::inline v1::testing::internal {

struct Setup {
  int nodes = 1;
  UpgradePolicy policy = {};
  std::array<bool, kFaultCount> faults = {};
  // Of each call, for the faults of calls together.
  int call_faults_per_mille = 0;
  int replicas = 1;
  bool cache = false;
  bool election = false;
  bool ledger = false;
  bool validation = false;
  bool events = false;
  bool hooks = false;
  // Through bytes.
  bool wire = false;
  // The maintenance operator evacuates the nodes.
  bool requestor = false;
  // Some revisions differ in nothing that needs an evacuation.
  bool restart_only = false;
  // The driver's DaemonSet is not OnDelete: Kubernetes restarts the driver, too.
  bool rolling = false;
  // Every call takes up to that long.
  absl::Duration latency_max = absl::ZeroDuration();
  // Before a cache hears of a change.
  absl::Duration watch_lag_max = absl::ZeroDuration();
  absl::Duration poll_interval = absl::Seconds(5);
  absl::Duration chaos = absl::Minutes(20);
  // Between two deeds of each actor.
  absl::Duration pause_min = absl::Seconds(5);
  absl::Duration pause_max = absl::Minutes(2);

  bool Has(Fault fault) const { return faults[static_cast<std::size_t>(fault)]; }
  // I1 is claimed for one leader that does not crash, whose lists are consistent, or with a ledger.
  bool BudgetIsClaimed() const;
  std::string Describe() const;
};

Setup DrawSetup(std::uint64_t seed, const SimulationOptions& options);
UpgradePolicy DrawPolicy(Random& random);

}  // namespace driverupgrade::inline v1::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_SIMULATION_SETUP_H_
