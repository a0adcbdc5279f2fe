#include "gpu/node_marks.h"

#include <algorithm>

#include "driverupgrade/label_selector.h"
#include "driverupgrade/upgrade_state.h"

namespace gpu_operator {
namespace {

using driverupgrade::DriverIdentity;
using driverupgrade::LabelSelector;
using driverupgrade::Node;
using driverupgrade::PatchNodeParams;
using driverupgrade::Pod;
using driverupgrade::StringMap;
using driverupgrade::UpgradeState;

std::string ValueOf(const StringMap& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::string() : found->second;
}

bool IsBusy(const Node& node, const DriverIdentity& identity) {
  const auto state = driverupgrade::ParseUpgradeState(ValueOf(node.labels, identity.StateLabel()));
  return state && driverupgrade::IsInProgress(*state);
}

bool AllUnderstood(const std::vector<NvidiaDriver>& drivers) {
  return std::all_of(drivers.begin(), drivers.end(), [](const NvidiaDriver& driver) { return driver.understood; });
}

const NvidiaDriver* Named(const std::vector<NvidiaDriver>& drivers, const std::string& name) {
  const auto found =
      std::find_if(drivers.begin(), drivers.end(), [&](const auto& driver) { return driver.name == name; });
  return found == drivers.end() ? nullptr : &*found;
}

// Returns an empty string if the node has no owner.
std::string OwnerFor(const Node& node, const std::vector<NvidiaDriver>& drivers, const DriverIdentity& identity) {
  const std::string present = ValueOf(node.labels, kOwnerLabel);
  const std::vector<std::string> owners = OwnersOf(node, drivers);
  if (owners.size() > 1 || !AllUnderstood(drivers)) return present;
  const NvidiaDriver* next = owners.empty() ? nullptr : Named(drivers, owners.front());
  const bool is_selected = next != nullptr && !next->is_default;
  const NvidiaDriver* now = Named(drivers, present);
  // GPU feature discovery removes the labels of a node while its driver is replaced (k8s-device-plugin#796). If the node
  // lost its owner, its slot would be free, and a broken driver could reach the next node.
  if (!is_selected && now != nullptr && !now->deleting && IsBusy(node, identity)) return present;
  return next == nullptr ? std::string() : next->name;
}

bool MayAsk(const Node& node, const DriverIdentity& identity) {
  const auto state = driverupgrade::ParseUpgradeState(ValueOf(node.labels, identity.StateLabel()));
  return (state == UpgradeState::kUnknown || state == UpgradeState::kDone) &&
         ValueOf(node.annotations, identity.UpgradeRequestedAnnotation()) != "true";
}

}  // namespace

std::vector<std::string> OwnersOf(const Node& node, const std::vector<NvidiaDriver>& drivers) {
  std::vector<std::string> selected;
  std::vector<std::string> fallback;
  for (const NvidiaDriver& driver : drivers) {
    if (driver.deleting || !driver.understood) continue;
    if (driver.is_default) {
      fallback.push_back(driver.name);
    } else if (LabelSelector::FromMatchLabels(driver.node_labels).Matches(node.labels)) {
      selected.push_back(driver.name);
    }
  }
  return selected.empty() ? fallback : selected;
}

bool Orphaned(const std::vector<Pod>& driver_pods) {
  return std::any_of(driver_pods.begin(), driver_pods.end(), [](const Pod& pod) {
    return driverupgrade::ControllerOf(pod) == nullptr && pod.phase == driverupgrade::PodPhase::kRunning &&
           !pod.deletion_timestamp;
  });
}

std::optional<PatchNodeParams> MarksPatch(const Node& node, bool orphaned, const NodeWishes& wishes,
                                          const DriverIdentity& identity) {
  if (!node.unreadable.empty() || ValueOf(node.labels, kGpuPresentLabel) != "true") return std::nullopt;
  PatchNodeParams patch{.name = node.name, .uid = node.uid, .resource_version = node.resource_version};
  const auto set = [](const StringMap& now, const std::string& key, const std::string& value, auto& changes) {
    if (value.empty() && now.contains(key)) changes[key] = std::nullopt;
    if (!value.empty() && ValueOf(now, key) != value) changes[key] = value;
  };
  bool upgraded = wishes.upgraded;
  if (wishes.by_owners) {
    const std::string owner = OwnerFor(node, wishes.owners, identity);
    const NvidiaDriver* driver = Named(wishes.owners, owner);
    upgraded = driver != nullptr && driver->upgrade.auto_upgrade;
    set(node.labels, kOwnerLabel, owner, patch.labels);
    if (driver != nullptr && orphaned && MayAsk(node, identity)) {
      patch.annotations[identity.UpgradeRequestedAnnotation()] = "true";
    }
  }
  set(node.annotations, kUpgradeEnabledAnnotation, upgraded ? "true" : "", patch.annotations);
  if (patch.labels.empty() && patch.annotations.empty()) return std::nullopt;
  return patch;
}

}  // namespace gpu_operator
