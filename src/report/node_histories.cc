#include "report/node_histories.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>

#include "absl/status/status.h"

namespace driverupgrade::internal {
namespace {

constexpr std::size_t kTransitionsMax = 10;
constexpr std::size_t kFailedRequestsMax = 3;

template <typename T>
void Append(T item, std::size_t max, std::vector<T>& items) {
  items.push_back(std::move(item));
  if (items.size() > max) items.erase(items.begin());
}

}  // namespace

void NodeHistories::Follow(const Plan& plan, absl::Time now) {
  std::set<std::string_view> waiting;
  for (const auto& [node, state, gate] : plan.gates) {
    if (plan.gates_complete) waiting.insert(node);
    const NodeHistory* history = Find(node);
    const bool is_known = history != nullptr && history->waiting && history->waiting->state == state &&
                          history->waiting->reason == gate.reason;
    if (is_known) continue;
    Edit(node).waiting = NodeHistory::Waiting{.state = state, .reason = gate.reason, .since = now};
  }
  const auto ends = [&](const std::string& node) {
    const NodeHistory* history = Find(node);
    if (history != nullptr && history->waiting) Edit(node).waiting.reset();
  };
  for (const std::string& node : plan.ungated) ends(node);
  if (!plan.gates_complete) return;
  for (const auto& [node, history] : nodes_) {
    if (!waiting.contains(node)) ends(node);
  }
}

void NodeHistories::Follow(const NodePlan& plan, const NodeOutcome& outcome, absl::Time now) {
  // A conflict is not a failure: the node has changed, and the next pass patches the new version.
  if (!outcome.status.ok() && !absl::IsAborted(outcome.status)) {
    Append(NodeHistory::FailedRequest{.at = now,
                                      .code = absl::StatusCodeToString(outcome.status.code()),
                                      .message = std::string(outcome.status.message())},
           kFailedRequestsMax, Edit(plan.node).failed_requests);
  }
  if (!outcome.patched || plan.path.empty()) return;
  NodeHistory& history = Edit(plan.node);
  for (const UpgradeState state : plan.path) {
    // A plan's reason applies only to the last state of the plan.
    std::string reason = state == plan.path.back() ? plan.reason : std::string();
    Append(NodeHistory::Transition{.at = now, .state = state, .reason = std::move(reason)}, kTransitionsMax,
           history.transitions);
  }
}

void NodeHistories::Trim(std::size_t nodes) {
  constexpr std::size_t kAlways = 100;
  if (nodes_.size() <= 2 * nodes + kAlways) return;
  std::set<std::pair<absl::Time, std::string>> ended;
  for (const auto& [node, history] : nodes_) {
    if (history->waiting) continue;
    absl::Time last = absl::InfinitePast();
    if (!history->transitions.empty()) last = history->transitions.back().at;
    if (!history->failed_requests.empty()) last = std::max(last, history->failed_requests.back().at);
    ended.insert({last, node});
  }
  for (auto oldest = ended.begin(); oldest != ended.end() && nodes_.size() > nodes + kAlways; ++oldest) {
    nodes_.erase(oldest->second);
  }
}

void NodeHistories::Keep(const std::vector<std::string_view>& nodes) {
  auto node = nodes.begin();
  std::erase_if(nodes_, [&](const auto& history) {
    while (node != nodes.end() && *node < history.first) ++node;
    return node == nodes.end() || *node != history.first;
  });
}

const NodeHistory* NodeHistories::Find(std::string_view node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : found->second.get();
}

std::vector<std::shared_ptr<const NodeHistory>> NodeHistories::Of(const std::vector<std::string_view>& nodes) const {
  std::vector<std::shared_ptr<const NodeHistory>> histories;
  histories.reserve(nodes.size());
  auto known = nodes_.begin();
  for (const std::string_view node : nodes) {
    while (known != nodes_.end() && known->first < node) ++known;
    const bool is_known = known != nodes_.end() && known->first == node;
    histories.push_back(is_known ? known->second : nullptr);
  }
  return histories;
}

NodeHistory& NodeHistories::Edit(const std::string& node) {
  std::shared_ptr<const NodeHistory>& history = nodes_[node];
  auto copy = history == nullptr ? std::make_shared<NodeHistory>() : std::make_shared<NodeHistory>(*history);
  NodeHistory& edited = *copy;
  history = std::move(copy);
  return edited;
}

}  // namespace driverupgrade::internal
