/// Simulates a whole rollout in virtual time, under all faults that a seed draws, and checks every invariant.
///
/// Defines Simulate, SimulationOptions, SimulationResult, Fault, Mode and Shrink.
///
///     SimulationResult result = Simulate(4711);
///     if (result.violation) std::cerr << result.Describe();  // what broke, and how to repeat the run
///
/// The engine, the controller, the cache, the election and the ledger are the real implementations; the cluster is a
/// FakeCluster. A seed draws the cluster, the policy, the number of replicas and their components, and the frequency of
/// each fault. During the chaos phase, calls, nodes and pods fail while an administrator and another driver's operator
/// act. The simulation then repairs all damage. In the calm phase that follows, every node must be upgraded (L1-L3),
/// and afterwards no replica may write (I12).
///
/// Deterministic: the same seed and options produce the same run, event by event, on every platform. A simulation uses
/// one thread; several simulations may run in parallel.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_SIMULATION_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_SIMULATION_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/testing/invariants.h"
#include "driverupgrade/upgrade_state.h"
#include "simulation/host_seam.h"
#include "simulation/wire/wire_seam.h"

namespace driverupgrade::testing {

/// Faults fault-F1 to fault-F28 of tests/simulation/README.md.
enum class Fault : std::uint8_t {
  kConflict,         ///< F1: 409.
  kThrottled,        ///< F2: 429, with and without Retry-After.
  kServerError,      ///< F3: 5xx.
  kNoConnection,     ///< F4: refused or reset.
  kTimeout,          ///< F5: no response, not applied.
  kAppliedNoAnswer,  ///< F6: no response or 5xx, although the request was applied.
  kAppliedLate,      ///< F7: applied after the client has given up.
  kStaleRead,        ///< F8: a list that is as old as the previous list.
  kWatchLost,        ///< F9: a watch breaks, and its events arrive late.
  kWatchBroken,      ///< F10: a watch ends with an error.
  kWatchExpired,     ///< F11: a watch expires with 410.
  kListBroken,       ///< F12: a list that cannot be continued.
  kNoBookmarks,      ///< F13: watches send no bookmarks.
  kForbidden,        ///< F14: 401, 403 or 404 for a while.
  kCrash,            ///< F15: the replica dies before or after a call, and another process starts.
  kStall,            ///< F16: the replica freezes in the middle of a pass.
  kClockSkew,        ///< F17: clocks that differ, or run fast or slow.
  kNodeLifecycle,    ///< F18: nodes fail, are deleted, return under the same name, and are added.
  kStuckPods,        ///< F19: budgets that allow no eviction, two budgets, finalizers, bare pods, emptyDir.
  kDriverTroubles,   ///< F20: driver pods that crash, are slow, or flap.
  kTemplateChange,   ///< F21: another revision in the middle of a rollout, or a return to the old revision.
  kAdministrator,    ///< F22: cordons, labels, annotations, skip, pause, policies.
  kRival,            ///< F23: another driver's operator on the same nodes, built with the Go library.
  kHooks,            ///< F24: callbacks that fail or throw.
  kGarbage,          ///< F25: values without meaning, and large objects.
  kOutage,           ///< F26: the API server is down for a long time.
  kBytes,            ///< F27: truncated responses, invalid or unexpected JSON; only with `wire`.
  kMaintenance,      ///< F28: deleted or reset NodeMaintenances, and a slow or stopped maintenance operator.
};
inline constexpr int kFaultCount = 28;
std::string_view ToString(Fault fault);

/// Modes of a seed, in the chaos phase and in the calm phase; see tests/simulation/README.md.
enum class Mode : std::uint8_t {
  kRelease,       ///< The operator is removed in the middle of a rollout, and installed again.
  kTwoDrivers,    ///< This library upgrades two drivers on the same nodes.
  kInFlight,      ///< A replica can have several calls in flight.
  kWatchTwice,    ///< Watches report every event twice.
  kClockRates,    ///< The replicas' clocks run at half or at double rate.
  kLongOutage,    ///< The API server is down for two hours.
  kManyPods,      ///< The callback selects ten thousand pods.
  kRollouts,      ///< The policy has stages, windows, groups and health, and an actor approves stages.
  kShortPasses,   ///< A pass handles one or two changed nodes, and leaves the others to the next pass.
  kClockSetBack,  ///< The replicas' clocks are days ahead and are set back twice in the calm phase.
  kGangs,         ///< Training jobs run on the nodes, and the policy interrupts each job once.
  kDevices,       ///< The policy isolates devices instead of nodes, and pods claim these devices.
  // The following modes are neighbors: other clients that act while faults happen.
  kLabelRemover,    ///< A client removes the state label from every node, immediately or occasionally.
  kForeignCordons,  ///< A client cordons nodes for its own reasons and lifts only its own cordons.
  kNotReady,        ///< Nodes become NotReady before, during and after their upgrade.
  kWatchOrder,      ///< Watches of different kinds have different delays, so events arrive in any order.
  kBrokenDriver,    ///< Some templates have a driver that never becomes Ready on any node.
  kAutoscaler,      ///< A node autoscaler taints nodes, deletes nodes in the middle of their upgrade, and adds others.
  kNoRoom,          ///< Driver pods cannot be scheduled: another pod has taken their capacity on the node.
};
inline constexpr int kModeCount = 19;
inline constexpr int kFirstNeighbour = static_cast<int>(Mode::kLabelRemover);
/// Returns the name of the mode, such as `release` or `two-drivers`.
std::string_view ToString(Mode mode);

struct SimulationOptions {
  /// Number of nodes. If not set, the seed draws the number, up to `nodes_max`.
  std::optional<int> nodes = std::nullopt;
  int nodes_max = 30;
  /// Faults that do not happen, even if the seed draws them.
  std::set<Fault> without = {};
  /// Probability of each fault in percent.
  int fault_percent = 35;
  /// Maximum length of the chaos phase.
  absl::Duration chaos_max = absl::Hours(1);
  /// True to keep the last `trace_lines_max` lines of the trace.
  bool trace = false;
  std::size_t trace_lines_max = 400;
  /// True for a single rollout of a large cluster: a tenth of the nodes at a time, four minutes per node, and only a
  /// few faults in calls and watches.
  bool light = false;
  /// Creates the wire over which `wire_percent` percent of the seeds send their requests as bytes. If null, no seed
  /// sends bytes.
  WireFactory wire = nullptr;
  int wire_percent = 10;
  /// Creates the replicas as hosts of the C interface. If null, the replicas are native engines.
  HostFactory host = nullptr;
  /// True to run native engines in the worlds that hosts would get. The results can then be compared.
  bool as_hosted = false;
  /// Percentage of seeds in requestor mode, and of seeds whose predicate requires only a restart for some revisions.
  int requestor_percent = 12;
  int restart_only_percent = 15;
  /// Percentage of seeds in which the driver's DaemonSet does not use the OnDelete strategy.
  int rolling_percent = 6;
  /// Number of seeds per thousand that run in each Mode. kManyPods runs only on request, because one such seed takes as
  /// long as dozens of others.
  std::array<int, kModeCount> mode_per_mille = {30, 30, 50, 40, 30, 20, 0,  160, 100, 60,
                                                60, 60, 50, 50, 50, 50, 50, 50,  50};
  /// Position of the planted defect in MutantNames, starting at 1. Zero plants no defect.
  int mutant = 0;
};

struct SimulationResult {
  std::uint64_t seed = 0;
  /// The values that the seed has drawn, on a single line.
  std::string setup = {};
  std::optional<Violation> violation = std::nullopt;
  /// Lines of the trace, if it was requested.
  std::vector<std::string> trace = {};
  /// Hash of all events in order. Equal runs have equal hashes.
  std::uint64_t hash = 0;
  /// Final state of each node after the calm phase, by name: `upgrade-done, the newest driver`. Equal for native
  /// engines and hosts of the C interface, although the runs differ: users cordon nodes, and nodes are added and
  /// deleted, at different points in the rollout.
  std::map<std::string, std::string> end = {};

