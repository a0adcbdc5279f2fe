#include "decide/due_nodes.h"

#include <algorithm>

namespace driverupgrade::internal {

void DueNodes::Sweep(std::uint64_t judgements) {
  sweep_ = {.name = swept_to_, .is_behind = true, .judgement = judgements};
}

auto DueNodes::Take(absl::Time now, std::size_t most, const PlannedNodes& nodes, const Names& acting) -> Names {
  Names due;
  TakeWoken(now, most, acting, due);
  TakeChanged(most, due);
  TakeSwept(most, nodes, due);
  for (const std::string& name : acting) {
    changed_.erase(name);
    due.insert(name);
  }
  return due;
}

std::optional<absl::Time> DueNodes::wake_at() const {
  if (wakes_.empty()) return std::nullopt;
  return wakes_.begin()->first;
}

void DueNodes::TakeWoken(absl::Time now, std::size_t most, const Names& acting, Names& due) {
  any_woken_ = false;
  for (auto wake = wakes_.begin(); wake != wakes_.end() && wake->first <= now && !any_woken_; ++wake) {
    if (acting.contains(wake->second)) continue;
    any_woken_ = due.size() >= most;
    if (!any_woken_) due.insert(wake->second);
  }
}

void DueNodes::TakeChanged(std::size_t most, Names& due) {
  if (changed_.size() <= most - std::min(most, due.size())) return due.merge(std::exchange(changed_, {}));
  while (!changed_.empty() && due.size() < most) {
    auto next = changed_.upper_bound(changed_at_);
    if (next == changed_.end()) next = changed_.begin();
    changed_at_ = *next;
    due.insert(changed_.extract(next));
  }
}

void DueNodes::TakeSwept(std::size_t most, const PlannedNodes& nodes, Names& due) {
  if (!sweep_) return;
  auto next = nodes.lower_bound(swept_to_);
  while (true) {
    if (next == nodes.end() && std::exchange(sweep_->is_behind, false)) next = nodes.begin();
    if (next == nodes.end() || (!sweep_->is_behind && next->first >= sweep_->name)) return sweep_.reset();
    swept_to_ = next->first;
    if (next->second.judgement <= sweep_->judgement) {
      if (due.size() >= most) return;
      due.insert(next->first);
      changed_.erase(next->first);
    }
    ++next;
  }
}

}  // namespace driverupgrade::internal
