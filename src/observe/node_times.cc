#include "observe/node_times.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace driverupgrade::internal {
namespace {

bool IsAtRest(UpgradeState state) { return state == UpgradeState::kUnknown || state == UpgradeState::kDone; }

// A wall clock can be set back.
absl::Duration Between(absl::Time from, absl::Time to) { return std::max(absl::ZeroDuration(), to - from); }

}  // namespace

NodeTimes::Times NodeTimes::Follow(const NodePlan& plan, absl::Time now) {
  Times times;
  std::optional<absl::Time> began;
  const auto known = nodes_.find(plan.node);
  // If the node was replaced, or if another client changed its state label, the observer did not see the node enter its
  // state.
  if (known != nodes_.end() && known->second.uid == plan.uid && known->second.state == plan.from) {
    times.in_state = Between(known->second.entered, now);
    began = known->second.upgrade_began;
  }
  if (!began && !IsInProgress(plan.from) && IsInProgress(plan.to())) began = now;
  if (IsAtRest(plan.to())) {
    if (began && plan.to() == UpgradeState::kDone) times.upgrade = Between(*began, now);
    if (known != nodes_.end()) nodes_.erase(known);
    return times;
  }
  if (!IsInProgress(plan.to())) began.reset();
  nodes_[plan.node] = {.uid = plan.uid, .state = plan.to(), .entered = now, .upgrade_began = began};
  return times;
}

void NodeTimes::Trim(std::size_t nodes) {
  if (nodes_.size() <= nodes) return;
  std::vector<std::pair<absl::Time, std::string>> oldest;
  for (const auto& [name, since] : nodes_) oldest.emplace_back(since.entered, name);
  std::sort(oldest.begin(), oldest.end());
  oldest.resize(nodes_.size() - nodes);
  for (const auto& [_, name] : oldest) nodes_.erase(name);
}

}  // namespace driverupgrade::internal
