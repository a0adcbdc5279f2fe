#include "model/cordon_names.h"

#include "driverupgrade/upgrade_state.h"
#include "model/node_marks.h"

namespace driverupgrade::internal {
namespace {

bool IsLive(const Node& node, const std::string& name) {
  const std::optional<DriverIdentity> driver = ParseDriverName(name);
  if (!driver) return false;
  const NodeMarks marks = DecodeMarks(node, *driver);
  if (!marks.HasLabel()) return node.unschedulable && WasAdmitted(marks);
  return marks.State() != UpgradeState::kDone;
}

}  // namespace

std::optional<DriverIdentity> ParseDriverName(std::string_view name) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  absl::StatusOr<DriverIdentity> identity = DriverIdentity::Create(name.substr(0, slash), name.substr(slash + 1));
  return identity.ok() ? std::optional(*std::move(identity)) : std::nullopt;
}

std::optional<std::string_view> ForeignCordonOwner(const Node& node) {
  if (!node.unschedulable) return std::nullopt;
  for (const ForeignCordonMark& mark : kForeignCordonMarks) {
    if (node.annotations.contains(std::string(mark.key))) return mark.owner;
  }
  return std::nullopt;
}

// NVSentinel may leave its annotation behind if an administrator cancels the quarantine by uncordoning the node
// (NVSentinel#753). In a dry run, it writes the annotation, but leaves the node in service.
std::optional<std::string_view> QuarantinedBy(const Node& node) {
  const auto has = [&](const std::string& prefix) {
    const auto found = node.annotations.lower_bound(prefix);
    return found != node.annotations.end() && found->first.starts_with(prefix);
  };
  const bool is_cancelled = has("quarantinedNodeUncordonedManually") || has("quarantineHealthEventDryRun");
  if (!node.unschedulable || !has("quarantineHealthEventIsCordoned") || is_cancelled) return std::nullopt;
  return "NVSentinel";
}

std::set<std::string> LiveCordonNames(const Node& node, std::string_view except) {
  std::set<std::string> names = CordonNames(node);
  std::erase_if(names, [&](const std::string& name) { return name == except || !IsLive(node, name); });
  return names;
}

std::vector<DriverIdentity> DriversWithoutCordonName(const Node& node, std::string_view except) {
  const std::set<std::string> names = CordonNames(node);
  std::vector<DriverIdentity> drivers = DriversWithLabel(node);
  std::erase_if(drivers,
                [&](const DriverIdentity& driver) { return driver.Name() == except || names.contains(driver.Name()); });
  return drivers;
}

}  // namespace driverupgrade::internal
