#include "transitions/cordon.h"

#include <string_view>
#include <vector>

#include "absl/strings/str_split.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "driverupgrade/upgrade_state.h"

namespace driverupgrade::inline v1 {
namespace {

constexpr std::string_view kStateSuffix = "-driver-upgrade-state";

// The state of a driver by its label; a label that is no state counts as an upgrade under way.
struct DriverState {
  bool labelled = false;
  std::optional<UpgradeState> state = std::nullopt;
  bool Live() const { return labelled && state != UpgradeState::kDone && state != UpgradeState::kUnknown; }
};

DriverState StateOf(const Node& node, const std::string& name) {
  const auto label = node.labels.find(fmt::format("{}{}", name, kStateSuffix));
  if (label == node.labels.end()) return {};
  return {.labelled = true, .state = ParseUpgradeState(label->second)};
}

std::set<std::string> CordonNames(const Node& node) {
  std::set<std::string> names;
  const auto annotation = node.annotations.find(std::string(kCordonedByAnnotation));
  if (annotation == node.annotations.end()) return names;
  for (absl::string_view name : absl::StrSplit(annotation->second, ',', absl::SkipWhitespace())) {
    names.emplace(name);
  }
  return names;
}

// Names of other drivers with a state label on the node that are not in the cordon set.
std::vector<std::string> DriversOutsideSet(const Node& node, const DriverIdentity& identity) {
  const std::set<std::string> names = CordonNames(node);
  std::vector<std::string> drivers;
  for (const auto& [key, value] : node.labels) {
    if (!key.ends_with(kStateSuffix)) continue;
    std::string name = key.substr(0, key.size() - kStateSuffix.size());
    if (name != identity.Name() && !names.contains(name)) drivers.push_back(std::move(name));
  }
  return drivers;
}

bool IsPastCordon(UpgradeState state) {
  return IsInProgress(state) && state != UpgradeState::kCordonRequired &&
         state != UpgradeState::kNodeMaintenanceRequired;
}

}  // namespace

Cordon ReadCordon(const Node& node, const DriverIdentity& identity) {
  if (!node.unschedulable) return {};
  bool unlabelled = false;
  bool live = false;
  const std::set<std::string> names = CordonNames(node);
  for (const std::string& name : names) {
    const DriverState driver = StateOf(node, name);
    live |= driver.Live();
    unlabelled |= !driver.labelled || driver.state == UpgradeState::kUnknown;
  }
  Cordon cordon{.kind = CordonKind::kAdministrator};
  for (const std::string& name : DriversOutsideSet(node, identity)) {
    const std::optional<UpgradeState> state = StateOf(node, name).state;
    if (!state || !IsPastCordon(*state)) continue;
    if (node.annotations.contains(name + "-driver-upgrade.node-initial-state.unschedulable")) continue;
    cordon.rival = name;
    break;
  }
  if (live || unlabelled || cordon.rival) {
    cordon.kind = CordonKind::kUpgrade;
  } else {
    cordon.finished_names_only = !names.empty();
  }
  return cordon;
}

std::optional<std::string> DriverThatNeedsCordon(const Node& node, const DriverIdentity& identity) {
  for (const std::string& name : DriversOutsideSet(node, identity)) {
    const std::optional<UpgradeState> state = StateOf(node, name).state;
    if (state && IsPastCordon(*state) && *state != UpgradeState::kUncordonRequired) return name;
  }
  return std::nullopt;
}

std::set<std::string> LiveCordonNames(const Node& node, const DriverIdentity& identity) {
  std::set<std::string> names = CordonNames(node);
  std::erase_if(names, [&](const std::string& name) { return name != identity.Name() && !StateOf(node, name).Live(); });
  return names;
}

void SetCordonNames(Node& node, const std::set<std::string>& names) {
  const std::string key(kCordonedByAnnotation);
  if (names.empty()) {
    node.annotations.erase(key);
  } else {
    node.annotations[key] = fmt::format("{}", fmt::join(names, ","));
  }
}

bool WasInitiallyUnschedulable(const Node& node, const DriverIdentity& identity) {
  return node.annotations.contains(identity.InitiallyUnschedulableAnnotation());
}

}  // namespace driverupgrade::inline v1
