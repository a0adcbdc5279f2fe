// Decides whether a node may start now, according to the windows and closed days of a rollout.
//
//     const StartTime start = StartTimeAt(rollout, now, /*takes=*/absl::Minutes(10));
//     if (!start.open) return "not before " + FormatTime(start.until);
//
// Windows and closed days are local times in their time zones. The result is in absolute time. Pure: time zones are
// loaded when the policy is created.
#ifndef DRIVERUPGRADE_SRC_POLICY_WINDOWS_H_
#define DRIVERUPGRADE_SRC_POLICY_WINDOWS_H_

#include <optional>

#include "absl/time/time.h"
#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::internal {

struct StartTime {
  // True if nodes may start now.
  bool open = true;
  // Time until which the result stays valid, and at which it must be computed again. If `open` is false, nodes may
  // start again at this time. Infinite if the policy has neither windows nor closed days, or if no window opens for
  // more than a year.
  absl::Time until = absl::InfiniteFuture();
  // True if a window is open, but the remaining time is shorter than the duration of a node's upgrade.
  bool too_late = false;
  // The closed days that contain the current time. nullopt if the current day is not closed, or if `too_late` is true.
  std::optional<ClosedDays> closed = std::nullopt;
  // Length of the longest window if `open` is false and `until` is infinite. Zero if nodes may never start.
  absl::Duration longest = absl::ZeroDuration();
  friend bool operator==(const StartTime&, const StartTime&) = default;
};

// Returns whether nodes may start at `now`. `takes`: duration of a node's upgrade, which matters only if
// RolloutPolicy::finish_by is set, because a node may then start only if it will finish before the window ends.
StartTime StartTimeAt(const RolloutPolicy& rollout, absl::Time now, absl::Duration takes);

// Returns the longest uninterrupted time in which nodes may start, ignoring closed days. Infinite if the policy has no
// windows. With RolloutPolicy::finish_by, a node whose upgrade takes longer never starts.
absl::Duration LongestWindow(const RolloutPolicy& rollout);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_WINDOWS_H_
