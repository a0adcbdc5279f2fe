#include "testing/invariants/node_truth.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/numbers.h"
#include "fmt/format.h"
#include "testing/invariants/program_at_work.h"

namespace driverupgrade::testing::internal {
namespace {

constexpr std::string_view kStateSuffix = "-driver-upgrade-state";
constexpr std::string_view kMarkInfix = "-driver-upgrade";
constexpr std::string_view kRequestorSuffix = "-driver-upgrade-requestor-mode";
constexpr std::string_view kFailedRevisionSuffix = "-driver-upgrade.failed-revision";
constexpr std::string_view kInitialSuffix = "-driver-upgrade.node-initial-state.unschedulable";
// Number of history entries kept for one node. The data that a client has read is seldom more than a few changes old.
constexpr std::size_t kHistoryMax = 16;

// Returns the names in a comma-separated set.
std::vector<std::string_view> Names(std::string_view text) {
  std::vector<std::string_view> names;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    std::string_view name = text.substr(0, comma);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    while (!name.empty() && name.front() == ' ') name.remove_prefix(1);
    while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
    if (!name.empty()) names.push_back(name);
  }
  return names;
}

std::vector<std::string_view> CordonNames(const Node& node, const Keys& keys) {
  const auto found = node.annotations.find(keys.cordoned_by);
  return found == node.annotations.end() ? std::vector<std::string_view>{} : Names(found->second);
}

// Returns true if a failed driver that is not named on the cordon does not lift it either. The Go library does not write
// the failed revision, and lifts a cordon on which it is not named.
bool HasLeftCordon(const Node& node, const std::string& driver) {
  const auto has = [&](std::string_view suffix) { return node.annotations.contains(driver + std::string(suffix)); };
  return has(kFailedRevisionSuffix) && !has(kRequestorSuffix) && !has(kInitialSuffix);
}

// Returns true if another driver is past its cordon-required state but is not named on the cordon. `counts(name,
// state)` can exclude drivers.
template <class F>
bool AnyUnnamedDriver(const Node& node, const Keys& keys, F counts) {
  const std::vector<std::string_view> names = CordonNames(node, keys);
  return std::any_of(node.labels.begin(), node.labels.end(), [&](const auto& label) {
    const std::string& key = label.first;
    if (key == keys.state || !key.ends_with(kStateSuffix)) return false;
    const std::string driver = key.substr(0, key.size() - kStateSuffix.size());
    if (std::find(names.begin(), names.end(), driver) != names.end()) return false;
    const auto state = ParseUpgradeState(label.second);
    return state && IsBusy(state) && *state != UpgradeState::kCordonRequired && counts(driver, *state);
  });
}

// Returns true if another driver that is not named on the cordon relies on the cordon, or if the maintenance operator
// needs the cordon on behalf of such a driver.
bool UnnamedDriverNeedsCordon(const Node& node, const Keys& keys) {
  return AnyUnnamedDriver(node, keys, [&](const std::string& driver, UpgradeState state) {
    if (state == UpgradeState::kFailed && HasLeftCordon(node, driver)) return false;
    return node.annotations.contains(driver + std::string(kRequestorSuffix)) ||
           (state != UpgradeState::kNodeMaintenanceRequired && state != UpgradeState::kUncordonRequired);
  });
}

// Returns the state in the driver's timer annotation, if that state has a timer.
std::optional<UpgradeState> StateOfTimer(const Node& node, std::string_view driver) {
  const auto found = node.annotations.find(std::string(driver) + std::string(kMarkInfix) + ".stage");
  if (found == node.annotations.end()) return std::nullopt;
  const std::string& text = found->second;
  const std::size_t first = text.find('@');
  const std::size_t second = first == std::string::npos ? first : text.find('@', first + 1);
  std::int64_t seconds = 0;
  if (second == std::string::npos || text.find('@', second + 1) != std::string::npos) return std::nullopt;
  if (!absl::SimpleAtoi(text.substr(first + 1, second - first - 1), &seconds) || seconds < 0) return std::nullopt;
  const std::optional<UpgradeState> state = ParseUpgradeState(text.substr(0, first));
  const bool is_timed =
      IsEvacuating(state) || state == UpgradeState::kWaitForJobsRequired || state == UpgradeState::kUpgradeRequired;
  return is_timed ? state : std::nullopt;
}

// Returns true if marks other than the driver's name show that an upgrade of the driver was admitted.
bool WasAdmitted(const Node& node, std::string_view driver) {
  const auto has = [&](std::string_view suffix) {
    return node.annotations.contains(std::string(driver) + std::string(kMarkInfix) + std::string(suffix));
  };
  return StateOfTimer(node, driver) || has(".restart-pod") || has(".restart-only") || has(".failed-revision");
}

// The state of the upgrade of a driver that is named on the cordon.
enum class Named : std::uint8_t { kUnderWay, kWithoutState, kEnded };

Named ReadName(const Node& node, std::string_view name) {
  if (name.find('/') == std::string_view::npos) return Named::kEnded;  // not a driver's name
  const auto label = node.labels.find(std::string(name) + std::string(kStateSuffix));
  if (label == node.labels.end() || label->second.empty()) {
    return node.unschedulable && WasAdmitted(node, name) ? Named::kUnderWay : Named::kWithoutState;
  }
  return ParseUpgradeState(label->second) == UpgradeState::kDone ? Named::kEnded : Named::kUnderWay;
}

bool IsSteering(const Taint& taint, const Keys& keys) {
  return taint.key == keys.taint && taint.effect == "PreferNoSchedule";
}

// Returns the first key whose value differs and for which `allowed(key, removed)` returns false.
template <class F>
std::string FirstDifference(const StringMap& before, const StringMap& after, F allowed) {
  auto a = before.begin();
  auto b = after.begin();
  while (a != before.end() || b != after.end()) {
    if (a != before.end() && b != after.end() && *a == *b) {
      ++a;
      ++b;
      continue;
    }
    const bool removed = b == after.end() || (a != before.end() && a->first < b->first);
    const std::string& key = removed ? a->first : b->first;
    if (!allowed(key, removed)) return key;
    const bool changed = !removed && a != before.end() && a->first == b->first;
    if (removed || changed) ++a;
    if (!removed) ++b;
  }
  return "";
}

}  // namespace

