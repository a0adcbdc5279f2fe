// The values that a seed draws before the simulation starts.
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
  // Probability, in per mille, that a call encounters a fault of any kind.
  int call_faults_per_mille = 0;
  int replicas = 1;
  bool cache = false;
  bool election = false;
  bool ledger = false;
  bool validation = false;
  bool events = false;
  bool hooks = false;
  // True if the operator has a pod on one of the nodes.
  bool own_pod = false;
  // True if some nodes with the driver do not belong to the operator.
  bool selects_nodes = false;
  // With Mode::kGangs: maximum number of nodes per job.
  int largest_gang = 0;
  // With Mode::kDevices.
  DeviceOptions devices = {};
  // Maximum number of grants in the ledger.
  int grants_max = kGrantsMax;
  // True in light mode; see SimulationOptions.
  bool light = false;
  // True if requests and responses are sent as bytes.
  bool wire = false;
  // True if the replicas are hosts of the C interface, which poll the cluster every poll_interval.
  bool hosted = false;
  // True if the maintenance operator evacuates the nodes.
  bool requestor = false;
  // True if some revisions contain no change that requires an evacuation.
  bool restart_only = false;
  // True if the driver's DaemonSet does not use the OnDelete strategy, so Kubernetes restarts the driver as well.
  bool rolling = false;
  // Maximum latency of a call.
  absl::Duration latency_max = absl::ZeroDuration();
  // Maximum delay before a cache receives a change.
  absl::Duration watch_lag_max = absl::ZeroDuration();
  absl::Duration poll_interval = absl::Seconds(5);
  absl::Duration chaos = absl::Minutes(20);
  // Start time of the simulation, according to the cluster's clock.
  absl::Time start = FakeClock::DefaultStart();
  // Time between two actions of an actor.
  absl::Duration pause_min = absl::Seconds(5);
  absl::Duration pause_max = absl::Minutes(2);

  bool Has(Fault fault) const { return faults[static_cast<std::size_t>(fault)]; }
  bool Has(Mode mode) const { return modes[static_cast<std::size_t>(mode)]; }
  bool AnyFault() const {
    return Has(Mode::kLongOutage) || std::find(faults.begin(), faults.end(), true) != faults.end() ||
           std::find(modes.begin() + kFirstNeighbour, modes.end(), true) != modes.end();
  }
  // Returns whether I1 is guaranteed, which requires a single leader that does not crash, or a ledger.
  bool BudgetIsClaimed() const;
  bool ClocksJump() const { return Has(Fault::kClockSkew) || Has(Mode::kClockRates) || Has(Mode::kClockSetBack); }
  // Returns the maximum clock skew: the initial offset, the drift until the next correction, and jumps.
  absl::Duration ClockSkewMax() const;
  // Returns the longest real time in which a clock that may run slow measures `duration`.
  absl::Duration ByClocks(absl::Duration duration) const { return Has(Mode::kClockRates) ? 2 * duration : duration; }
  // Returns whether several replicas can write, because they run without an election.
  bool SeveralLeaders() const { return replicas > 1 && !election; }
  std::string Describe() const;
};

// Light mode: time that a node needs until its workload has stopped, until the old driver has stopped, and until the
// new driver has started.
inline constexpr absl::Duration kLightWorkloadStop = absl::Seconds(40);
inline constexpr absl::Duration kLightDriverStop = absl::Seconds(20);
inline constexpr absl::Duration kLightDriverStart = absl::Seconds(180);

// Length of the outage in a seed with Mode::kLongOutage, and number of pods with Mode::kManyPods.
inline constexpr absl::Duration kLongOutage = absl::Hours(2);
inline constexpr int kManyPods = 10'000;
inline constexpr char kManyPodsApp[] = "many";
// Maximum jump of a clock with Fault::kClockSkew.
inline constexpr absl::Duration kClockJumpMax = absl::Seconds(5);
// Length and number of the backward jumps with Mode::kClockSetBack. Each jump is longer than the calm phase.
inline constexpr absl::Duration kSetBack = absl::Hours(72);
inline constexpr int kSetBacks = 2;

// Condition type that unhealthy nodes report, with Mode::kRollouts.
inline constexpr char kSickCondition[] = "example.com/sick";

// Returns whether the fault can force a replica to repeat a request. Changes by other clients are counted separately
// (I13).
bool MakesRequestsAnew(Fault fault);

Setup DrawSetup(std::uint64_t seed, const SimulationOptions& options);
UpgradePolicy DrawPolicy(Random& random);
// Returns whether the policy contains the mistake that the simulated administrators make.
inline bool IsInvalid(const UpgradePolicy& policy) { return policy.retry.max_attempts < 0; }

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_SETUP_H_
