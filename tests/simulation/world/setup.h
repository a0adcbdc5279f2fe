// What a seed draws before anything happens.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WORLD_SETUP_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WORLD_SETUP_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_policy.h"
#include "simulation/simulation.h"
#include "simulation/world/random.h"

namespace driverupgrade::testing::internal {

inline constexpr int kGrantsMax = 5000;

struct Setup {
  int nodes = 1;
  UpgradePolicy policy = {};
  std::array<bool, kFaultCount> faults = {};
  std::array<bool, kModeCount> modes = {};
  // Of each call, for the faults of calls together.
  int call_faults_per_mille = 0;
  int replicas = 1;
  bool cache = false;
  bool election = false;
  bool ledger = false;
  bool validation = false;
  bool events = false;
  bool hooks = false;
  // The operator has a pod on one of the nodes.
  bool own_pod = false;
  // Some nodes with the driver are not the operator's.
  bool selects_nodes = false;
  // With Mode::kGangs: number of nodes that the largest job may take.
  int largest_gang = 0;
  // Of the ledger.
  int grants_max = kGrantsMax;
  // See SimulationOptions.
  bool light = false;
  // Through bytes.
  bool wire = false;
  // Replicas are hosts of the C interface, which look at the cluster once in each poll_interval.
  bool hosted = false;
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
  // By the cluster's clock.
  absl::Time start = FakeClock::DefaultStart();
  // Between two deeds of each actor.
  absl::Duration pause_min = absl::Seconds(5);
  absl::Duration pause_max = absl::Minutes(2);

  bool Has(Fault fault) const { return faults[static_cast<std::size_t>(fault)]; }
  bool Has(Mode mode) const { return modes[static_cast<std::size_t>(mode)]; }
  bool AnyFault() const {
    return Has(Mode::kLongOutage) || std::find(faults.begin(), faults.end(), true) != faults.end() ||
           std::find(modes.begin() + kFirstNeighbour, modes.end(), true) != modes.end();
  }
  // I1 is claimed for one leader that does not crash, or with a ledger.
  bool BudgetIsClaimed() const;
  bool ClocksJump() const { return Has(Fault::kClockSkew) || Has(Mode::kClockRates) || Has(Mode::kClockSetBack); }
  // What is drawn at the beginning, what a rate makes until the clock is set right, and jumps.
  absl::Duration ClockSkewMax() const;
  // How long something takes at most that takes so long by a clock which is a little slow.
  absl::Duration ByClocks(absl::Duration duration) const { return Has(Mode::kClockRates) ? 2 * duration : duration; }
  // Several replicas may write, as none asks an election.
  bool SeveralLeaders() const { return replicas > 1 && !election; }
  std::string Describe() const;
};

// What a node takes of a rollout in the light mode: its workload ends, the old driver ends, the new one starts.
inline constexpr absl::Duration kLightWorkloadStop = absl::Seconds(40);
inline constexpr absl::Duration kLightDriverStop = absl::Seconds(20);
inline constexpr absl::Duration kLightDriverStart = absl::Seconds(180);

// How long the API server is down in a seed with Mode::kLongOutage, and how many pods there are with Mode::kManyPods.
inline constexpr absl::Duration kLongOutage = absl::Hours(2);
inline constexpr int kManyPods = 10'000;
inline constexpr char kManyPodsApp[] = "many";
// By how much a clock jumps with Fault::kClockSkew.
inline constexpr absl::Duration kClockJumpMax = absl::Seconds(5);
// By how much clocks are set back with Mode::kClockSetBack, and how often: longer than the calm phase lasts.
inline constexpr absl::Duration kSetBack = absl::Hours(72);
inline constexpr int kSetBacks = 2;

// Of the nodes that are sick, with Mode::kRollouts.
inline constexpr char kSickCondition[] = "example.com/sick";

// Whether a request may have to be made once more because of it. What others do to a node counts by itself (I13).
bool MakesRequestsAnew(Fault fault);

Setup DrawSetup(std::uint64_t seed, const SimulationOptions& options);
UpgradePolicy DrawPolicy(Random& random);
// The mistake that people of a simulation make.
inline bool IsInvalid(const UpgradePolicy& policy) { return policy.retry.max_attempts < 0; }

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_SETUP_H_