Keys::Keys(const DriverIdentity& identity)
    : name(identity.Name()),
      state(identity.StateLabel()),
      skip(identity.SkipUpgradeLabel()),
      initial(identity.InitiallyUnschedulableAnnotation()),
      stage(identity.StageAnnotation()),
      restart_only(identity.RestartOnlyAnnotation()),
      reload_only(identity.ReloadOnlyAnnotation()),
      restart_pod(identity.RestartPodAnnotation()),
      safe_load(identity.SafeLoadAnnotation()),
      requestor_mode(identity.RequestorModeAnnotation()),
      cordoned_by(kCordonedByAnnotation),
      failure_class(identity.FailureClassAnnotation()),
      failed_revision(identity.FailedRevisionAnnotation()),
      isolated_devices(identity.IsolatedDevicesAnnotation()),
      taint(identity.PendingTaint()),
      written({initial, stage, restart_only, reload_only, cordoned_by, identity.PodCompletionStartAnnotation(),
               identity.ValidationStartAnnotation(), requestor_mode, identity.FailedRevisionAnnotation(),
               identity.FailuresAnnotation(), identity.FailureCauseAnnotation(), identity.WaitingForAnnotation(),
               identity.UnitAnnotation(), identity.DrainStartAnnotation(), identity.UnwantedSinceAnnotation(),
               identity.RolloutLabelsAnnotation(), restart_pod, failure_class, isolated_devices}),
      removed({safe_load, identity.UpgradeRequestedAnnotation()}) {}

bool HasLabel(const Node& node, const Keys& keys) {
  const auto found = node.labels.find(keys.state);
  return found != node.labels.end() && !found->second.empty();
}

