/// A whole rollout in virtual time, with everything going wrong that a seed says, and every invariant checked.
///
/// Defines Simulate, SimulationOptions, SimulationResult, Fault, Mode and Shrink.
///
///     SimulationResult result = Simulate(4711);
///     if (result.violation) std::cerr << result.Describe();  // what broke, and how to see it again
///
/// The engine, the controller, the cache, the election and the ledger are the real ones; the cluster is a FakeCluster.
/// A seed draws the cluster, the policy, how many replicas there are and of what they are made, which faults happen and
/// how often. The run has two phases: in the chaos phase faults happen, an administrator and another driver's operator
/// act, nodes and pods fail; then everything is mended, and in the calm phase every node has to get done (L1-L3), and
/// then nothing may be written any more (I12).
///
/// Deterministic: the same seed and options give the same run, event by event, on every platform. One thread; several
/// simulations may run side by side.
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
  kTimeout,          ///< F5: no answer, not applied.
  kAppliedNoAnswer,  ///< F6: no answer, or 5xx, though applied.
  kAppliedLate,      ///< F7: applied after the client gave up.
  kStaleRead,        ///< F8: a list that is older than the one before.
  kWatchLost,        ///< F9: a watch breaks, and its events come late.
  kWatchBroken,      ///< F10: a watch ends with an error in the midst.
  kWatchExpired,     ///< F11: 410.
  kListBroken,       ///< F12: a list that cannot be continued.
  kNoBookmarks,      ///< F13: watches are silent.
  kForbidden,        ///< F14: 401, 403 or 404 for a while.
  kCrash,            ///< F15: the replica dies before or after a call, and another process begins.
  kStall,            ///< F16: the replica stands still in the midst of a pass.
  kClockSkew,        ///< F17: clocks that differ, and run fast or slow.
  kNodeLifecycle,    ///< F18: nodes fail, go, come back under the same name, and are added.
  kStuckPods,        ///< F19: budgets that never allow, several of them, finalizers, bare pods, emptyDir.
  kDriverTroubles,   ///< F20: driver pods that crash, are slow, or flap.
  kTemplateChange,   ///< F21: another revision in the midst, or back to the old one.
  kAdministrator,    ///< F22: cordons, labels, annotations, skip, pause, policies.
  kRival,            ///< F23: another driver's operator on the same nodes, as the Go library is.
  kHooks,            ///< F24: callbacks that fail or throw.
  kGarbage,          ///< F25: values that are no values, and large objects.
  kOutage,           ///< F26: the API is down for long.
  kBytes,            ///< F27: answers that are cut, or are no JSON, or JSON of something else; with `wire` only.
  kMaintenance,      ///< F28: NodeMaintenances that go or go back, and an operator that is slow or away.
};
inline constexpr int kFaultCount = 28;
std::string_view ToString(Fault fault);

/// Modes of a seed, in the chaos phase and in the calm phase; tests/simulation/README.md.
enum class Mode : std::uint8_t {
  kRelease,     ///< The operator is removed in the midst, and installed again.
  kTwoDrivers,  ///< Two drivers of this library on the same nodes.
  kInFlight,    ///< Several calls of a replica at once.
  kWatchTwice,  ///< Watches give every event twice.
  kClockRates,  ///< The replicas' clocks run at half or at double rate.
  kLongOutage,  ///< The API server is down for two hours.
  kManyPods,    ///< The callback names ten thousand pods.
  kRollouts,    ///< The policy has stages, windows, groups and health, and somebody approves.
  kShortPasses,  ///< A pass looks at one or two nodes that have changed, and leaves the others to the next.
  kClockSetBack,  ///< The replicas' clocks are ahead by days, and are set back in the calm phase, twice.
  kGangs,  ///< Training jobs run on the nodes, and the policy interrupts each of them once.
  // Neighbours, from here on: they act while faults happen.
  kLabelRemover,       ///< A client removes the state label from every node, immediately or occasionally.
  kForeignCordons,     ///< A client cordons nodes for reasons of its own, and lifts its own cordons only.
  kNotReady,           ///< Nodes become NotReady before, during and after their upgrade.
  kWatchOrder,         ///< Watches of different kinds report what happened in any order.
  kBrokenDriver,       ///< Some templates have a driver that never becomes Ready on any node.
  kAutoscaler,         ///< A node autoscaler taints nodes, deletes them in the middle of their upgrade, and adds others.
  kNoRoom,             ///< Driver pods cannot be scheduled: another pod has taken their room on the node.
};
inline constexpr int kModeCount = 18;
inline constexpr int kFirstNeighbour = static_cast<int>(Mode::kLabelRemover);
/// `release`, `two-drivers`, ...
std::string_view ToString(Mode mode);

