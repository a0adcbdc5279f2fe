#include "decide/rollout/matches.h"

#include <algorithm>
#include <cstddef>

#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

constexpr std::size_t kConditionsMax = 64;

}  // namespace

std::uint64_t ConditionsOn(const Node& node, const RolloutHealth& health) {
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < std::min(health.node_conditions.size(), kConditionsMax); ++i) {
    if (node.conditions.contains(health.node_conditions[i].type)) found |= std::uint64_t{1} << i;
  }
  return found;
}

Matches::Matches(const RolloutPolicy& policy, const std::vector<RolloutNode>& nodes) {
  if (policy.health) conditions_.resize(std::min(policy.health->node_conditions.size(), kConditionsMax));
  const auto look_for = [&](const std::string& field, const std::string& label) {
    if (label.empty()) return;
    const bool is_there = std::any_of(nodes.begin(), nodes.end(),
                                      [&](const RolloutNode& node) { return LabelsOf(node).contains(label); });
    if (!is_there) labels_.push_back(fmt::format("{}: no node has the label {}", field, label));
  };
  if (policy.groups) look_for("rollout.groups.by", policy.groups->by);
  for (std::size_t i = 0; i < policy.order.size(); ++i) {
    look_for(fmt::format("rollout.order[{}]", i), policy.order[i].label);
  }
}

void Matches::Count(const RolloutNode& node, int by) {
  nodes_ += by;
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    if ((node.conditions >> i & 1) != 0) conditions_[i] += by;
  }
  if (!node.has_chosen_pod) return;
  pods_read_ += by;
  pods_chosen_ += *node.has_chosen_pod ? by : 0;
}

std::vector<std::string> Matches::Missing(const RolloutPolicy& policy) const {
  if (nodes_ == 0) return {};
  std::vector<std::string> missing = labels_;
  for (std::size_t i = 0; i < conditions_.size(); ++i) {
    if (conditions_[i] > 0) continue;
    missing.push_back(fmt::format("rollout.health.nodeConditions[{}]: no node has a condition {}", i,
                                  policy.health->node_conditions[i].type));
  }
  if (pods_read_ > 0 && pods_chosen_ == 0) {
    missing.push_back(
        fmt::format("rollout.health.podSelector: matches no pod on the {} nodes that were checked", pods_read_));
  }
  return missing;
}

}  // namespace driverupgrade::internal
