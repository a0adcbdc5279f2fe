#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "driverupgrade/drain_manager.h"
#include "model/cordon.h"
#include "model/cordon_names.h"
#include "model/node_marks.h"

namespace driverupgrade {
namespace {

using internal::NodeMarks;

PatchNodeParams PatchFor(const Node& node, const NodeMarks& after, const DriverIdentity& program) {
  internal::MarkChanges changes = internal::ChangesBetween(internal::DecodeMarks(node, program), after, program);
  return {.name = node.name,
          .uid = node.uid,
          .resource_version = node.resource_version,
          .labels = std::move(changes.labels),
          .annotations = std::move(changes.annotations),
          .unschedulable = changes.unschedulable};
}

// Returns true if a program that does not write its name to the cordon set, such as the Go library, needs the cordon
// for an upgrade. Such a program lifts the cordon itself when the upgrade finishes.
bool IsNeededByUnnamed(const Node& node, const DriverIdentity& program) {
  const std::vector<DriverIdentity> drivers = internal::DriversWithoutCordonName(node, program.Name());
  return std::any_of(drivers.begin(), drivers.end(), [&](const DriverIdentity& driver) {
    const NodeMarks marks = internal::DecodeMarks(node, driver);
    const std::optional<UpgradeState> state = marks.State();
    return state && IsInProgress(*state) && *state != UpgradeState::kCordonRequired &&
           !internal::WasInitiallyUnschedulable(marks) && !internal::HasLeftCordon(marks);
  });
}

}  // namespace

PatchNodeParams CordonPatch(const Node& node, const DriverIdentity& program) {
  std::set<std::string> names = internal::LiveCordonNames(node, program.Name());
  NodeMarks after = internal::DecodeMarks(node, program);
  const bool ours = internal::IsInCordonSet(after, program) && after.state.present();
  if (node.unschedulable && (ours || names.empty())) return {};
  names.insert(program.Name());
  internal::SetCordonNames(std::move(names), after);
  after.state.Write(UpgradeState::kDrainRequired);
  after.unschedulable = true;
  return PatchFor(node, after, program);
}

PatchNodeParams UncordonPatch(const Node& node, const DriverIdentity& program) {
  NodeMarks after = internal::DecodeMarks(node, program);
  const bool ours = internal::IsInCordonSet(after, program);
  after.state.Remove();
  if (ours) {
    const std::set<std::string> others = internal::LiveCordonNames(node, program.Name());
    internal::SetCordonNames(others, after);
    const bool is_claimed = IsNeededByUnnamed(node, program) || internal::ForeignCordonOwner(node).has_value() ||
                            internal::ProgramThatNeedsCordon(node).has_value();
    if (others.empty() && !is_claimed) after.unschedulable = false;
  }
  return PatchFor(node, after, program);
}

}  // namespace driverupgrade
