#include "model/cordon.h"

#include <algorithm>

#include "driverupgrade/cordon_names.h"
#include "driverupgrade/upgrade_state.h"
#include "model/node_state.h"

namespace driverupgrade::inline v1::internal {
namespace {

// A driver that the cordon set names, and that has no state yet, or not any more.
bool IsWithoutState(const Node& node, const std::string& name) {
  const std::optional<DriverIdentity> driver = ParseDriverName(name);
  return driver && StateOf(node, *driver) == UpgradeState::kUnknown;
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
  const std::set<std::string> names = CordonNames(node);
  const bool live = !LiveCordonNames(node, "").empty();
  const bool unlabelled =
      std::any_of(names.begin(), names.end(), [&](const std::string& name) { return IsWithoutState(node, name); });
  Cordon cordon{.kind = CordonKind::kAdministrator};
  for (const DriverIdentity& driver : DriversWithoutCordonName(node, identity.Name())) {
    const std::optional<UpgradeState> state = StateOf(node, driver);
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
  for (const DriverIdentity& driver : DriversWithoutCordonName(node, identity.Name())) {
    const std::optional<UpgradeState> state = StateOf(node, driver);
    if (state && IsPastCordon(*state) && *state != UpgradeState::kUncordonRequired) return driver.Name();
  }
  return std::nullopt;
}

bool IsInCordonSet(const Node& node, const DriverIdentity& identity) {
  return CordonNames(node).contains(identity.Name());
}

void SetCordonNames(Node& node, const std::set<std::string>& names) {
  const std::string key(kCordonedByAnnotation);
  if (auto value = FormatCordonNames(names)) {
    node.annotations[key] = *std::move(value);
  } else {
    node.annotations.erase(key);
  }
}

bool WasInitiallyUnschedulable(const Node& node, const DriverIdentity& identity) {
  return node.annotations.contains(identity.InitiallyUnschedulableAnnotation());
}

}  // namespace driverupgrade::inline v1::internal
