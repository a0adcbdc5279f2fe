// Decides whether a node may start now, given the windows and the closed days of a rollout.
//
//     const StartTime start = StartTimeAt(rollout, now, /*takes=*/absl::Minutes(10));
//     if (!start.open) return "not before " + FormatTime(start.until);
//
// Windows and closed days are times on the clocks of their zones; the result is a span of real time. Pure: zones are
// loaded when the policy is created.
#ifndef DRIVERUPGRADE_SRC_POLICY_WINDOWS_H_
#define DRIVERUPGRADE_SRC_POLICY_WINDOWS_H_

#include <optional>

#include "absl/time/time.h"
#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::internal {

struct StartTime {
  // Whether nodes may start now.
  bool open = true;
  // The result is the same at any time before this one, at which it must be computed again. If it is not open, this is
  // the next start. Infinite if nothing ends: without windows and closed days, or if no window opens for more than a
  // year.
  absl::Time until = absl::InfiniteFuture();
  // Not open although a window is: what is left of it is shorter than a node takes.
  bool too_late = false;
  // Days that close a window, or the whole day without windows.
  std::optional<ClosedDays> closed = std::nullopt;
  // The longest time for which nodes may start, if `until` is infinite and it is not open; zero: they may never start.
  absl::Duration longest = absl::ZeroDuration();
  friend bool operator==(const StartTime&, const StartTime&) = default;
};

// `takes`: how long a node takes from its start. It counts with RolloutPolicy::finish_by alone: then a node may start
// only if it will be done before the nodes may no longer start.
StartTime StartTimeAt(const RolloutPolicy& rollout, absl::Time now, absl::Duration takes);

// The longest time without a break in which nodes may start, closed days apart; infinite without windows. At least as
// long as a node takes, or no node ever starts with RolloutPolicy::finish_by.
absl::Duration LongestWindow(const RolloutPolicy& rollout);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_POLICY_WINDOWS_H_
