#include "run/node_durations.h"

#include <algorithm>
#include <optional>

#include "driverupgrade/upgrade_state.h"
#include "model/node_marks.h"

namespace driverupgrade::internal {
namespace {

// A node that was deleted in the middle is never done.
constexpr absl::Duration kForgotten = absl::Hours(7 * 24);

}  // namespace

void NodeDurations::Note(const std::vector<NodeOutcome>& outcomes, const DriverIdentity& identity, absl::Time now) {
  for (const NodeOutcome& outcome : outcomes) {
    if (outcome.node_after == nullptr) continue;
    const std::optional<UpgradeState> state = StateOf(*outcome.node_after, identity);
    if (!state) continue;
    if (IsInProgress(*state) && *state != UpgradeState::kFailed) {
      began_.try_emplace(outcome.node, now);
      continue;
    }
    const auto began = began_.find(outcome.node);
    if (began == began_.end()) continue;
    if (*state == UpgradeState::kDone && began->second <= now) took_.push_back(now - began->second);
    began_.erase(began);
  }
  std::erase_if(began_, [&](const auto& node) { return node.second + kForgotten < now; });
}

void NodeDurations::Stored(std::size_t count) {
  took_.erase(took_.begin(), took_.begin() + static_cast<std::ptrdiff_t>(std::min(count, took_.size())));
}

}  // namespace driverupgrade::internal
