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
    std::optional<NodeHistory::Waiting>& known = nodes_[node].waiting;
    if (known && known->state == state && known->reason == gate.reason) continue;
    known = NodeHistory::Waiting{.state = state, .reason = gate.reason, .since = now};
  }
  for (const std::string& node : plan.ungated) {
    if (const auto found = nodes_.find(node); found != nodes_.end()) found->second.waiting.reset();
  }
  if (!plan.gates_complete) return;
  for (auto& [node, history] : nodes_) {
    if (!waiting.contains(node)) history.waiting.reset();
  }
}

void NodeHistories::Follow(const NodePlan& plan, const NodeOutcome& outcome, absl::Time now) {
  if (!outcome.status.ok()) {
    Append(NodeHistory::FailedRequest{.at = now,
                                      .code = absl::StatusCodeToString(outcome.status.code()),
                                      .message = std::string(outcome.status.message())},
           kFailedRequestsMax, nodes_[plan.node].failed_requests);
  }
  if (!outcome.patched) return;
  for (const UpgradeState state : plan.path) {
    // A plan has one reason, for its last state.
    std::string reason = state == plan.path.back() ? plan.reason : std::string();
    Append(NodeHistory::Transition{.at = now, .state = state, .reason = std::move(reason)}, kTransitionsMax,
           nodes_[plan.node].transitions);
  }
}

void NodeHistories::Trim(std::size_t nodes) {
  constexpr std::size_t kAlways = 100;
  if (nodes_.size() <= 2 * nodes + kAlways) return;
  std::set<std::pair<absl::Time, std::string>> ended;
  for (const auto& [node, history] : nodes_) {
    if (history.waiting) continue;
    absl::Time last = absl::InfinitePast();
    if (!history.transitions.empty()) last = history.transitions.back().at;
    if (!history.failed_requests.empty()) last = std::max(last, history.failed_requests.back().at);
    ended.insert({last, node});
  }
  for (auto oldest = ended.begin(); oldest != ended.end() && nodes_.size() > nodes + kAlways; ++oldest) {
    nodes_.erase(oldest->second);
  }
}

void NodeHistories::Keep(const std::set<std::string>& nodes) {
  std::erase_if(nodes_, [&](const auto& history) { return !nodes.contains(history.first); });
}

const NodeHistory* NodeHistories::Find(std::string_view node) const {
  const auto found = nodes_.find(node);
  return found == nodes_.end() ? nullptr : &found->second;
}

}  // namespace driverupgrade::internal
