#include "transitions/cordon.h"

#include <string_view>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "driverupgrade/upgrade_state.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "internal/node_state.h"

namespace driverupgrade::inline v1 {
namespace {

constexpr std::string_view kStateSuffix = "-driver-upgrade-state";

// `<domain>/<driver>`; nullopt for what cannot be a driver's name.
std::optional<DriverIdentity> ParseName(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  absl::StatusOr<DriverIdentity> identity = DriverIdentity::Create(name.substr(0, slash), name.substr(slash + 1));
  return identity.ok() ? std::optional(*std::move(identity)) : std::nullopt;
}

// Another driver on the node, by its own label. A label that is no state counts as an upgrade under way.
struct DriverState {
  // Whether it has a name that a driver can have.
  bool named = false;
  bool labelled = false;
  std::optional<UpgradeState> state = UpgradeState::kUnknown;
  bool Live() const { return labelled && state != UpgradeState::kDone && state != UpgradeState::kUnknown; }
};

DriverState StateOf(const Node& node, const std::string& name) {
  const std::optional<DriverIdentity> driver = ParseName(name);
  if (!driver || !node.labels.contains(driver->StateLabel())) return {.named = driver.has_value()};
  return {.named = true, .labelled = true, .state = internal::StateOf(node, *driver)};
}

std::set<std::string> CordonNames(const Node& node) {
  std::set<std::string> names;
  const auto annotation = node.annotations.find(std::string(kCordonedByAnnotation));
  if (annotation == node.annotations.end()) return names;
  for (absl::string_view name : absl::StrSplit(annotation->second, ',', absl::SkipWhitespace())) {
    names.emplace(absl::StripAsciiWhitespace(name));
  }
  return names;
}

// Other drivers with a state label on the node that are not in the cordon set.
std::vector<DriverIdentity> DriversOutsideSet(const Node& node, const DriverIdentity& identity) {
  const std::set<std::string> names = CordonNames(node);
  std::vector<DriverIdentity> drivers;
  for (const auto& [key, value] : node.labels) {
    if (!key.ends_with(kStateSuffix) || key == identity.StateLabel()) continue;
    std::optional<DriverIdentity> driver = ParseName(key.substr(0, key.size() - kStateSuffix.size()));
    if (driver && !names.contains(driver->Name())) drivers.push_back(*std::move(driver));
  }
  return drivers;
}

bool IsPastCordon(UpgradeState state) {
  return IsInProgress(state) && state != UpgradeState::kCordonRequired &&
         state != UpgradeState::kNodeMaintenanceRequired;
}

// The maintenance operator cordons while the state is node-maintenance-required still (ADR 0004).
bool IsBeingEvacuatedFor(const Node& node, const DriverIdentity& driver, UpgradeState state) {
  return state == UpgradeState::kNodeMaintenanceRequired && node.annotations.contains(driver.RequestorModeAnnotation());
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
    unlabelled |= driver.named && (!driver.labelled || driver.state == UpgradeState::kUnknown);
  }
  Cordon cordon{.kind = CordonKind::kAdministrator};
  for (const DriverIdentity& driver : DriversOutsideSet(node, identity)) {
    const std::optional<UpgradeState> state = internal::StateOf(node, driver);
    if (!state || WasInitiallyUnschedulable(node, driver)) continue;
    if (!IsPastCordon(*state) && !IsBeingEvacuatedFor(node, driver, *state)) continue;
    cordon.rival = driver.Name();
    break;
  }
  if (live || unlabelled || cordon.rival) {
    cordon.kind = CordonKind::kUpgrade;
  } else {
    cordon.stale_names_only = !names.empty();
  }
  return cordon;
}

std::optional<std::string> DriverThatNeedsCordon(const Node& node, const DriverIdentity& identity) {
  for (const DriverIdentity& driver : DriversOutsideSet(node, identity)) {
    const std::optional<UpgradeState> state = internal::StateOf(node, driver);
    if (state && IsPastCordon(*state) && *state != UpgradeState::kUncordonRequired) return driver.Name();
  }
  return std::nullopt;
}

std::set<std::string> OtherCordonNames(const Node& node, const DriverIdentity& identity) {
  std::set<std::string> names = CordonNames(node);
  std::erase_if(names, [&](const std::string& name) { return name == identity.Name() || !StateOf(node, name).Live(); });
  return names;
}

bool IsInCordonSet(const Node& node, const DriverIdentity& identity) {
  return CordonNames(node).contains(identity.Name());
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
