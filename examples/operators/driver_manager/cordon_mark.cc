#include "driver_manager/cordon_mark.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "driverupgrade/cordon_names.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/upgrade_state.h"

namespace driver_manager {
namespace {

using driverupgrade::DriverIdentity;
using driverupgrade::Node;
using driverupgrade::PatchNodeParams;
using driverupgrade::UpgradeState;

std::string OurStateLabel() { return driverupgrade::ParseDriverName(kCordonName)->StateLabel(); }

std::set<std::string> LiveOthers(const Node& node) { return LiveCordonNames(node, kCordonName); }

// An upgrade by a program that knows nothing of names, such as the Go library's, which lifts the cordon itself at its
// end.
bool IsNeededByUnnamed(const Node& node) {
  const std::vector<DriverIdentity> drivers = DriversWithoutCordonName(node, kCordonName);
  return std::any_of(drivers.begin(), drivers.end(), [&](const DriverIdentity& driver) {
    const auto state = driverupgrade::ParseUpgradeState(node.labels.at(driver.StateLabel()));
    return state && IsInProgress(*state) && *state != UpgradeState::kCordonRequired &&
           !node.annotations.contains(driver.InitiallyUnschedulableAnnotation());
  });
}

void SetNames(const std::set<std::string>& names, PatchNodeParams& patch) {
  patch.annotations[std::string(driverupgrade::kCordonedByAnnotation)] = driverupgrade::FormatCordonNames(names);
}

}  // namespace

PatchNodeParams CordonPatch(const Node& node) {
  PatchNodeParams patch;
  std::set<std::string> names = LiveOthers(node);
  const bool ours = CordonNames(node).contains(kCordonName) && node.labels.contains(OurStateLabel());
  if (node.unschedulable && (ours || names.empty())) return patch;
  names.insert(kCordonName);
  SetNames(names, patch);
  patch.labels[OurStateLabel()] = std::string(ToLabelValue(UpgradeState::kDrainRequired));
  if (!node.unschedulable) patch.unschedulable = true;
  return patch;
}

PatchNodeParams UncordonPatch(const Node& node) {
  PatchNodeParams patch;
  if (node.labels.contains(OurStateLabel())) patch.labels[OurStateLabel()] = std::nullopt;
  if (!CordonNames(node).contains(kCordonName)) return patch;
  const std::set<std::string> others = LiveOthers(node);
  SetNames(others, patch);
  const bool is_claimed = IsNeededByUnnamed(node) || ForeignCordonOwner(node).has_value();
  if (node.unschedulable && others.empty() && !is_claimed) patch.unschedulable = false;
  return patch;
}

}  // namespace driver_manager