bool MayGoOn(const Node& node, const Keys& keys) {
  if (HasLabel(node, keys)) return false;
  if (node.annotations.contains(keys.requestor_mode)) return true;
  if (!node.unschedulable) return IsMarked(node, keys);
  const auto timed = StateOfTimer(node, keys.name);
  return !IsMarked(node, keys) && !LiveName(node, keys).empty() &&
         (timed == UpgradeState::kPodRestartRequired || timed == UpgradeState::kValidationRequired);
}

std::optional<UpgradeState> StateOf(const Node& node, const Keys& keys) {
  if (HasLabel(node, keys)) return ParseUpgradeState(node.labels.at(keys.state));
  const bool is_marked = IsMarked(node, keys);
  const bool waits = is_marked && StateOfTimer(node, keys.name) == UpgradeState::kUpgradeRequired;
  // If another client has removed the cordon, too, the node's upgrade also depends on its driver pods (MayGoOn).
  if (waits && !node.unschedulable) return UpgradeState::kUnknown;
  if (waits) return UpgradeState::kUpgradeRequired;
  if (node.annotations.contains(keys.failed_revision)) return UpgradeState::kFailed;
  const bool isolated = node.annotations.contains(keys.isolated_devices);
  if (!node.unschedulable && !isolated) return UpgradeState::kUnknown;
  const bool is_others = node.annotations.contains(keys.initial) || node.annotations.contains(keys.requestor_mode);
  if (!is_marked && !isolated && !(is_others && WasAdmitted(node, keys.name))) return UpgradeState::kUnknown;
  if (const auto state = StateOfTimer(node, keys.name)) return state;
  if (node.annotations.contains(keys.requestor_mode)) return UpgradeState::kUnknown;
  return node.annotations.contains(keys.restart_only) ? UpgradeState::kPodRestartRequired
                                                      : UpgradeState::kCordonRequired;
}

bool IsBusy(const std::optional<UpgradeState>& state) {
  return state != UpgradeState::kUnknown && state != UpgradeState::kUpgradeRequired && state != UpgradeState::kDone;
}

bool IsEvacuating(const std::optional<UpgradeState>& state) {
  // Evictions are also allowed in the last two states, because pods that have arrived in the meantime must leave before
  // the driver pod is deleted.
  return state == UpgradeState::kPodDeletionRequired || state == UpgradeState::kDrainRequired ||
         state == UpgradeState::kPodRestartRequired || state == UpgradeState::kValidationRequired;
}

bool WillBeCordoned(const std::optional<UpgradeState>& state) {
  return state && (*state == UpgradeState::kCordonRequired || *state == UpgradeState::kWaitForJobsRequired ||
                   *state == UpgradeState::kPodDeletionRequired || *state == UpgradeState::kDrainRequired ||
                   *state == UpgradeState::kPodRestartRequired || *state == UpgradeState::kValidationRequired);
}

namespace {

// Returns the class of the node's failure; nullopt if the node has not failed or its failure has no class.
std::optional<FailureClass> FailureOf(const Node& node, const Keys& keys) {
  const auto found = node.annotations.find(keys.failure_class);
  if (found == node.annotations.end() || StateOf(node, keys) != UpgradeState::kFailed) return std::nullopt;
  for (const FailureClass failure : kAllFailureClasses) {
    if (ToString(failure) == found->second) return failure;
  }
  return std::nullopt;
}

}  // namespace

NodeFacts FactsOf(const Node& node, const Keys& keys) {
  const std::optional<UpgradeState> state = StateOf(node, keys);
  const std::optional<FailureClass> failure = FailureOf(node, keys);
  const bool only_loads = node.annotations.contains(keys.reload_only);
  return {.state = state,
          .unschedulable = node.unschedulable,
          .isolated = node.annotations.contains(keys.isolated_devices),
          .noted = node.annotations.contains(keys.initial),
          .unnamed_driver_relies = UnnamedDriverNeedsCordon(node, keys),
          .stage_began = PresentStageBegan(node, keys),
          .failed = state == UpgradeState::kFailed && !only_loads,
          .failure_class = only_loads ? std::nullopt : failure,
          .given_back = failure == FailureClass::kDrainBlocked && !IsMarked(node, keys) &&
                        !node.annotations.contains(keys.initial),
          .unlabelled = !HasLabel(node, keys)};
}

