#include "model/node_marks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "model/cordon_names.h"

namespace driverupgrade {
namespace internal {
namespace {

constexpr std::string_view kStateLabelSuffix = "-driver-upgrade-state";
constexpr std::string_view kSteeringEffect = "PreferNoSchedule";

bool IsSteering(const Taint& taint, const DriverIdentity& identity) {
  return taint.effect == kSteeringEffect && taint.key == identity.PendingTaint();
}

// absl::string_view differs from std::string_view if abseil was built for C++14.
absl::string_view ToAbseil(std::string_view text) { return {text.data(), text.size()}; }

std::optional<Flag> ParseAny(std::string_view) { return Flag{}; }
std::optional<Flag> ParseTrue(std::string_view text) { return text == "true" ? std::optional(Flag{}) : std::nullopt; }
std::optional<Flag> ParseNotEmpty(std::string_view text) { return text.empty() ? std::nullopt : std::optional(Flag{}); }
std::optional<std::string> ParseText(std::string_view text) { return std::string(text); }

std::optional<absl::Time> ParseUnixSeconds(std::string_view text) {
  std::int64_t seconds = 0;
  // The upper limit keeps calculations with the time within the range of absl::Time.
  if (!absl::SimpleAtoi(ToAbseil(text), &seconds) || seconds < 0 || seconds > (std::int64_t{1} << 40))
    return std::nullopt;
  return absl::FromUnixSeconds(seconds);
}

std::optional<int> ParseCount(std::string_view text) {
  int count = 0;
  return absl::SimpleAtoi(ToAbseil(text), &count) && count >= 0 ? std::optional(count) : std::nullopt;
}

std::optional<Stage> ParseStage(std::string_view text) {
  const std::size_t first = text.find('@');
  const std::size_t last = text.rfind('@');
  if (first == last || std::count(text.begin(), text.end(), '@') != 2) return std::nullopt;
  const std::optional<absl::Time> began = ParseUnixSeconds(text.substr(first + 1, last - first - 1));
  if (!began) return std::nullopt;
  return Stage{.state = ParseUpgradeState(text.substr(0, first)),
               .began = *began,
               .revision = std::string(text.substr(last + 1))};
}

std::optional<Failures> ParseFailures(std::string_view text) {
  const std::size_t at = text.find('@');
  int count = 0;
  if (at == std::string_view::npos || !absl::SimpleAtoi(ToAbseil(text.substr(0, at)), &count) || count < 1) {
    return std::nullopt;
  }
  const std::optional<absl::Time> last = ParseUnixSeconds(text.substr(at + 1));
  return last ? std::optional(Failures{.count = count, .last = *last}) : std::nullopt;
}

std::optional<RestartOnly> ParseRestartOnly(std::string_view text) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos) return std::nullopt;
  return RestartOnly{.compared = std::string(text.substr(0, at)), .target = std::string(text.substr(at + 1))};
}

std::set<std::string> ParseNames(std::string_view text) {
  std::set<std::string> names;
  for (absl::string_view name : absl::StrSplit(ToAbseil(text), ',', absl::SkipWhitespace())) {
    names.emplace(absl::StripAsciiWhitespace(name));
  }
  return names;
}

// The key of a mark, and the parser of its text.
template <typename T>
struct Row {
  Mark<T> NodeMarks::*mark;
  const std::string& (DriverIdentity::*key)() const;
  std::optional<T> (*parse)(std::string_view text);
};

constexpr std::tuple kLabels{
    Row<UpgradeState>{&NodeMarks::state, &DriverIdentity::StateLabel, ParseUpgradeState},
    Row<Flag>{&NodeMarks::skip_upgrade, &DriverIdentity::SkipUpgradeLabel, ParseTrue},
};
constexpr std::tuple kAnnotations{
    Row<Flag>{&NodeMarks::safe_load, &DriverIdentity::SafeLoadAnnotation, ParseNotEmpty},
    Row<Flag>{&NodeMarks::upgrade_requested, &DriverIdentity::UpgradeRequestedAnnotation, ParseTrue},
    Row<Flag>{&NodeMarks::requestor_mode, &DriverIdentity::RequestorModeAnnotation, ParseAny},
    Row<Flag>{&NodeMarks::initially_unschedulable, &DriverIdentity::InitiallyUnschedulableAnnotation, ParseAny},
    Row<Stage>{&NodeMarks::stage, &DriverIdentity::StageAnnotation, ParseStage},
    Row<absl::Time>{&NodeMarks::pod_completion_start, &DriverIdentity::PodCompletionStartAnnotation, ParseUnixSeconds},
    Row<absl::Time>{&NodeMarks::validation_start, &DriverIdentity::ValidationStartAnnotation, ParseUnixSeconds},
    Row<absl::Time>{&NodeMarks::drain_start, &DriverIdentity::DrainStartAnnotation, ParseUnixSeconds},
    Row<absl::Time>{&NodeMarks::unwanted_since, &DriverIdentity::UnwantedSinceAnnotation, ParseUnixSeconds},
    Row<std::string>{&NodeMarks::failed_revision, &DriverIdentity::FailedRevisionAnnotation, ParseText},
    Row<Failures>{&NodeMarks::failures, &DriverIdentity::FailuresAnnotation, ParseFailures},
    Row<std::string>{&NodeMarks::failure_class, &DriverIdentity::FailureClassAnnotation, ParseText},
    Row<std::string>{&NodeMarks::failure_cause, &DriverIdentity::FailureCauseAnnotation, ParseText},
    Row<std::string>{&NodeMarks::waiting_for, &DriverIdentity::WaitingForAnnotation, ParseText},
    Row<std::string>{&NodeMarks::restart_pod, &DriverIdentity::RestartPodAnnotation, ParseText},
    Row<RestartOnly>{&NodeMarks::restart_only, &DriverIdentity::RestartOnlyAnnotation, ParseRestartOnly},
    Row<std::string>{&NodeMarks::reload_only, &DriverIdentity::ReloadOnlyAnnotation, ParseText},
    Row<std::string>{&NodeMarks::unit, &DriverIdentity::UnitAnnotation, ParseText},
    Row<std::string>{&NodeMarks::rollout_labels, &DriverIdentity::RolloutLabelsAnnotation, ParseText},
    Row<int>{&NodeMarks::isolated_devices, &DriverIdentity::IsolatedDevicesAnnotation, ParseCount},
};

// Keys with our prefix are adjacent in the map, so one look-up finds all our keys.
template <typename Rows>
void Decode(const StringMap& map, const DriverIdentity& identity, const Rows& rows, NodeMarks& marks) {
  for (auto it = map.lower_bound(identity.KeyPrefix()); it != map.end() && it->first.starts_with(identity.KeyPrefix());
       ++it) {
    const auto read = [&](const auto& row) {
      if (it->first != (identity.*row.key)()) return false;
      marks.*row.mark = {it->second, row.parse(it->second)};
      return true;
    };
    std::apply([&](const auto&... row) { static_cast<void>((read(row) || ...)); }, rows);
  }
}

template <typename T>
std::optional<std::string> TextOf(const Mark<T>& mark) {
  if (mark.text()) return std::string(*mark.text());
  return mark.value() ? std::optional(Spell(*mark.value())) : std::nullopt;
}

template <typename T>
void AddChange(const Mark<T>& from, const Mark<T>& to, const std::string& key,
               std::map<std::string, std::optional<std::string>>& changes) {
  if (to.text() && to.text() == from.text()) return;
  std::optional<std::string> text = TextOf(to);
  if (text != TextOf(from)) changes.emplace(key, std::move(text));
}

// The key is created once, because it is looked up on every node.
const std::string& CordonedByKey() {
  static const std::string& key = *new std::string(kCordonedByAnnotation);
  return key;
}

const std::string* FindText(const StringMap& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}

// Returns the state that the timer names; nullopt if the timer is invalid.
std::optional<UpgradeState> StateOfTimer(const NodeMarks& marks) {
  const std::optional<Stage>& stage = marks.stage.value();
  if (!stage || !stage->state) return std::nullopt;
  const bool is_timed = TraitsOf(*stage->state).limit != StageLimit::kNone;
  return is_timed || *stage->state == UpgradeState::kUpgradeRequired ? stage->state : std::nullopt;
}

// Returns true if an upgrade was in progress when the state label was removed. A name in the cordon set is only a
// leftover if the node is schedulable and its driver runs, because another engine has then finished the upgrade.
bool IsInterrupted(const Node& node, const NodeMarks& marks, bool named, bool driver_runs) {
  if (marks.isolated_devices.present()) return true;
  if (named) return marks.unschedulable || !driver_runs;
  if (!marks.unschedulable) return false;
  // If the cordon set does not contain our name, an administrator or a maintenance operator cordoned the node.
  const bool cordoned_by_others = marks.initially_unschedulable.present() || marks.requestor_mode.present();
  if (cordoned_by_others) return WasAdmitted(marks);
  // Otherwise, an administrator uncordoned the node while our driver was loading, and another driver cordoned the node
  // again before our engine did.
  const std::optional<UpgradeState> timed = StateOfTimer(marks);
  const bool was_loading = timed == UpgradeState::kPodRestartRequired || timed == UpgradeState::kValidationRequired;
  return was_loading && !driver_runs && !LiveCordonNames(node, "").empty();
}

// Derives the state of a node without a state label. If the timer does not name the state, the upgrade continues from
// the cordon, because states without a timer can be repeated safely.
std::optional<UpgradeState> StateWithoutLabel(const Node& node, const NodeMarks& marks, bool named, bool driver_runs) {
  const std::optional<UpgradeState> timed = StateOfTimer(marks);
  const bool is_interrupted = IsInterrupted(node, marks, named, driver_runs);
  // The timer shows that the node has not been admitted. Without the timer, the name in the cordon set would mean that
  // the node has been admitted.
  if (named && timed == UpgradeState::kUpgradeRequired) return is_interrupted ? timed : std::nullopt;
  if (marks.failed_revision.present()) return UpgradeState::kFailed;
  if (!is_interrupted) return std::nullopt;
  if (timed) return timed;
  if (marks.requestor_mode.present()) return std::nullopt;
  return marks.restart_only.present() ? UpgradeState::kPodRestartRequired : UpgradeState::kCordonRequired;
}

}  // namespace

