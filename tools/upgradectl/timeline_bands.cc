#include "upgradectl/timeline_bands.h"

#include <algorithm>
#include <map>
#include <optional>

#include "decide/rollout/assign_stages.h"
#include "policy/windows.h"
#include "driverupgrade/upgrade_state.h"

namespace upgradectl {
namespace {

using driverupgrade::internal::NodeProgress;
using driverupgrade::internal::RolloutNode;

// Maximum number of bands, because a window that opens and closes every minute in a year-long rollout would produce
// more bands than can be seen.
constexpr std::size_t kBandsMax = 2000;

// Returns the index of each node's stage, by the node's name.
std::map<std::string, std::size_t> StagesOf(const Request& request, const driverupgrade::RolloutPolicy& rollout,
                                            const std::vector<NodeHistory>& histories) {
  std::map<std::string, const driverupgrade::Node*> by_name;
  for (const driverupgrade::Node& node : request.question.cluster.nodes) by_name[node.name] = &node;
  const std::string& skip = request.question.identity.SkipUpgradeLabel();
  std::vector<RolloutNode> nodes;
  for (const NodeHistory& history : histories) {
    const auto found = by_name.find(history.name);
    if (found == by_name.end()) continue;
    const auto label = found->second->labels.find(skip);
    const bool skipped = label != found->second->labels.end() && label->second == "true";
    nodes.push_back({.node = found->second, .progress = skipped ? NodeProgress::kLeftOut : NodeProgress::kWaiting});
  }
  const std::vector<int> stages = driverupgrade::internal::AssignStages(nodes, rollout);
  std::map<std::string, std::size_t> of_node;
  for (std::size_t i = 0; i < nodes.size(); ++i) of_node[nodes[i].node->name] = static_cast<std::size_t>(stages[i]);
  return of_node;
}

// Returns the time from the start to the end of the node's upgrade; nullopt if the node has not started.
std::optional<Span> UnderWay(const NodeHistory& node) {
  std::optional<Span> under_way;
  for (const Span& span : node.spans) {
    if (!driverupgrade::IsInProgress(span.state) || span.end <= span.begin) continue;
    if (!under_way) under_way = span;
    under_way->end = span.end;
  }
  return under_way;
}

}  // namespace

std::vector<Band> StageBands(const Request& request, const std::vector<NodeHistory>& nodes) {
  const auto& rollout = request.question.policy.rollout;
  if (!rollout || rollout->stages.empty()) return {};
  std::vector<std::optional<Band>> bands(rollout->stages.size() + 1);
  const std::map<std::string, std::size_t> stages = StagesOf(request, *rollout, nodes);
  for (const NodeHistory& node : nodes) {
    const auto stage = stages.find(node.name);
    const std::optional<Span> under_way = UnderWay(node);
    if (stage == stages.end() || !under_way) continue;
    std::optional<Band>& band = bands[stage->second];
    if (!band) band = Band{.begin = under_way->begin, .end = under_way->end};
    band->begin = std::min(band->begin, under_way->begin);
    band->end = std::max(band->end, under_way->end);
  }
  std::vector<Band> begun;
  for (std::size_t i = 0; i < bands.size(); ++i) {
    if (!bands[i]) continue;
    bands[i]->name = i < rollout->stages.size() ? rollout->stages[i].name : "the rest";
    begun.push_back(*std::move(bands[i]));
  }
  return begun;
}

std::vector<Band> ClosedBands(const Request& request, absl::Time began, absl::Duration length) {
  const auto& rollout = request.question.policy.rollout;
  if (!rollout || (rollout->windows.empty() && rollout->closed.empty())) return {};
  std::vector<Band> bands;
  absl::Time at = began;
  while (at < began + length && bands.size() < kBandsMax) {
    const auto start = driverupgrade::internal::StartTimeAt(*rollout, at, absl::ZeroDuration());
    const absl::Time until = std::min(start.until, began + length);
    if (!start.open) bands.push_back({.name = "no start", .begin = at - began, .end = until - began});
    if (start.until <= at) break;
    at = until;
  }
  return bands;
}

}  // namespace upgradectl
