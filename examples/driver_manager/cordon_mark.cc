#include "driver_manager/cordon_mark.h"

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/upgrade_state.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace driver_manager {
namespace {

using driverupgrade::DriverIdentity;
using driverupgrade::Node;
using driverupgrade::NodePatch;
using driverupgrade::UpgradeState;

constexpr std::string_view kStateSuffix = "-driver-upgrade-state";

std::optional<DriverIdentity> ParseName(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  absl::StatusOr<DriverIdentity> identity = DriverIdentity::Create(name.substr(0, slash), name.substr(slash + 1));
  return identity.ok() ? std::optional(*std::move(identity)) : std::nullopt;
}

std::string OurStateLabel() { return ParseName(kCordonName)->StateLabel(); }

std::set<std::string> Names(const Node& node) {
  std::set<std::string> names;
  const auto annotation = node.annotations.find(std::string(driverupgrade::kCordonedByAnnotation));
  if (annotation == node.annotations.end()) return names;
  for (absl::string_view name : absl::StrSplit(annotation->second, ',', absl::SkipWhitespace())) {
    names.emplace(absl::StripAsciiWhitespace(name));
  }
  return names;
}

// Of a driver whose upgrade is under way; a label that is no state counts, as it does for the engine.
bool IsLive(const Node& node, const std::string& name) {
  const std::optional<DriverIdentity> driver = ParseName(name);
  if (!driver) return false;
  const auto label = node.labels.find(driver->StateLabel());
  if (label == node.labels.end()) return false;
  const std::optional<UpgradeState> state = driverupgrade::ParseUpgradeState(label->second);
  return state != UpgradeState::kDone && state != UpgradeState::kUnknown;
}

std::set<std::string> LiveOthers(const Node& node) {
  std::set<std::string> others;
  for (const std::string& name : Names(node)) {
    if (name != kCordonName && IsLive(node, name)) others.insert(name);
  }
  return others;
}

// An upgrade by a program that knows nothing of names, such as the Go library's, which lifts the cordon itself at its
// end.
bool IsNeededByUnnamed(const Node& node) {
  const std::set<std::string> names = Names(node);
  for (const auto& [key, value] : node.labels) {
    if (!key.ends_with(kStateSuffix)) continue;
    const std::optional<DriverIdentity> driver = ParseName(key.substr(0, key.size() - kStateSuffix.size()));
    const std::optional<UpgradeState> state = driverupgrade::ParseUpgradeState(value);
    if (!driver || !state || driver->Name() == kCordonName || names.contains(driver->Name())) continue;
    const bool evacuates = IsInProgress(*state) && *state != UpgradeState::kCordonRequired;
    if (evacuates && !node.annotations.contains(driver->InitiallyUnschedulableAnnotation())) return true;
  }
  return false;
}

void SetNames(const std::set<std::string>& names, NodePatch& patch) {
  std::optional<std::string>& value = patch.annotations[std::string(driverupgrade::kCordonedByAnnotation)];
  if (!names.empty()) value = fmt::format("{}", fmt::join(names, ","));
}

}  // namespace

NodePatch CordonPatch(const Node& node) {
  NodePatch patch;
  std::set<std::string> names = LiveOthers(node);
  const bool ours = Names(node).contains(kCordonName) && node.labels.contains(OurStateLabel());
  if (node.unschedulable && (ours || names.empty())) return patch;
  names.insert(kCordonName);
  SetNames(names, patch);
  patch.labels[OurStateLabel()] = std::string(ToLabelValue(UpgradeState::kDrainRequired));
  if (!node.unschedulable) patch.unschedulable = true;
  return patch;
}

NodePatch UncordonPatch(const Node& node) {
  NodePatch patch;
  if (node.labels.contains(OurStateLabel())) patch.labels[OurStateLabel()] = std::nullopt;
  if (!Names(node).contains(kCordonName)) return patch;
  const std::set<std::string> others = LiveOthers(node);
  SetNames(others, patch);
  if (node.unschedulable && others.empty() && !IsNeededByUnnamed(node)) patch.unschedulable = false;
  return patch;
}

}  // namespace driver_manager