std::string Spell(Flag) { return "true"; }
std::string Spell(UpgradeState state) { return std::string(ToLabelValue(state)); }
std::string Spell(absl::Time time) { return fmt::format("{}", absl::ToUnixSeconds(time)); }
std::string Spell(const std::string& text) { return text; }
std::string Spell(int number) { return fmt::format("{}", number); }
std::string Spell(const Stage& stage) {
  return fmt::format("{}@{}@{}", stage.state ? ToLabelValue(*stage.state) : "", absl::ToUnixSeconds(stage.began),
                     stage.revision);
}
std::string Spell(const Failures& failures) {
  return fmt::format("{}@{}", failures.count, absl::ToUnixSeconds(failures.last));
}
std::string Spell(const RestartOnly& restart_only) {
  return fmt::format("{}@{}", restart_only.compared, restart_only.target);
}
std::string Spell(const std::set<std::string>& names) { return fmt::format("{}", fmt::join(names, ",")); }

bool IsListed(std::string_view name, std::string_view list) {
  return !name.empty() && fmt::format(",{},", list).find(fmt::format(",{},", name)) != std::string::npos;
}

std::vector<Taint> WithSteering(const Node& node, const DriverIdentity& identity, bool steers) {
  std::vector<Taint> taints = node.taints;
  std::erase_if(taints, [&](const Taint& taint) { return IsSteering(taint, identity); });
  if (steers) {
    taints.push_back({.key = identity.PendingTaint(), .value = "pending", .effect = std::string(kSteeringEffect)});
  }
  return taints;
}

