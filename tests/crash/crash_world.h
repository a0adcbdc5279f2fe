// A cluster that is upgraded by engines that crash: each scenario is run from the beginning, with a crash before one of
// its API calls, and has to end as it does without.
//
// Defines Scenario, Trouble and Run.
//
//     const Outcome undisturbed = Run(scenario, Source::kLists, {});
//     const Outcome crashed = Run(scenario, Source::kLists, {.crash_before = 17});
//     CHECK(crashed.end == undisturbed.end);
//
// The calls of an engine come one after the other, so a crash before a call is one after the call before it. From the
// crash on every call of that engine fails without effect; a second later a new one begins, which knows nothing. Time
// is virtual.
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
  /// Before the first pass.
  std::function<void(testing::FakeCluster&)> set_up = {};
  /// Each second: what people and pods do.
  std::function<void(testing::FakeCluster&, absl::Duration since_begin)> tick = {};
  UpgradePolicy policy = {};
  StateMachineOptions options = {};
  /// Slots are granted in a ConfigMap; only who holds a Lease makes passes.
  bool ledger = false;
  bool election = false;
  /// With a rollout: the one node of the first stage, which soaks so long and is approved. Empty: there are no stages.
  std::string canary = {};
  absl::Duration soak = absl::ZeroDuration();
  /// By an administrator, in `set_up`.
  std::string cordoned = {};
  /// After so long the operator is removed: it calls Release until there is nothing left. Then it is installed again.
  std::optional<absl::Duration> release_after = std::nullopt;
};

/// All upgrades of drivers `gpu/driver` to the hash `new`.
std::vector<Scenario> Scenarios();
/// One node and one workload, for pairs of troubles.
Scenario SmallScenario();

/// What the engine reads from.
enum class Source : std::uint8_t { kLists, kCache };

enum class Fault : std::uint8_t {
  kRefused,  ///< 409
  kFails,    ///< 500, not applied
  kLoses,    ///< applied, but the answer is lost
};
inline constexpr Fault kFaults[] = {Fault::kRefused, Fault::kFails, Fault::kLoses};

struct Trouble {
  /// Number of a call, from 1 on; 0: none.
  std::int64_t crash_before = 0;
  std::int64_t fault_at = 0;
  Fault fault = Fault::kFails;
  /// A planted mistake: what stands in annotations is lost with the process, as if it had been in its memory.
  bool forgets_marks = false;
};

struct Outcome {
  /// The cluster when nothing is to be done any more, without what is made up or depends on the time: versions, UIDs,
  /// generated names, times, on which node a workload runs.
  std::string end = {};
  /// The first violation of I1, I2, I3 or I20; empty if the run broke none of them.
  std::string broken = {};
  std::int64_t calls = 0;
  /// Which of the calls are writes.
  std::vector<std::int64_t> writes = {};
  absl::Duration took = absl::ZeroDuration();
};

Outcome Run(const Scenario& scenario, Source source, const Trouble& trouble);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_CRASH_CRASH_WORLD_H_