struct SimulationOptions {
  /// Otherwise drawn, up to `nodes_max`.
  std::optional<int> nodes = std::nullopt;
  int nodes_max = 30;
  /// Faults that do not happen, though the seed says so.
  std::set<Fault> without = {};
  /// As if each fault had been drawn with this probability, in percent.
  int fault_percent = 35;
  /// The chaos phase ends after that long at the latest.
  absl::Duration chaos_max = absl::Hours(1);
  /// Keep the last lines of what happened.
  bool trace = false;
  std::size_t trace_lines_max = 400;
  /// One rollout of a large cluster: a tenth of the nodes at a time, four minutes a node, and few faults, those of
  /// calls and watches only.
  bool light = false;
  /// So many seeds in a hundred go through bytes, by what this makes; null: none.
  WireFactory wire = nullptr;
  int wire_percent = 10;
  /// Replicas are hosts of the C interface, made by this; null: native engines.
  HostFactory host = nullptr;
  /// Native engines in the worlds that hosts have, to be compared with them.
  bool as_hosted = false;
  /// So many use requestor mode, and so many a predicate by which some revisions need no more than a restart.
  int requestor_percent = 12;
  int restart_only_percent = 15;
  /// In so many the driver's DaemonSet is not OnDelete.
  int rolling_percent = 6;
  /// So many seeds in a thousand are in each Mode; kManyPods, of which one seed takes as long as dozens, is only asked
  /// for.
  std::array<int, kModeCount> mode_per_mille = {30, 30, 50, 40, 30, 20, 0,  160, 100,
                                                60, 60, 50, 50, 50, 50, 50, 50,  50};
  /// Plants a defect, to see whether it is found: one of MutantNames, from 1 on; 0: none.
  int mutant = 0;
};

struct SimulationResult {
  std::uint64_t seed = 0;
  /// What was drawn, in one line.
  std::string setup = {};
  std::optional<Violation> violation = std::nullopt;
  /// If asked for.
  std::vector<std::string> trace = {};
  /// Of everything that happened, in order: equal for equal runs.
  std::uint64_t hash = 0;
  /// The nodes at the end of the calm phase, by name: `upgrade-done, the newest driver`. Equal for two kinds of hosts, though
  /// what happened on the way is not: people cordon, and nodes come and go, at other moments of the rollout.
  std::map<std::string, std::string> end = {};

  // Coverage.
  std::array<std::int64_t, kFaultCount> faults = {};
  /// How often what each Mode is there for was come by.
  std::array<std::int64_t, kModeCount> modes = {};
  std::map<std::pair<UpgradeState, UpgradeState>, std::int64_t> edges = {};
  std::map<GateReason, std::int64_t> gates = {};
  /// How often all gates and totals of a replica were compared with the cluster (L5, L6), and whether L4 was looked at.
  std::int64_t checks_of_gates = 0;
  bool bad_node = false;
  /// Jobs of Mode::kGangs that restarted on a node with the old driver, or whose unit could not be cordoned in time: another
  /// interruption of theirs is allowed.
  std::int64_t interruptions_excused = 0;

  // Size.
  int nodes = 0;
  std::int64_t upgrades = 0;
  std::int64_t passes = 0;
  std::int64_t calls = 0;
  std::int64_t commits = 0;
  absl::Duration virtual_time = absl::ZeroDuration();
  /// With `light`: from the new template until all nodes are done, and how long that takes if nothing is ever waited
  /// for but pods.
  absl::Duration makespan = absl::ZeroDuration();
  absl::Duration ideal = absl::ZeroDuration();

  /// `seed 17: I3: node n1: ...`, then setup, and the trace if there is one.
  std::string Describe() const;
};

SimulationResult Simulate(std::uint64_t seed, const SimulationOptions& options = {});

/// For a run that breaks an invariant: options with fewer faults, fewer nodes and less time by which it still does.
SimulationOptions Shrink(std::uint64_t seed, SimulationOptions options);

/// The defects that can be planted: `uncordons always`, `is blind to the skip label`, ...
std::vector<std::string> MutantNames();

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_SIMULATION_H_