bool HoldsSlot(const NodeFacts& node, const UpgradePolicy& policy) {
  if (!IsBusy(node.state)) return false;
  if (node.state == UpgradeState::kFailed && (policy.failure_policy || node.given_back)) return false;
  // dep-F14: a node that an administrator had cordoned does not count while it has this cordon.
  const bool outside = policy.cordoned_nodes == CordonedNodes::kProceed && node.noted;
  if (outside && (node.unschedulable || !WillBeCordoned(node.state))) return false;
  // dep-F8: a cordoned node in uncordon-required may only be keeping the cordon for another driver.
  const bool keeps_cordon = node.state == UpgradeState::kUncordonRequired && node.unschedulable;
  return !keeps_cordon || !node.unnamed_driver_relies;
}

void Remember(NodeFacts facts, std::int64_t revision, std::vector<NodeFacts>& history) {
  facts.since = history.empty() ? revision : history.back().since;
  if (!history.empty() && facts == history.back()) return;
  facts.since = revision;
  if (history.size() == kHistoryMax) history.erase(history.begin());
  history.push_back(facts);
}

std::size_t IndexAt(const std::vector<NodeFacts>& history, std::int64_t revision) {
  std::size_t index = history.size() - 1;
  while (index > 0 && history[index].since > revision) --index;
  return index;
}

std::optional<std::int64_t> SlotSince(const std::vector<NodeFacts>& history, const UpgradePolicy& policy) {
  const auto free =
      std::find_if(history.rbegin(), history.rend(), [&](const NodeFacts& facts) { return !HoldsSlot(facts, policy); });
  return free == history.rbegin() ? std::nullopt : std::optional(std::prev(free)->since);
}

bool IsMarked(const Node& node, const Keys& keys) {
  const std::vector<std::string_view> names = CordonNames(node, keys);
  return std::find(names.begin(), names.end(), keys.name) != names.end();
}

bool IsOutOfService(const Node& node, const Keys& keys) {
  return (node.unschedulable && IsMarked(node, keys)) || node.annotations.contains(keys.isolated_devices);
}

bool OtherDriverAtWork(const Node& node, const Keys& keys) {
  for (const std::string_view name : CordonNames(node, keys)) {
    if (name != keys.name) return true;
  }
  return UnnamedDriverNeedsCordon(node, keys);
}

std::string LiveName(const Node& node, const Keys& keys) {
  for (const std::string_view name : CordonNames(node, keys)) {
    if (name != keys.name && ReadName(node, name) == Named::kUnderWay) return std::string(name);
  }
  return "";
}

std::set<std::string> OthersLiveNames(const Node& node, const Keys& keys) {
  std::set<std::string> live;
  for (const std::string_view name : CordonNames(node, keys)) {
    if (name != keys.name && ReadName(node, name) == Named::kUnderWay) live.emplace(name);
  }
  return live;
}

std::string WhoRelies(const Node& node, const Keys& keys) {
  if (std::string program = ProgramAtWork(node); !program.empty()) return program;
  if (std::string name = LiveName(node, keys); !name.empty()) return name;
  return UnnamedDriverNeedsCordon(node, keys) ? "a driver that is not named on the cordon" : "";
}

bool UnnamedDriverMadeCordon(const Node& node, const Keys& keys) {
  return AnyUnnamedDriver(node, keys, [&](const std::string& driver, UpgradeState state) {
    return state != UpgradeState::kNodeMaintenanceRequired &&
           !node.annotations.contains(driver + std::string(kInitialSuffix));
  });
}

bool UnnamedDriverIsMaintained(const Node& node, const Keys& keys) {
  return AnyUnnamedDriver(node, keys, [&](const std::string& driver, UpgradeState) {
    return node.annotations.contains(driver + std::string(kRequestorSuffix)) &&
           !node.annotations.contains(driver + std::string(kInitialSuffix));
  });
}

bool AnUpgradesNameIsOn(const Node& node, const Keys& keys) {
  const std::vector<std::string_view> names = CordonNames(node, keys);
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return ReadName(node, name) != Named::kEnded; });
}

