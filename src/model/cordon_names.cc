#include "model/cordon_names.h"

#include "driverupgrade/upgrade_state.h"
#include "model/node_marks.h"
#include "model/node_service.h"

namespace driverupgrade::internal {
namespace {

bool IsLive(const Node& node, const std::string& name) {
  const std::optional<DriverIdentity> driver = ParseDriverName(name);
  if (!driver) return false;
  const NodeMarks marks = DecodeMarks(node, *driver);
  if (!marks.HasLabel()) return node.unschedulable && WasAdmitted(marks);
  return marks.State() != UpgradeState::kDone;
}

// NVSentinel may leave its annotation behind if an administrator cancels the quarantine by uncordoning the node
// (NVSentinel#753). In a dry run, it writes the annotation, but leaves the node in service.
bool IsQuarantined(const Node& node) {
  const auto has = [&](const std::string& prefix) {
    const auto found = node.annotations.lower_bound(prefix);
    return found != node.annotations.end() && found->first.starts_with(prefix);
  };
  const bool is_cancelled = has("quarantinedNodeUncordonedManually") || has("quarantineHealthEventDryRun");
  return has("quarantineHealthEventIsCordoned") && !is_cancelled;
}

// A program that needs a cordoned node to stay cordoned while `needs_cordon` is true.
struct CordonUser {
  std::string_view name = {};
  bool (*needs_cordon)(const Node& node) = nullptr;
};
// None of these programs waits for our upgrade while it needs the cordon (ADR 0028). kured is left out, because its
// annotation does not show whether kured is draining the node or is still waiting for its lock.
constexpr std::array kCordonUsers = {
    CordonUser{"NVSentinel", IsQuarantined},
    CordonUser{"the Machine Config Operator", IsDrainedByMachineConfig},
    CordonUser{"the SR-IOV network operator", IsConfiguredBySriov},
    CordonUser{"the NIC configuration operator", IsConfiguredByNicOperator},
    CordonUser{"the MIG manager", IsRebootedByMigManager},
    CordonUser{"NodeWright", IsPreparedByNodeWright},
};

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
    const auto found = node.annotations.find(std::string(mark.key));
    if (found != node.annotations.end() && found->second != "false") return mark.owner;
  }
  return std::nullopt;
}

std::optional<std::string_view> ProgramThatNeedsCordon(const Node& node) {
  if (!node.unschedulable) return std::nullopt;
  for (const CordonUser& user : kCordonUsers) {
    if (user.needs_cordon(node)) return user.name;
  }
  return std::nullopt;
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
