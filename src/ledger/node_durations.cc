#include "ledger/node_durations.h"

#include <algorithm>
#include <optional>

#include "driverupgrade/upgrade_state.h"
#include "model/node_marks.h"

namespace driverupgrade::internal {
namespace {

// Nodes are forgotten after this time, because a node that was deleted during its upgrade never becomes done.
constexpr absl::Duration kForgotten = absl::Hours(7 * 24);

}  // namespace

void NodeDurations::Planned(const std::string& node, bool starts) {
  if (starts) {
    starting_.insert(node);
  } else {
    starting_.erase(node);
  }
}

void NodeDurations::Note(const std::vector<NodeOutcome>& outcomes, const DriverIdentity& identity,
                         absl::Time unbroken_since, absl::Time now) {
  std::erase_if(began_,
                [&](const auto& node) { return node.second.at < unbroken_since || node.second.at + kForgotten < now; });
  for (const NodeOutcome& outcome : outcomes) {
    const bool starts = starting_.erase(outcome.node) > 0;
    if (outcome.node_after == nullptr) continue;
    const std::optional<UpgradeState> state = StateOf(*outcome.node_after, identity);
    if (!state) continue;
    if (IsInProgress(*state)) {
      const absl::Time at = outcome.patched_at;
      if (starts && unbroken_since <= at) began_[outcome.node] = {.uid = outcome.node_after->uid, .at = at};
      continue;
    }
    const auto began = began_.find(outcome.node);
    if (began == began_.end()) continue;
    const absl::Duration took = outcome.patched_at - began->second.at;
    const bool is_same = began->second.uid == outcome.node_after->uid && took >= absl::ZeroDuration();
    if (*state == UpgradeState::kDone && is_same) took_.push_back(took);
    began_.erase(began);
  }
}

void NodeDurations::Stored(std::size_t count) {
  took_.erase(took_.begin(), took_.begin() + static_cast<std::ptrdiff_t>(std::min(count, took_.size())));
}

}  // namespace driverupgrade::internal
