// A cluster in which crashing engines run the upgrades. Each scenario is run once for each API call, with a crash
// before that call, and must always reach the same final state as without a crash.
//
// Defines Scenario, Trouble and Run.
//
//     const Outcome undisturbed = Run(scenario, Source::kLists, {});
//     const Outcome crashed = Run(scenario, Source::kLists, {.crash_before = 17});
//     CHECK(crashed.end == undisturbed.end);
//
// An engine's calls are sequential, so a crash before a call is also a crash after the previous call. After the crash,
// every call of that engine fails without effect. A second later, a new engine starts without any state. Time is
// virtual.
#ifndef DRIVERUPGRADE_TESTS_CRASH_CRASH_WORLD_H_
#define DRIVERUPGRADE_TESTS_CRASH_CRASH_WORLD_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"

namespace driverupgrade::tests {

struct Scenario {
  std::string name = {};
  /// Prepares the cluster before the first pass.
  std::function<void(testing::FakeCluster&)> set_up = {};
  /// Called every second, to simulate the actions of users and pods.
  std::function<void(testing::FakeCluster&, absl::Duration since_begin)> tick = {};
  UpgradePolicy policy = {};
  StateMachineOptions options = {};
  /// If `ledger` is true, slots are granted in a ConfigMap. If `election` is true, only the holder of a Lease runs
  /// passes.
  bool ledger = false;
  bool election = false;
  /// With a rollout: the only node of the first stage, which has the soak time `soak` and needs an approval. If empty,
  /// there are no stages.
  std::string canary = {};
  absl::Duration soak = absl::ZeroDuration();
  /// Node that an administrator cordons in `set_up`.
  std::string cordoned = {};
  /// Time after which the operator is removed. The operator then calls Release until nothing is left to release, and is
  /// installed again.
  std::optional<absl::Duration> release_after = std::nullopt;
};

/// Returns the scenarios, all of which upgrade the driver `gpu/driver` to the hash `new`.
std::vector<Scenario> Scenarios();
/// Returns a scenario with one node and one workload, for pairs of faults.
Scenario SmallScenario();

/// Source of the data that the engine reads.
enum class Source : std::uint8_t { kLists, kCache };

enum class Fault : std::uint8_t {
  kRefused,  ///< 409
  kFails,    ///< 500, not applied
  kLoses,    ///< applied, but the response is lost
};
inline constexpr Fault kFaults[] = {Fault::kRefused, Fault::kFails, Fault::kLoses};

struct Trouble {
  /// Number of the call before which the engine crashes, or at which the fault happens, starting at 1; 0 for none.
  std::int64_t crash_before = 0;
  std::int64_t fault_at = 0;
  Fault fault = Fault::kFails;
  /// True to plant a defect: the content of annotations is lost with the process, as if it had been stored only in
  /// memory.
  bool forgets_marks = false;
};

struct Outcome {
  /// State of the cluster once nothing is left to do. Excludes values that are generated or depend on time: versions,
  /// UIDs, generated names, times, and the nodes on which workloads run.
  std::string end = {};
  /// The first violation of I1, I2, I3 or I20; empty if there is no violation.
  std::string broken = {};
  std::int64_t calls = 0;
  /// Numbers of the calls that were writes.
  std::vector<std::int64_t> writes = {};
  absl::Duration took = absl::ZeroDuration();
};

Outcome Run(const Scenario& scenario, Source source, const Trouble& trouble);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_CRASH_CRASH_WORLD_H_
