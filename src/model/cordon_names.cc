#include "driverupgrade/cordon_names.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "driverupgrade/upgrade_state.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "model/node_state.h"

namespace driverupgrade::inline v1 {
namespace {

constexpr std::string_view kStateSuffix = "-driver-upgrade-state";

bool IsLive(const Node& node, const std::string& name) {
  const std::optional<DriverIdentity> driver = ParseDriverName(name);
  if (!driver || !node.labels.contains(driver->StateLabel())) return false;
  const std::optional<UpgradeState> state = internal::StateOf(node, *driver);
  return state != UpgradeState::kDone && state != UpgradeState::kUnknown;
}

}  // namespace

std::optional<DriverIdentity> ParseDriverName(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  absl::StatusOr<DriverIdentity> identity = DriverIdentity::Create(name.substr(0, slash), name.substr(slash + 1));
  return identity.ok() ? std::optional(*std::move(identity)) : std::nullopt;
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

std::set<std::string> LiveCordonNames(const Node& node, std::string_view except) {
  std::set<std::string> names = CordonNames(node);
  std::erase_if(names, [&](const std::string& name) { return name == except || !IsLive(node, name); });
  return names;
}

std::vector<DriverIdentity> DriversWithoutCordonName(const Node& node, std::string_view except) {
  const std::set<std::string> names = CordonNames(node);
  std::vector<DriverIdentity> drivers;
  for (const auto& [key, value] : node.labels) {
    if (!key.ends_with(kStateSuffix)) continue;
    const std::string_view name(key.data(), key.size() - kStateSuffix.size());
    std::optional<DriverIdentity> driver = name == except ? std::nullopt : ParseDriverName(name);
    if (driver && !names.contains(driver->Name())) drivers.push_back(*std::move(driver));
  }
  return drivers;
}

std::optional<std::string> FormatCordonNames(const std::set<std::string>& names) {
  if (names.empty()) return std::nullopt;
  return fmt::format("{}", fmt::join(names, ","));
}

}  // namespace driverupgrade::inline v1
