#include "support/progress.h"

#include <algorithm>

#include "fmt/format.h"

namespace examples {
namespace {

constexpr absl::Duration kTellEvery = absl::Seconds(10);

}  // namespace

std::optional<Progress::Fields> Progress::Note(const driverupgrade::Tally& totals, absl::Time now) {
  if (totals.in_progress + totals.pending == 0) {
    rollout_.reset();
    return std::nullopt;
  }
  // The engine detects outdated drivers node by node. Nodes that still count as done when a new rollout is detected
  // were done before it, so they are not part of its progress.
  const bool lost_all = rollout_ && totals.done < rollout_->done && totals.done <= rollout_->done_before;
  if (!rollout_ || lost_all) rollout_ = {.began = now, .done_before = totals.done, .told = now, .done = totals.done};
  rollout_->done = std::min(rollout_->done, totals.done);
  if (totals.done <= rollout_->done || now < rollout_->told + kTellEvery) return std::nullopt;
  rollout_->told = now;
  rollout_->done = totals.done;
  const int made = totals.done - rollout_->done_before;
  const absl::Duration left = (now - rollout_->began) * (totals.total - totals.done) / made;
  return Fields{{"progress", fmt::format("{} of {}", totals.done, totals.total)},
                {"eta", absl::FormatDuration(absl::Trunc(left, absl::Seconds(1)))}};
}

}  // namespace examples
