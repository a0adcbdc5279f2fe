/// In which order, when and in which steps the nodes of a fleet are upgraded: the section `rollout` of a policy, and the
/// budgets of `failurePolicy.byClass`.
///
/// Defines RolloutPolicy and its parts, FailureClass and FailureBudgets.
///
///     RolloutPolicy rollout;
///     rollout.stages = {{.name = "canary", .nodes = Count{2}, .soak = absl::Hours(1), .approval = Approval::kManual}};
///     rollout.closed = {{.first = absl::CivilDay(2026, 12, 24), .last = absl::CivilDay(2027, 1, 2)}};
///
/// As in upgrade_policy.h there are no sentinels, and an absent part is switched off. A RolloutPolicy of defaults lets
/// every node start that the limits of the policy let start. Values.
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

/// Who lets the stage after this one begin.
enum class Approval : std::uint8_t {
  kAutomatic,  ///< Nobody has to.
  kManual,     ///< An administrator, by naming this stage and the revision.
};

/// How the stage is called that the nodes belong to that no other names.
inline constexpr std::string_view kLastStage = "rest";

/// Some nodes of the fleet, which are upgraded before those of the stages after it.
struct RolloutStage {
  /// Unique; up to 63 letters, digits, `-`, `_` and `.`, and not kLastStage.
  std::string name = {};
  /// How many nodes, of those in no earlier stage, or which. A percentage is one of the whole fleet and rounds up.
  std::variant<CountOrPercent, LabelSelector> nodes = Count{1};
  /// Nodes of this stage in progress at once, beside the limits of the policy; nullopt: no limit of its own.
  std::optional<int> max_parallel = std::nullopt;
  /// How long the nodes must have been well, from when the last one is done, before the next stage begins.
  absl::Duration soak = absl::ZeroDuration();
  /// Failed nodes that the stage may have: one more halts the rollout, and the stage is done in spite of so many. A
  /// percentage is one of the stage and rounds down. nullopt: no failure halts, and the stage is not done before every
  /// failed node is repaired.
  std::optional<CountOrPercent> max_failures = std::nullopt;
  Approval approval = Approval::kAutomatic;
  friend bool operator==(const RolloutStage&, const RolloutStage&) = default;
};

/// What says which of two waiting nodes goes first.
enum class OrderBy : std::uint8_t {
  kIdle,        ///< Nodes on which no pod would be evicted.
  kFewestPods,  ///< By the number of pods that would be evicted.
  kLabel,       ///< By the integer in a label, the larger first; without one: 0.
  kTopology,    ///< By the text of a label, so that nodes with the same value stand together; without one: last.
  kName,
};
struct RolloutOrder {
  OrderBy by = OrderBy::kName;
  /// The key of the label, of kLabel and kTopology; else empty.
  std::string label = {};
  friend bool operator==(const RolloutOrder&, const RolloutOrder&) = default;
};

/// What the nodes of one group, which have the same value of a label, have to do with each other. A node without the
/// label is a group by itself.
enum class GroupMode : std::uint8_t {
  kTogether,    ///< They start as one, count as one of maxParallel, and not before all of them fit maxUnavailable.
  kOneAtATime,  ///< No node of a second group starts before all of the first are done.
  kSpread,      ///< No more than max_per_group of a group are in progress at once.
};
struct NodeGroups {
  /// The key of the label.
  std::string by = {};
  GroupMode mode = GroupMode::kTogether;
  /// Of kSpread only. A percentage is one of the group and rounds up.
  CountOrPercent max_per_group = Count{1};
  friend bool operator==(const NodeGroups&, const NodeGroups&) = default;
};

/// Treatment of gangs: pods that only run together, such as those of one training job. One pod that is evicted stops them all.
enum class GangMode : std::uint8_t {
  kTogether,  ///< Nodes with pods of one gang start as one, so that the gang is interrupted once.
  kWhenDone,  ///< The same, but a gang may finish first: for `wait`, or without limit if that is zero.
};
/// Treatment of a gang on more nodes than may be unavailable at once.
enum class TooBig : std::uint8_t {
  kWait,   ///< Its nodes do not start.
  kSplit,  ///< Its nodes start in several parts; each part interrupts the gang.
};
/// Treatment of nodes that are not upgraded yet, while gangs restart.
enum class Steer : std::uint8_t {
  kPrefer,  ///< They have the taint DriverIdentity::PendingTaint, so that the scheduler prefers upgraded nodes.
  kNone,
};
struct NodeGangs {
  GangMode mode = GangMode::kTogether;
  TooBig too_big = TooBig::kWait;
  Steer steer = Steer::kPrefer;
  /// How long a gang may finish, or save its work, once nothing else keeps its nodes from starting. Zero with kTogether: not at
  /// all. The nodes start earlier if all its pods there have ended, or have the annotation `driverupgrade/may-stop: "true"`.
  absl::Duration wait = absl::ZeroDuration();
  friend bool operator==(const NodeGangs&, const NodeGangs&) = default;
};

/// In RolloutWindow::days_of_month: the last day, whichever number it has.
inline constexpr int kLastDayOfMonth = -1;

/// A time of the week, or of the month, at which nodes may start. Those that have started finish in their own time.
struct RolloutWindow {
  /// Weekdays on which the window begins, whenever it ends; empty: all.
  std::set<absl::Weekday> days = {};
  /// Days of the month on which it begins, 1 to 31 or kLastDayOfMonth; empty: all. With `days`, both must match: Tuesdays
  /// from the 8th to the 14th are the second Tuesday.
  std::set<int> days_of_month = {};
  /// On the clocks of `time_zone`, in whole minutes from midnight. A window whose start the clocks skip begins when
  /// they go on; one whose start they show twice begins the first time.
  absl::Duration start = absl::ZeroDuration();
  /// Real time, also on a day on which the clocks are set; but a window of whole days ends when the clocks show `start`
  /// again.
  absl::Duration duration = absl::Hours(1);
  /// The zone itself, read when the policy is made (LoadRolloutTimeZone). So decisions read no file, and a zone that this
  /// machine does not know is an error of the policy.
  TimeZoneTable time_zone = {};
  friend bool operator==(const RolloutWindow&, const RolloutWindow&) = default;
};

