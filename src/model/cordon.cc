#include "model/cordon.h"

#include <algorithm>
#include <utility>

#include "driverupgrade/upgrade_state.h"
#include "model/cordon_names.h"

namespace driverupgrade::internal {
namespace {

// Returns true if the driver `name` has no state on the node, because its upgrade has not started or has ended.
bool IsWithoutState(const Node& node, const std::string& name) {
  const std::optional<DriverIdentity> driver = ParseDriverName(name);
  return driver && !HasState(node, *driver);
}

bool IsPastCordon(UpgradeState state) {
  return IsInProgress(state) && state != UpgradeState::kCordonRequired &&
         state != UpgradeState::kNodeMaintenanceRequired;
}

// The maintenance operator cordons the node while the state is still node-maintenance-required, and lifts the cordon
// while the state is uncordon-required (ADR 0004).
bool IsMaintained(const NodeMarks& driver) {
  const std::optional<UpgradeState> state = driver.State();
  return state && IsInProgress(*state) && driver.requestor_mode.present();
}

}  // namespace

Cordon ReadCordon(const Node& node, const DriverIdentity& identity) {
  if (!node.unschedulable) return {};
  const std::set<std::string> names = CordonNames(node);
  const bool ours = names.contains(identity.Name());
  const bool live = !LiveCordonNames(node, "").empty();
  const bool unlabelled =
      std::any_of(names.begin(), names.end(), [&](const std::string& name) { return IsWithoutState(node, name); });
  Cordon cordon{.kind = CordonKind::kAdministrator};
  for (const DriverIdentity& driver : DriversWithoutCordonName(node, identity.Name())) {
    const NodeMarks marks = DecodeMarks(node, driver);
    const std::optional<UpgradeState> state = marks.State();
    if (!state || WasInitiallyUnschedulable(marks)) continue;
    if (!IsPastCordon(*state) && !IsMaintained(marks)) continue;
    if (!cordon.rival) cordon.rival = driver.Name();
    cordon.rival_evacuates |= *state != UpgradeState::kPodRestartRequired &&
                              *state != UpgradeState::kValidationRequired && *state != UpgradeState::kFailed;
    if (!HasLeftCordon(marks) && (!ours || !marks.requestor_mode.present())) cordon.rival_lifts = true;
  }
  const bool is_claimed = ForeignCordonOwner(node).has_value();
  if (live || (!is_claimed && (unlabelled || cordon.rival))) {
    cordon.kind = CordonKind::kUpgrade;
  } else {
    cordon.stale_names_only = !names.empty();
  }
  return cordon;
}

bool HasLeftCordon(const NodeMarks& marks) {
  return marks.State() == UpgradeState::kFailed && marks.failed_revision.present() && !marks.requestor_mode.present() &&
         !marks.initially_unschedulable.present();
}

std::optional<std::string> DriverThatNeedsCordon(const Node& node, const DriverIdentity& identity) {
  for (const DriverIdentity& driver : DriversWithoutCordonName(node, identity.Name())) {
    const NodeMarks marks = DecodeMarks(node, driver);
    const std::optional<UpgradeState> state = marks.State();
    const bool works =
        state && IsPastCordon(*state) && *state != UpgradeState::kUncordonRequired && !HasLeftCordon(marks);
    if (works || IsMaintained(marks)) return driver.Name();
  }
  return std::nullopt;
}

std::optional<std::string> WhoElseNeedsCordon(const Node& node, const DriverIdentity& identity) {
  if (const auto program = ProgramThatNeedsCordon(node)) return std::string(*program);
  return DriverThatNeedsCordon(node, identity);
}

void SetCordonNames(std::set<std::string> names, NodeMarks& marks) {
  if (names.empty()) {
    marks.cordoned_by.Remove();
  } else {
    marks.cordoned_by.Write(std::move(names));
  }
}

}  // namespace driverupgrade::internal
