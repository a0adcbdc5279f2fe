#include "decide/rollout/assign_stages.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "base/backoff.h"
#include "decide/rollout/census.h"
#include "decide/rollout/groups.h"

namespace driverupgrade::internal {
namespace {

// Nodes that must be in the same stage: a single node, or a group that starts together.
struct Unit {
  std::uint64_t hash = 0;
  std::string name = {};
  std::vector<std::size_t> nodes = {};
  int counted = 0;
};

// Mixes the bits of the hash. Without this step, names that differ only in their last letters would remain neighbors.
std::uint64_t Scattered(std::string_view name) {
  std::uint64_t bits = Hash(name, 0);
  for (const std::uint64_t factor : {0xff51afd7ed558ccdULL, 0xc4ceb9fe1a85ec53ULL}) {
    bits = (bits ^ (bits >> 33)) * factor;
  }
  return bits ^ (bits >> 33);
}

// Returns the units in an order that does not follow the names, because names often reflect racks.
std::vector<Unit> UnitsOf(const std::vector<RolloutNode>& nodes, const RolloutPolicy& policy) {
  const bool together = policy.groups && policy.groups->mode == GroupMode::kTogether;
  std::vector<Unit> units;
  std::map<std::string, std::size_t> by_group;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::string name = together ? GroupOf(nodes[i], *policy.groups) : nodes[i].node->name;
    const std::size_t at = together ? by_group.try_emplace(name, units.size()).first->second : units.size();
    if (at == units.size()) units.push_back({.hash = Scattered(name), .name = std::move(name)});
    units[at].nodes.push_back(i);
    units[at].counted += nodes[i].progress != NodeProgress::kLeftOut;
  }
  std::sort(units.begin(), units.end(),
            [](const Unit& a, const Unit& b) { return std::tie(a.hash, a.name) < std::tie(b.hash, b.name); });
  return units;
}

// Removes the units of one stage from `units`, and returns them.
std::vector<Unit> TakeUnits(const RolloutStage& stage, const std::vector<RolloutNode>& nodes, int total,
                            std::vector<Unit>& units) {
  const LabelSelector* selector = std::get_if<LabelSelector>(&stage.nodes);
  int wanted = selector == nullptr ? ScaledLimit(*std::get_if<CountOrPercent>(&stage.nodes), total) : 0;
  const auto is_taken = [&](const Unit& unit) {
    if (selector != nullptr) {
      return std::any_of(unit.nodes.begin(), unit.nodes.end(),
                         [&](std::size_t i) { return selector->Matches(LabelsOf(nodes[i])); });
    }
    if (wanted <= 0 || unit.counted == 0) return false;
    wanted -= unit.counted;
    return true;
  };
  std::vector<Unit> taken;
  std::vector<Unit> left;
  for (Unit& unit : units) (is_taken(unit) ? taken : left).push_back(std::move(unit));
  units = std::move(left);
  return taken;
}

}  // namespace

std::vector<int> AssignStages(const std::vector<RolloutNode>& nodes, const RolloutPolicy& policy) {
  std::vector<int> stages(nodes.size(), static_cast<int>(policy.stages.size()));
  if (policy.stages.empty()) return stages;
  std::vector<Unit> units = UnitsOf(nodes, policy);
  int total = 0;
  for (const Unit& unit : units) total += unit.counted;
  for (std::size_t stage = 0; stage < policy.stages.size(); ++stage) {
    for (const Unit& unit : TakeUnits(policy.stages[stage], nodes, total, units)) {
      for (const std::size_t i : unit.nodes) stages[i] = static_cast<int>(stage);
    }
  }
  return stages;
}

}  // namespace driverupgrade::internal
