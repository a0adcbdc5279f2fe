// A rollout before it happens: the engine itself, on a fake cluster made of the user's own, in virtual time.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_SIMULATE_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_SIMULATE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/upgrade_policy.h"
#include "driverupgrade/upgrade_state.h"
#include "upgradectl/options.h"
#include "upgradectl/request.h"

namespace upgradectl {

/// How long things take.
struct Durations {
  /// With its validation.
  absl::Duration driver_start = absl::Minutes(2);
  absl::Duration driver_stop = absl::Seconds(2);
  /// Of the pods that come in the place of those that are evicted.
  absl::Duration pod_start = absl::Seconds(5);
  absl::Duration pod_stop = absl::Seconds(30);
  /// By which part of themselves they differ at most, either way.
  double jitter = 0.2;
};

/// One node in one state.
struct Span {
  driverupgrade::UpgradeState state = driverupgrade::UpgradeState::kUnknown;
  absl::Duration begin = {};
  absl::Duration end = {};
};

/// Something that was said of a node: its gate, or an Event.
struct Note {
  absl::Duration at = {};
  std::string text = {};
};

/// What one node went through, in order.
struct NodeHistory {
  std::string name = {};
  /// Each ends where the next begins.
  std::vector<Span> spans = {};
  std::vector<Note> notes = {};
};

/// Reason that a node is not done in the end.
struct Blocked {
  /// Gate of the node. If the node failed, the gate that held it until then; kFailed: no gate did.
  driverupgrade::GateReason gate = {};
  bool failed = false;
  /// Subject of the gate, such as `disruption budget shop/web`; empty: nodes do not share one.
  std::string subject = {};
  /// Text of the failure, or the gate's detail.
  std::string why = {};
  /// From when on the gate has had this reason, or when the node failed.
  absl::Duration since = {};
};

/// One rollout. Times are since its beginning.
struct Rollout {
  absl::Duration makespan = {};
  int nodes = 0;
  int done = 0;
  int failed = 0;
  /// True: each node is done, or the rollout continues without it (GateTraits::left_out).
  bool finishes = false;
  /// Nodes that are not done.
  std::map<std::string, Blocked> blocked = {};
  /// The most nodes that were unavailable at once.
  int unavailable_peak = 0;
  /// The most pods that were not ready at once of those that were ready in the beginning; the driver's, and those of
  /// other DaemonSets, apart.
  int pods_unavailable_peak = 0;
  /// Gangs with pods on several nodes (docs/policy.md#gangs), how often they were interrupted in all, and the one that was most often.
  int gangs = 0;
  int gang_interruptions = 0;
  int gang_interruptions_peak = 0;
  std::int64_t evictions = 0;
  /// What the engine wrote, evictions included.
  std::int64_t writes = 0;
  /// With what it read: lists of pods, and the first lists of its watches. Without the watches, and without Events.
  std::int64_t requests = 0;
  /// Of the engine; and after how many of them the plan of all nodes was made, which costs as much as there are nodes.
  int passes = 0;
  int whole_plans = 0;
  /// By name.
  std::vector<NodeHistory> timeline = {};
};

/// How long something took, and of how many pods or nodes that is known.
struct Measured {
  absl::Duration took = {};
  int count = 0;
};
/// Of pods of the request, from their creation until they were ready, the median: of the driver's pods, or of those that
/// a controller would make anew elsewhere. nullopt: fewer than three of them tell.
std::optional<Measured> MeasureStart(const Request& request, bool of_driver);

/// From Events of an upgrade, how long nodes were in these states, of each node the longest time: what so many percent of the
/// nodes needed no longer than. nullopt: fewer than three nodes left one of them.
std::optional<Measured> MeasureStates(const Request& request, const std::vector<driverupgrade::UpgradeState>& states,
                                      int percent);

/// From Events of an upgrade until the creation of the driver pods there are, the median: how long old driver pods took
/// to end, after which Kubernetes makes the new ones. nullopt: fewer than three nodes tell.
std::optional<Measured> MeasureDriverStop(const Request& request);

/// As they were typed, the rest measured; `notes` gets what was measured, for people. Errors: one line that begins with the
/// option.
[[nodiscard]] absl::StatusOr<Durations> DurationsOf(const Options& options, const Request& request,
                                                    std::vector<std::string>& notes);

/// The nodes of the request that have a driver pod, all of them at the old revision and without marks of an upgrade, but
/// with their cordons and skip labels; their other pods, and the budgets. The same seed is the same rollout.
[[nodiscard]] absl::StatusOr<Rollout> SimulateRollout(const Request& request,
                                                      const driverupgrade::UpgradePolicy& policy,
                                                      const Durations& durations, std::uint32_t seed);

/// Whom a simulation leaves out although the driver's label says that they are of the driver, for a person; empty: nobody.
std::string LeftOut(const Request& request);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_SIMULATE_H_
