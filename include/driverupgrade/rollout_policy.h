/// The order, times and steps in which the nodes of a fleet are upgraded: a policy's `rollout` section, and its
/// `failurePolicy.byClass` budgets.
///
/// Defines RolloutPolicy and its parts, FailureClass and FailureBudgets.
///
///     RolloutPolicy rollout;
///     rollout.stages = {{.name = "canary", .nodes = Count{2}, .soak = absl::Hours(1), .approval = Approval::kManual}};
///     rollout.closed = {{.first = absl::CivilDay(2026, 12, 24), .last = absl::CivilDay(2027, 1, 2)}};
///
/// As in upgrade_policy.h, there are no sentinels, and an absent part is switched off. With a default RolloutPolicy,
/// every node that the policy's limits admit may start. All types are value types.
#ifndef DRIVERUPGRADE_ROLLOUT_POLICY_H_
#define DRIVERUPGRADE_ROLLOUT_POLICY_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/policy_values.h"

namespace driverupgrade {

/// Defines whether the next stage needs an approval to start.
enum class Approval : std::uint8_t {
  kAutomatic,  ///< No approval is needed.
  kManual,     ///< An administrator must approve the finished stage, separately for each revision.
};

/// Name of the stage that contains the nodes of no other stage.
inline constexpr std::string_view kLastStage = "rest";

/// A subset of the fleet that is upgraded before the nodes of later stages.
struct RolloutStage {
  /// Unique; up to 63 letters, digits, `-`, `_` and `.`, and not kLastStage.
  std::string name = {};
  /// The nodes of the stage: a selector, or a number of nodes that are not in an earlier stage. A percentage is
  /// relative to the size of the whole fleet and is rounded up.
  std::variant<CountOrPercent, LabelSelector> nodes = Count{1};
  /// Maximum number of nodes of this stage in progress at the same time. The policy's own limits also apply. nullopt:
  /// the stage has no separate limit.
  std::optional<int> max_parallel = std::nullopt;
  /// Time for which the nodes must stay healthy before the next stage starts, measured from the moment the last node is
  /// done.
  absl::Duration soak = absl::ZeroDuration();
  /// Number of failed nodes that the stage tolerates: the stage can still be done, but one more failure halts the
  /// rollout. A percentage is relative to the number of nodes in the stage and is rounded down. nullopt: failures never
  /// halt the rollout, but the stage is not done until every failed node has been repaired.
  std::optional<CountOrPercent> max_failures = std::nullopt;
  Approval approval = Approval::kAutomatic;
  friend bool operator==(const RolloutStage&, const RolloutStage&) = default;
};

/// The criterion that decides which of two waiting nodes starts first.
enum class OrderBy : std::uint8_t {
  kIdle,        ///< Nodes on which no pod would be evicted come first.
  kFewestPods,  ///< Nodes with fewer pods that would be evicted come first.
  kLabel,       ///< Nodes with a larger integer in a label come first; a missing label counts as 0.
  kTopology,    ///< Sorted by a label's string value, which groups equal values; nodes without the label come last.
  kName,
};
struct RolloutOrder {
  OrderBy by = OrderBy::kName;
  /// The key of the label, for kLabel and kTopology; otherwise empty.
  std::string label = {};
  friend bool operator==(const RolloutOrder&, const RolloutOrder&) = default;
};

/// Defines how the nodes of a group depend on each other. A group consists of the nodes with the same value for a
/// label; a node without the label is a group on its own.
enum class GroupMode : std::uint8_t {
  kTogether,  ///< Nodes of a group start together, take one slot of maxParallel, and must all fit into maxUnavailable.
  kOneAtATime,  ///< No node of another group starts before all nodes of the current group are done.
  kSpread,      ///< At most max_per_group nodes of a group are in progress at the same time.
};
struct NodeGroups {
  /// The key of the label.
  std::string by = {};
  GroupMode mode = GroupMode::kTogether;
  /// Maximum number of nodes of a group in progress at the same time. Must not be set except with kSpread. A percentage
  /// is relative to the size of the group and is rounded up.
  CountOrPercent max_per_group = Count{1};
  friend bool operator==(const NodeGroups&, const NodeGroups&) = default;
};

/// Treatment of gangs: pods that run only together, such as the pods of one training job. Evicting one pod stops the
/// whole gang.
enum class GangMode : std::uint8_t {
  kTogether,  ///< Nodes with pods of one gang start together, so that the gang is interrupted once.
  kWhenDone,  ///< Same as kTogether, but each gang first gets time to finish: `wait`, or unlimited time if `wait` is
              ///< zero.
};
/// Treatment of a gang that spans more nodes than may be unavailable at the same time.
enum class TooBig : std::uint8_t {
  kWait,   ///< The gang's nodes do not start.
  kSplit,  ///< The gang's nodes start in several parts; each part interrupts the gang.
};
/// Treatment of nodes that are not upgraded yet while gangs restart.
enum class Steer : std::uint8_t {
  kPrefer,  ///< Such nodes have the taint DriverIdentity::PendingTaint, so that the scheduler prefers upgraded nodes.
  kNone,
};
struct NodeGangs {
  GangMode mode = GangMode::kTogether;
  TooBig too_big = TooBig::kWait;
  Steer steer = Steer::kPrefer;
  /// Time for a gang to finish, or to save its work, once nothing else keeps its nodes from starting. Zero means no
  /// time with kTogether, and unlimited time with kWhenDone. The nodes start earlier once each of the gang's pods on
  /// these nodes has ended or has the annotation `driverupgrade/may-stop: "true"`.
  absl::Duration wait = absl::ZeroDuration();
  friend bool operator==(const NodeGangs&, const NodeGangs&) = default;
};

/// In RolloutWindow::days_of_month: the last day of the month, regardless of its number.
inline constexpr int kLastDayOfMonth = -1;

/// A weekly or monthly period in which nodes may start. Nodes that have started may finish after the window closes.
struct RolloutWindow {
  /// Weekdays on which the window starts, regardless of when it ends; empty: all.
  std::set<absl::Weekday> days = {};
  /// Days of the month on which the window starts, 1 to 31 or kLastDayOfMonth; empty: all. If `days` is also set, both
  /// must match: for example, Tuesday together with days 8 to 14 means the second Tuesday of the month.
  std::set<int> days_of_month = {};
  /// Local time in `time_zone`, in whole minutes after midnight. If the clocks skip this time, the window starts when
  /// they are set forward; if they show it twice, the first occurrence counts.
  absl::Duration start = absl::ZeroDuration();
  /// Length of the window in elapsed time, even if the clocks change during the window. Exception: a window of whole
  /// days ends when the clocks show `start` again.
  absl::Duration duration = absl::Hours(1);
  /// Time zone of `start`. The zone is loaded when the policy is created (LoadRolloutTimeZone), so that decisions read
  /// no files. A policy is invalid if this machine's time zone files do not contain the zone.
  TimeZoneTable time_zone = {};
  friend bool operator==(const RolloutWindow&, const RolloutWindow&) = default;
};

/// A range of days on which no node starts, including the first and the last day. RolloutPolicy::closed_time_zone sets
/// their time zone.
struct ClosedDays {
  absl::CivilDay first = {};
  absl::CivilDay last = {};
  friend bool operator==(const ClosedDays&, const ClosedDays&) = default;
};

/// A condition that marks a node as sick.
struct SickCondition {
  std::string type = {};
  /// `True`, `False` or `Unknown`.
  std::string status = {};
  friend bool operator==(const SickCondition&, const SickCondition&) = default;
};

/// Default of RolloutHealth::unwell_max. Also applies to policies without a RolloutHealth.
inline constexpr absl::Duration kUnwellMax = absl::Minutes(1);

/// Criteria by which an upgraded node counts as sick or unwell. One sick node halts the rollout; an unwell node only
/// delays the end of its stage, because even healthy pods are not ready while they are starting.
struct RolloutHealth {
  /// Each of these conditions makes a node sick.
  std::vector<SickCondition> node_conditions = {};
  /// Selects pods on the node. A node is unwell unless it has such pods and all of them are ready; nullopt: no pods are
  /// checked.
  std::optional<LabelSelector> pod_selector = std::nullopt;
  /// Maximum number of restarts of a container in the new driver pod: one more restart makes the node sick; nullopt: no
  /// limit.
  std::optional<int> max_driver_restarts = std::nullopt;
  /// Time for which an upgraded node may be NotReady, or without a Ready driver, before it counts as sick; nullopt: a
  /// minute (kUnwellMax). The limit applies to the nodes of the stage that is open or soaking and, with
  /// GroupMode::kOneAtATime, to the nodes of the last group. Zero: the rollout checks neither condition.
  std::optional<absl::Duration> unwell_max = std::nullopt;
  friend bool operator==(const RolloutHealth&, const RolloutHealth&) = default;
};

/// Handling of a rollback to the revision that the fleet completed last.
enum class Rollback : std::uint8_t {
  kStaged,  ///< Stage by stage, like any other revision.
  kFast,    ///< All stages are open immediately. Limits, groups, windows and health still apply.
};

struct RolloutPolicy {
  /// Stages in the order in which they open. Nodes that no stage selects are upgraded after the last stage.
  std::vector<RolloutStage> stages = {};
  /// Criteria in order of priority: the first criterion that distinguishes two nodes decides; if none does, the names
  /// decide.
  std::vector<RolloutOrder> order = {};
  std::optional<NodeGroups> groups = std::nullopt;
  /// nullopt: the rollout does not consider gangs. Otherwise `groups` must not be set. Nodes on which the upgrade
  /// evicts no pods start first. Nodes whose evicted pods do not belong to a gang on several nodes come next, and gangs
  /// come last. `order` applies within each of the first two categories.
  std::optional<NodeGangs> gangs = std::nullopt;
  /// Nodes may start in any of these windows; empty: at any time.
  std::vector<RolloutWindow> windows = {};
  std::vector<ClosedDays> closed = {};
  /// Time zone of `closed`. nullopt: each window applies `closed` in its own time zone; without windows, UTC.
  std::optional<TimeZoneTable> closed_time_zone = std::nullopt;
  Rollback rollback = Rollback::kStaged;
  /// True: a node starts only if it is expected to finish before the window closes, judging by the durations measured
  /// so far.
  bool finish_by = false;
  /// Expected duration of a node's upgrade until enough nodes have been measured. If it is set, measurements of earlier
  /// revisions do not count. Must be set if `finish_by` is set, and must be shorter than the longest window.
  std::optional<absl::Duration> expected_node_duration = std::nullopt;
  std::optional<RolloutHealth> health = std::nullopt;
  friend bool operator==(const RolloutPolicy&, const RolloutPolicy&) = default;
};

/// The reason why the upgrade of a node failed.
enum class FailureClass : std::uint8_t {
  kDriverCrash,   ///< The driver pod's containers crash repeatedly, or it does not become ready.
  kImagePull,     ///< The driver image cannot be pulled.
  kValidation,    ///< The validation pods do not become ready.
  kDrainBlocked,  ///< Pods still existed when their eviction timed out.
  kNodeLost,      ///< The node was not ready.
};
inline constexpr std::array kAllFailureClasses = {FailureClass::kDriverCrash, FailureClass::kImagePull,
                                                  FailureClass::kValidation, FailureClass::kDrainBlocked,
                                                  FailureClass::kNodeLost};

/// For each class, the number of failed nodes at which no more nodes start; FailurePolicy::max_failures counts all
/// classes. Percentages are relative to the size of the fleet and are rounded down, but to at least 1. A missing class
/// has no separate budget.
using FailureBudgets = std::map<FailureClass, CountOrPercent>;

/// Returns the name used in documents and metrics.
std::string_view ToString(FailureClass failure);
std::string_view ToString(Rollback rollback);
std::string_view ToString(GangMode mode);
std::string_view ToString(TooBig too_big);
std::string_view ToString(Steer steer);

/// Uses abseil to load the time zone with an IANA name, such as `Europe/Berlin` or `UTC`, from this machine's time zone
/// files. Errors: InvalidArgument if `name` is not such a name (`localtime` is not: it differs between machines), or if
/// the files do not contain the zone.
[[nodiscard]] absl::StatusOr<absl::TimeZone> LoadRolloutTimeZone(std::string_view name);

/// Returns InvalidArgument, with the path of each field as in documents, if a value is out of range or fields
/// contradict each other.
[[nodiscard]] absl::Status Validate(const RolloutPolicy& rollout);
[[nodiscard]] absl::Status Validate(const FailureBudgets& budgets);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_ROLLOUT_POLICY_H_
