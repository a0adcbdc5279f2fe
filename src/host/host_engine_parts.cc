// Members of HostEngine that assign nodes to parts.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "decide/marks_of_view.h"
#include "driverupgrade/upgrade_state.h"
#include "host/host_engine.h"
#include "model/node_marks.h"

namespace driverupgrade::internal {
namespace {

// Returns true also if the state cannot be understood. A node without a label is in progress if its marks and its driver
// pods show so.
bool IsUnderWay(const NodeView& view, const DriverIdentity& identity) {
  const std::optional<UpgradeState> state = MarksOfView(view, identity)->State();
  return !state || IsInProgress(*state);
}

bool HasLabel(const NodeView& view, const DriverIdentity& identity) { return MarksOfView(view, identity)->HasLabel(); }

}  // namespace

// The part that these nodes are in, or were in when they had their driver pods.
Part& HostEngine::PartFor(const std::optional<std::set<std::string>>& nodes) {
  for (const auto& part : parts_) {
    if (!nodes && part->has_all) return *part;
  }
  if (nodes) {
    for (const auto* known : {&part_of_, &left_}) {
      for (const std::string& node : *nodes) {
        const auto found = known->find(node);
        if (found != known->end() && !found->second->has_all) return *found->second;
      }
    }
  }
  Part& part = *parts_.emplace_back(std::make_unique<Part>(machine_));
  part.has_all = !nodes;
  part.planner.SetDriver(driver_.facts, driver_.findings);
  return part;
}

void HostEngine::Move(const std::string& node, Part& part) {
  for (const auto& other : parts_) {
    if (other.get() == &part) continue;
    if (other->nodes.erase(node) > 0 || other->guests.erase(node) > 0) other->planner.Remove(node);
  }
  part.guests.erase(node);
  part.nodes.insert(node);
  part_of_[node] = &part;
  left_.erase(node);
  part.planner.Update(managed_.at(node));
}

void HostEngine::Assign(Part& part, const std::optional<std::set<std::string>>& nodes) {
  // Refresh gives it the nodes that are new.
  if (!nodes && parts_.size() == 1 && !part.nodes.empty()) return;
  for (const auto& [name, view] : managed_) {
    const auto owner = part_of_.find(name);
    const bool is_ours = owner != part_of_.end() && owner->second == &part;
    const bool wanted = nodes ? nodes->contains(name) : owner == part_of_.end() || is_ours;
    if (wanted && !is_ours) Move(name, part);
    // The caller names nodes by their driver pods.
    if (wanted || !is_ours || view->driver_pods.empty()) continue;
    part.nodes.erase(name);
    part_of_.erase(name);
    part.guests.insert(name);
    // Should the others lose theirs when it has its own again, the names of this one would make a second part of the same.
    left_[name] = &part;
  }
  std::erase_if(parts_, [&](const auto& other) {
    if (other.get() == &part || !other->nodes.empty()) return false;
    std::erase_if(left_, [&](const auto& entry) { return entry.second == other.get(); });
    return true;
  });
  SetGuests(part);
}

void HostEngine::SetGuests(Part& part) {
  std::set<std::string> guests;
  for (const auto& [name, view] : managed_) {
    if (part_of_.contains(name)) continue;
    // The caller may have read before the driver pod came back, or while another client had removed the label. Such a node
    // counts until its upgrade has ended or a caller names it.
    const bool was_ours = part.guests.contains(name);
    const bool counts = IsUnderWay(*view, machine_.identity()) || (was_ours && exchanges_.contains(name));
    const bool may_be_left_out = view->driver_pods.empty() || !HasLabel(*view, machine_.identity());
    if (counts && (was_ours || may_be_left_out)) guests.insert(name);
  }
  for (const std::string& name : part.guests) {
    if (!guests.contains(name) && !part.nodes.contains(name)) part.planner.Remove(name);
  }
  for (const std::string& name : guests) {
    if (!part.guests.contains(name)) part.planner.Update(managed_.at(name));
  }
  part.guests = std::move(guests);
}

}  // namespace driverupgrade::internal
