#include "ofed/driver_wait.h"

#include <algorithm>
#include <string>
#include <utility>

#include "driverupgrade/upgrade_state.h"

namespace ofed_operator {
namespace {

using driverupgrade::DriverIdentity;
using driverupgrade::Node;
using driverupgrade::PatchNodeParams;
using driverupgrade::Pod;

bool IsLoaded(const Pod& pod) {
  return !pod.deletion_timestamp &&
         std::any_of(pod.container_statuses.begin(), pod.container_statuses.end(),
                     [](const auto& container) { return container.name == kDriverContainer && container.ready; });
}

std::string ValueOf(const driverupgrade::StringMap& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? std::string() : found->second;
}

// Returns true if the node is being upgraded, and will therefore get another driver pod.
bool IsOnItsWay(const Node& node, const DriverIdentity& identity) {
  const auto state = driverupgrade::ParseUpgradeState(ValueOf(node.labels, identity.StateLabel()));
  return !state || driverupgrade::IsInProgress(*state);
}

}  // namespace

std::optional<bool> WaitsForDriver(const std::vector<Pod>& driver_pods) {
  if (driver_pods.empty()) return std::nullopt;
  return std::none_of(driver_pods.begin(), driver_pods.end(), IsLoaded);
}

std::optional<PatchNodeParams> WaitLabelPatch(const Node& node, const std::vector<Pod>& driver_pods, bool driver_wanted,
                                              const DriverIdentity& identity) {
  std::optional<std::string> value;
  if (const std::optional<bool> waits = WaitsForDriver(driver_pods)) {
    value = *waits ? "true" : "false";
  } else if (driver_wanted && IsOnItsWay(node, identity)) {
    return std::nullopt;
  } else if (!driver_wanted && ValueOf(node.labels, kNicLabel) == "true") {
    value = "false";
  }
  const auto label = node.labels.find(kDriverWaitLabel);
  const bool is_so = value ? label != node.labels.end() && label->second == *value : label == node.labels.end();
  if (is_so) return std::nullopt;
  return PatchNodeParams{.name = node.name,
                         .uid = node.uid,
                         .resource_version = node.resource_version,
                         .labels = {{kDriverWaitLabel, std::move(value)}}};
}

}  // namespace ofed_operator