std::string WhyCordonStays(const Node& node, const Keys& keys, bool starts) {
  if (std::string who = WhoRelies(node, keys); !who.empty()) return who + " relies on it";
  if (node.annotations.contains(keys.isolated_devices)) return "only the devices of the node are isolated";
  const std::optional<UpgradeState> state = StateOf(node, keys);
  if (node.annotations.contains(keys.requestor_mode)) {
    // The annotation of the administrator's cordon is removed when the state becomes uncordon-required, so another
    // client must have written the annotation since then. If another client erased or mistyped the state, no step
    // removes the annotation.
    const bool noted_since = node.annotations.contains(keys.initial) &&
                             (!state || state == UpgradeState::kUncordonRequired || state == UpgradeState::kUnknown);
    if (noted_since) return "the initial-state annotation shows that it is an administrator's";
    return IsMarked(node, keys) ? "" : "it is the maintenance operator's";
  }
  // The patch that leaves upgrade-required determines the owner of the cordon again (dep-F7).
  const bool noted = node.annotations.contains(keys.initial) && !starts;
  if (noted) return "it is an administrator's";
  // After a failed attempt, nothing shows who owns the cordon that the next attempt finds.
  if (state && IsBusy(state) && !starts && (HasLabel(node, keys) || IsMarked(node, keys))) return "";
  if (UnnamedDriverMadeCordon(node, keys)) return "it was set by a driver that is not named on it";
  return AnUpgradesNameIsOn(node, keys) ? "" : "it is an administrator's";
}

namespace {

// Returns the taints of other clients, in their original order.
std::vector<Taint> ForeignTaints(const Node& node, const Keys& keys) {
  std::vector<Taint> taints = node.taints;
  std::erase_if(taints, [&](const Taint& taint) { return IsSteering(taint, keys); });
  return taints;
}

}  // namespace

bool Steers(const Node& node, const Keys& keys) {
  return std::any_of(node.taints.begin(), node.taints.end(),
                     [&](const Taint& taint) { return IsSteering(taint, keys); });
}

std::string ForeignChange(const Node& before, const Node& after, const Keys& keys) {
  const auto label = [&](const std::string& key, bool) { return key == keys.state; };
  if (std::string key = FirstDifference(before.labels, after.labels, label); !key.empty()) return "label " + key;
  const auto annotation = [&](const std::string& key, bool gone) {
    if (std::find(keys.written.begin(), keys.written.end(), key) != keys.written.end()) return true;
    return gone && std::find(keys.removed.begin(), keys.removed.end(), key) != keys.removed.end();
  };
  if (std::string key = FirstDifference(before.annotations, after.annotations, annotation); !key.empty()) {
    return "annotation " + key;
  }
  if (ForeignTaints(before, keys) != ForeignTaints(after, keys)) return "taints";
  return before.ready != after.ready ? "condition Ready" : "";
}

std::optional<absl::Time> StageBegan(const Node& node, const Keys& keys) {
  const auto found = node.annotations.find(keys.stage);
  if (found == node.annotations.end()) return std::nullopt;
  const std::string& text = found->second;
  const std::size_t first = text.find('@');
  const std::size_t second = first == std::string::npos ? first : text.find('@', first + 1);
  std::int64_t seconds = 0;
  if (second == std::string::npos) return std::nullopt;
  if (!absl::SimpleAtoi(text.substr(first + 1, second - first - 1), &seconds)) return std::nullopt;
  return absl::FromUnixSeconds(seconds);
}

std::optional<UpgradeState> TimedState(const Node& node, const Keys& keys) {
  return HasLabel(node, keys) ? StateOf(node, keys) : StateOfTimer(node, keys.name);
}

std::optional<absl::Time> PresentStageBegan(const Node& node, const Keys& keys) {
  const auto timer = node.annotations.find(keys.stage);
  const std::optional<UpgradeState> state = TimedState(node, keys);
  if (timer == node.annotations.end() || !state) return std::nullopt;
  const std::string prefix = std::string(ToLabelValue(*state)) + "@";
  return timer->second.starts_with(prefix) ? StageBegan(node, keys) : std::nullopt;
}

}  // namespace driverupgrade::testing::internal
