#include "decide/published_plan.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "decide/step_parts.h"

namespace driverupgrade::internal {
namespace {

// Of one that waits for a slot.
WaitingNode WaitingOf(const JudgedNode& node) { return {.node = node.name, .candidate = *node.verdict.candidate}; }

}  // namespace

auto RolloutWaits::WaitOf(std::string_view node) const -> const Wait& {
  const auto name = std::lower_bound(names->begin(), names->end(), node);
  return nodes[static_cast<std::size_t>(name - names->begin())];
}

Gate RolloutWaits::GateAtPlace(std::string_view node) const {
  const Wait& wait = WaitOf(node);
  return AtPlace(GateOf(wait), wait.place);
}

PublishedPlan::PublishedPlan(Parts parts) : parts_(std::make_unique<const Parts>(std::move(parts))) {}
PublishedPlan::~PublishedPlan() = default;

std::optional<Gate> PublishedPlan::Explain(const std::string& node) const {
  const JudgedNode* found = parts_->nodes.Find(node);
  if (found == nullptr) return std::nullopt;
  const std::optional<Candidate>& candidate = found->verdict.candidate;
  if (!candidate) return found->verdict.gate;
  if (parts_->rollout != nullptr) return parts_->rollout->GateAtPlace(node);
  const WaitingNode waiting{.node = node, .candidate = *candidate};
  int place = 1;
  parts_->nodes.ForEach([&](const JudgedNode& other) {
    if (other.verdict.candidate && GoesBefore(WaitingOf(other), waiting)) ++place;
  });
  return AtPlace(parts_->refusals.Of(waiting), place);
}

Plan PublishedPlan::Full() const {
  std::vector<const JudgedNode*> nodes;
  std::vector<WaitingNode> waiting;
  parts_->nodes.ForEach([&](const JudgedNode& node) {
    nodes.push_back(&node);
    if (node.verdict.candidate) waiting.push_back(WaitingOf(node));
  });
  std::sort(nodes.begin(), nodes.end(), [](const auto* a, const auto* b) { return a->name < b->name; });
  std::sort(waiting.begin(), waiting.end(), GoesBefore);
  std::map<std::string_view, int> places;
  for (const WaitingNode& one : waiting) places.emplace(one.node, static_cast<int>(places.size()) + 1);
  Plan plan = parts_->plan;
  for (const JudgedNode* node : nodes) {
    KeptVerdict verdict = CopyOf(node->verdict);
    if (verdict.candidate && parts_->rollout != nullptr) {
      verdict.gate = parts_->rollout->GateAtPlace(node->name);
    } else if (verdict.candidate) {
      verdict.gate = AtPlace(parts_->refusals.Of(WaitingOf(*node)), places.at(node->name));
    }
    AddVerdict(node->name, std::move(verdict), plan);
  }
  // Those of the rollout were there before.
  std::sort(plan.pod_interest.begin(), plan.pod_interest.end());
  plan.pod_interest.erase(std::unique(plan.pod_interest.begin(), plan.pod_interest.end()), plan.pod_interest.end());
  return plan;
}

}  // namespace driverupgrade::internal