bool CanWriteTaints(const Node& node) {
  return std::none_of(node.taints.begin(), node.taints.end(), [](const Taint& taint) { return taint.effect.empty(); });
}

void RemoveMarks(Node& node, const DriverIdentity& identity) {
  const std::string& skip = identity.SkipUpgradeLabel();
  const bool skipped = node.labels.contains(skip);
  const auto is_ours = [&](const auto& entry) {
    return std::string_view(entry.first).starts_with(identity.KeyPrefix());
  };
  std::erase_if(node.labels, is_ours);
  // If the annotation is missing, an administrator set the cordon, so the cordon stays.
  if (node.annotations.erase(std::string(kCordonedByAnnotation)) > 0) node.unschedulable = false;
  std::erase_if(node.annotations, is_ours);
  node.taints = WithSteering(node, identity, /*steers=*/false);
  if (skipped) node.labels[skip] = "true";
}

StringMap KnownLabels(const Node& node, const NodeMarks& marks, bool recorded_first) {
  StringMap labels = node.labels;
  const UpgradeState state = marks.State().value_or(UpgradeState::kUnknown);
  if (state == UpgradeState::kUnknown || state == UpgradeState::kDone) return labels;
  const std::string recorded = marks.rollout_labels.value().value_or("");
  const std::vector<std::string> entries = absl::StrSplit(recorded, ',', absl::SkipEmpty());
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    const bool is_set = equals != std::string::npos;
    const std::string key = entry.substr(0, equals);
    if (!recorded_first && (!is_set || labels.contains(key))) continue;
    if (is_set) {
      labels[key] = entry.substr(equals + 1);
    } else {
      labels.erase(key);
    }
  }
  return labels;
}

StringMap RolloutLabels(const Node& node, const NodeMarks& marks) {
  const UpgradeState state = marks.State().value_or(UpgradeState::kUnknown);
  return KnownLabels(node, marks, state != UpgradeState::kUpgradeRequired && state != UpgradeState::kFailed);
}

bool WasAdmitted(const NodeMarks& marks) {
  return StateOfTimer(marks) || marks.restart_pod.present() || marks.restart_only.present() ||
         marks.failed_revision.present();
}

bool IsInCordonSet(const NodeMarks& marks, const DriverIdentity& identity) {
  return marks.cordoned_by.value() && marks.cordoned_by.value()->contains(identity.Name());
}