/// Days on which no node starts, both included; of which time zone: RolloutPolicy::closed_time_zone.
struct ClosedDays {
  absl::CivilDay first = {};
  absl::CivilDay last = {};
  friend bool operator==(const ClosedDays&, const ClosedDays&) = default;
};

/// A condition of a node that says that it is sick.
struct SickCondition {
  std::string type = {};
  /// `True`, `False` or `Unknown`.
  std::string status = {};
  friend bool operator==(const SickCondition&, const SickCondition&) = default;
};

/// RolloutHealth::unwell_max by default, also without a RolloutHealth.
inline constexpr absl::Duration kUnwellMax = absl::Minutes(1);

/// By what an upgraded node counts as sick or not well. One sick node halts the rollout; one that is not well only keeps
/// its stage from being done, as every pod is not ready while it starts.
struct RolloutHealth {
  /// Any one of them makes a node sick.
  std::vector<SickCondition> node_conditions = {};
  /// Pods that have to be ready on the node, one at least, for it to be well; nullopt: none.
  std::optional<LabelSelector> pod_selector = std::nullopt;
  /// Restarts that a container of the new driver pod may have: one more makes the node sick; nullopt: any number.
  std::optional<int> max_driver_restarts = std::nullopt;
  /// How long an upgraded node may be NotReady, or without a Ready driver, before it counts as sick; nullopt: a minute
  /// (kUnwellMax). It applies to the nodes of the stage that is open or soaks, and to those of the last group with
  /// GroupMode::kOneAtATime. Zero: the rollout checks neither.
  std::optional<absl::Duration> unwell_max = std::nullopt;
  friend bool operator==(const RolloutHealth&, const RolloutHealth&) = default;
};

/// How the nodes go back to the revision that the fleet has completed last.
enum class Rollback : std::uint8_t {
  kStaged,  ///< Stage by stage, as to any other revision.
  kFast,    ///< All stages are open immediately. Limits, groups, windows and health still apply.
};

struct RolloutPolicy {
  /// In their order; the nodes that no stage names come last.
  std::vector<RolloutStage> stages = {};
  /// The first that tells two nodes apart decides, and their names if none does.
  std::vector<RolloutOrder> order = {};
  std::optional<NodeGroups> groups = std::nullopt;
  /// nullopt: pods are evicted node by node. Otherwise `groups` must not be set. Nodes without pods that the upgrade evicts start first, then nodes with such
  /// pods but no gang on several nodes, then gangs. `order` decides among nodes of the first two kinds.
  std::optional<NodeGangs> gangs = std::nullopt;
  /// Nodes start in any of them; none: at any time.
  std::vector<RolloutWindow> windows = {};
  std::vector<ClosedDays> closed = {};
  /// Time zone of `closed`; nullopt: that of each window, and UTC without windows.
  std::optional<TimeZoneTable> closed_time_zone = std::nullopt;
  Rollback rollback = Rollback::kStaged;
  /// A node starts only if it will be done before the window closes, by what nodes have taken so far.
  bool finish_by = false;
  /// How long a node takes, until enough nodes have been measured. With it, measurements of earlier revisions do not
  /// count. Must be set with `finish_by`, and be shorter than the longest window.
  std::optional<absl::Duration> expected_node_duration = std::nullopt;
  std::optional<RolloutHealth> health = std::nullopt;
  friend bool operator==(const RolloutPolicy&, const RolloutPolicy&) = default;
};

/// Why the upgrade of a node failed.
enum class FailureClass : std::uint8_t {
  kDriverCrash,   ///< The driver pod's containers end again and again, or it does not get ready.
  kImagePull,     ///< The image of the driver cannot be pulled.
  kValidation,    ///< The validation pods do not get ready.
  kDrainBlocked,  ///< Pods were still there when the time for their eviction was over.
  kNodeLost,      ///< The node was not ready.
};
inline constexpr std::array kAllFailureClasses = {FailureClass::kDriverCrash, FailureClass::kImagePull,
                                                  FailureClass::kValidation, FailureClass::kDrainBlocked,
                                                  FailureClass::kNodeLost};

/// Failed nodes of one class at which no further node starts, as FailurePolicy::max_failures counts those of all
/// classes. Percentages are of the fleet and round down, to 1 at least. A class that is not named has no budget of its
/// own.
using FailureBudgets = std::map<FailureClass, CountOrPercent>;

/// As documents and metrics spell them.
std::string_view ToString(FailureClass failure);
std::string_view ToString(Rollback rollback);
std::string_view ToString(GangMode mode);
std::string_view ToString(TooBig too_big);
std::string_view ToString(Steer steer);

/// The zone of an IANA name such as `Europe/Berlin` or `UTC`, from the time zone files of this machine (those that
/// abseil reads). Errors: InvalidArgument for a text that is no such name (`localtime` is none: it means something else on
/// each machine) and for a zone that this machine does not know.
[[nodiscard]] absl::StatusOr<absl::TimeZone> LoadRolloutTimeZone(std::string_view name);

/// InvalidArgument, with the path of each field as the documents spell it, if a value is out of range, or fields
/// contradict each other.
[[nodiscard]] absl::Status Validate(const RolloutPolicy& rollout);
[[nodiscard]] absl::Status Validate(const FailureBudgets& budgets);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_ROLLOUT_POLICY_H_