  // Coverage.
  std::array<std::int64_t, kFaultCount> faults = {};
  /// Number of times that each Mode had an effect.
  std::array<std::int64_t, kModeCount> modes = {};
  std::map<std::pair<UpgradeState, UpgradeState>, std::int64_t> edges = {};
  std::map<GateReason, std::int64_t> gates = {};
  /// Number of times that all gates and totals of a replica were compared with the cluster (L5, L6); true if L4 was
  /// checked.
  std::int64_t checks_of_gates = 0;
  bool bad_node = false;
  /// Number of jobs of Mode::kGangs that restarted on a node with the old driver, or whose unit could not be cordoned
  /// in time. Such jobs may be interrupted again.
  std::int64_t interruptions_excused = 0;

  // Size.
  int nodes = 0;
  std::int64_t upgrades = 0;
  std::int64_t passes = 0;
  std::int64_t calls = 0;
  std::int64_t commits = 0;
  absl::Duration virtual_time = absl::ZeroDuration();
  /// With `light`: time from the new template until all nodes are done, and the ideal time of a rollout that waits only
  /// for pods.
  absl::Duration makespan = absl::ZeroDuration();
  absl::Duration ideal = absl::ZeroDuration();

  /// Returns the violation (`seed 17: I3: node n1: ...`), the setup, and the trace if it was requested.
  std::string Describe() const;
};

SimulationResult Simulate(std::uint64_t seed, const SimulationOptions& options = {});

/// Reduces a run that breaks an invariant: returns options with fewer faults, fewer nodes and less time under which the
/// run still breaks an invariant.
SimulationOptions Shrink(std::uint64_t seed, SimulationOptions options);

/// Returns the names of the defects that can be planted: `uncordons always`, `ignores the skip label`, ...
std::vector<std::string> MutantNames();

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_SIMULATION_H_