bool IsIsolated(const NodeMarks& marks, const DriverIdentity& identity) {
  return marks.isolated_devices.present() || IsInCordonSet(marks, identity);
}

std::optional<UpgradeState> NodeMarks::State() const {
  if (unreadable) return std::nullopt;
  return HasLabel() ? state.value() : unlabelled.value_or(UpgradeState::kUnknown);
}

NodeMarks DecodeMarks(const Node& node, const DriverIdentity& identity, bool driver_runs) {
  NodeMarks marks{.unreadable = !node.unreadable.empty(),
                  .unschedulable = node.unschedulable,
                  .steers = std::any_of(node.taints.begin(), node.taints.end(),
                                        [&](const Taint& taint) { return IsSteering(taint, identity); })};
  Decode(node.labels, identity, kLabels, marks);
  Decode(node.annotations, identity, kAnnotations, marks);
  if (const std::string* names = FindText(node.annotations, CordonedByKey())) {
    marks.cordoned_by = {*names, ParseNames(*names)};
  }
  if (!marks.HasLabel()) marks.unlabelled = StateWithoutLabel(node, marks, IsIsolated(marks, identity), driver_runs);
  return marks;
}

MarkChanges ChangesBetween(const NodeMarks& from, const NodeMarks& to, const DriverIdentity& identity) {
  MarkChanges changes;
  const auto add_to = [&](auto& map) {
    return [&](const auto&... row) { (AddChange(from.*row.mark, to.*row.mark, (identity.*row.key)(), map), ...); };
  };
  std::apply(add_to(changes.labels), kLabels);
  std::apply(add_to(changes.annotations), kAnnotations);
  AddChange(from.cordoned_by, to.cordoned_by, CordonedByKey(), changes.annotations);
  if (from.unschedulable != to.unschedulable) changes.unschedulable = to.unschedulable;
  if (from.steers != to.steers) changes.steers = to.steers;
  return changes;
}

std::optional<UpgradeState> StateOf(const Node& node, const DriverIdentity& identity) {
  if (!node.unreadable.empty()) return std::nullopt;
  const std::string* label = FindText(node.labels, identity.StateLabel());
  if (label != nullptr && !label->empty()) return ParseUpgradeState(*label);
  return DecodeMarks(node, identity).State();
}

std::set<std::string> ApprovalsOn(const DaemonSet& daemon_set, const DriverIdentity& identity) {
  const std::string* found = FindText(daemon_set.annotations, identity.ApprovedAnnotation());
  if (found == nullptr) return {};
  return absl::StrSplit(*found, absl::ByAnyChar(", \t"), absl::SkipEmpty());
}

std::string KeyOfRequest(const DriverIdentity& identity) { return identity.UpgradeRequestedAnnotation(); }

std::string ApprovalCommand(const DaemonSet& daemon_set, const DriverIdentity& identity, std::string_view approval) {
  return fmt::format("kubectl annotate daemonset -n {} {} --overwrite {}={}", daemon_set.ns, daemon_set.name,
                     identity.ApprovedAnnotation(), approval);
}

bool HasState(const Node& node, const DriverIdentity& identity) {
  const std::string* label = FindText(node.labels, identity.StateLabel());
  return label != nullptr && !label->empty();
}

bool IsMarked(const Node& node, const DriverIdentity& identity) {
  if (HasState(node, identity) || CordonNames(node).contains(identity.Name())) return true;
  // An administrator's cordon does not have our name in the cordon set.
  return (node.unschedulable || FindText(node.annotations, identity.IsolatedDevicesAnnotation()) != nullptr) &&
         IsBusy(node, identity);
}

StringMap LabelsWithoutState(const Node& node, const DriverIdentity& identity) {
  StringMap labels = node.labels;
  labels.erase(identity.StateLabel());
  return labels;
}

std::string StateText(const Node& node, const DriverIdentity& identity) {
  const auto found = node.labels.find(identity.StateLabel());
  return found == node.labels.end() ? std::string() : found->second;
}

bool IsBusy(const Node& node, const DriverIdentity& identity) {
  const std::optional<UpgradeState> state = StateOf(node, identity);
  return !state || IsInProgress(*state);
}

std::vector<DriverIdentity> DriversWithLabel(const Node& node) {
  std::vector<DriverIdentity> drivers;
  for (const auto& [key, value] : node.labels) {
    if (!key.ends_with(kStateLabelSuffix)) continue;
    const std::string_view name(key.data(), key.size() - kStateLabelSuffix.size());
    if (std::optional<DriverIdentity> driver = ParseDriverName(name)) drivers.push_back(*std::move(driver));
  }
  return drivers;
}

std::set<std::string> CordonNames(const Node& node) {
  const std::string* names = FindText(node.annotations, CordonedByKey());
  return names == nullptr ? std::set<std::string>() : ParseNames(*names);
}

}  // namespace internal
}  // namespace driverupgrade
