#include "whatif/node_history.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "model/node_marks.h"

namespace driverupgrade::whatif {
namespace {

constexpr std::string_view kEntered = "Successfully updated node state label to ";

// Returns the histories of nodes by name, with the times of their Events relative to `began`.
std::map<std::string, NodeHistory> Histories(const ClusterFacts& facts, absl::Time began) {
  std::map<std::string, NodeHistory> histories;
  for (const EventFact& event : facts.events) {
    NodeHistory& node = histories[event.node];
    const absl::Duration at = event.last - began;
    if (const auto state = EnteredState(event)) {
      if (!node.spans.empty()) node.spans.back().end = at;
      node.spans.push_back({.state = *state, .begin = at, .end = at});
    } else {
      node.notes.push_back({.at = at, .text = event.message});
    }
  }
  return histories;
}

// Adds the state in the node's label, unless the Events already show that state.
void AddPresentState(const Node& node, const Situation& situation, absl::Time began, NodeHistory& history) {
  const auto marks = internal::DecodeMarks(node, situation.question.identity);
  const UpgradeState state = marks.State().value_or(UpgradeState::kUnknown);
  if (!history.spans.empty() && history.spans.back().state == state) return;
  absl::Duration begin = history.spans.empty() ? absl::ZeroDuration() : history.spans.back().end;
  if (const auto& stage = marks.stage.value(); stage && stage->state == state) {
    begin = std::max(begin, stage->began - began);
  }
  if (!history.spans.empty()) history.spans.back().end = begin;
  history.spans.push_back({.state = state, .begin = begin, .end = begin});
}

bool IsOver(const std::vector<NodeHistory>& nodes) {
  return std::all_of(nodes.begin(), nodes.end(),
                     [](const NodeHistory& node) { return node.spans.back().state == UpgradeState::kDone; });
}

}  // namespace

std::optional<UpgradeState> EnteredState(const EventFact& event) {
  if (!event.message.starts_with(kEntered)) return std::nullopt;
  return ParseUpgradeState(std::string_view(event.message).substr(kEntered.size()));
}

ClusterHistory HistoryOf(const Situation& situation) {
  const ClusterFacts& facts = situation.facts;
  const absl::Time at = situation.question.at;
  ClusterHistory history{.began = facts.events.empty() ? at : facts.events.front().last};
  std::map<std::string, NodeHistory> histories = Histories(facts, history.began);
  for (const Node& node : situation.question.cluster.nodes) {
    const bool is_marked = internal::IsMarked(node, situation.question.identity);
    if (is_marked) AddPresentState(node, situation, history.began, histories[node.name]);
  }
  for (auto& [name, of_node] : histories) {
    if (of_node.spans.empty()) continue;
    of_node.name = name;
    history.nodes.push_back(std::move(of_node));
  }
  const absl::Time last = facts.events.empty() ? history.began : facts.events.back().last;
  history.length = (IsOver(history.nodes) ? last : std::max(last, at)) - history.began;
  for (NodeHistory& node : history.nodes) node.spans.back().end = history.length;
  return history;
}

}  // namespace driverupgrade::whatif
