// Makes the fake cluster of a simulation from the user's own.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_FURNISH_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_FURNISH_H_

#include <random>
#include <string_view>

#include "absl/time/time.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/testing/gang_controller.h"
#include "upgradectl/request.h"
#include "upgradectl/simulate.h"

namespace upgradectl {

/// Everything of the rollout stands for the user's driver, under names that nothing of the user's has.
inline constexpr std::string_view kDriverSet = "simulated-driver";
inline constexpr std::string_view kLedger = "simulated-ledger";

/// Varies durations by a part of themselves, the same for the same seed.
struct Jitter {
  double part = 0;
  std::mt19937 random;
  absl::Duration operator()(absl::Duration duration);
};

/// Adds the nodes with a driver pod, without marks of an upgrade, their other pods, the budgets, and a DaemonSet whose pods
/// are out of date. The templates of its two revisions are those of the newest revision of the driver and of the one that
/// most driver pods have now, if these differ.
/// `gangs` gets the pods that only run together.
void Furnish(const Request& request, const Durations& durations, Jitter& jitter,
             driverupgrade::testing::FakeCluster& cluster, driverupgrade::testing::GangController& gangs);

/// Stores the durations of nodes from the record of the rollout. Stages and halts begin from the start. Returns false if the
/// ledger has no record.
bool SeedRecord(const Request& request, driverupgrade::testing::FakeCluster& cluster);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_FURNISH_H_
