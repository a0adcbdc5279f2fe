// The times at which nodes of a rollout may start: windows, closed days, and the duration of a node's upgrade (I20).
// Implements docs/policy.md independently of the library.
#ifndef DRIVERUPGRADE_SRC_TESTING_INVARIANTS_START_TIMES_H_
#define DRIVERUPGRADE_SRC_TESTING_INVARIANTS_START_TIMES_H_

#include <optional>

#include "absl/time/civil_time.h"
#include "absl/time/time.h"
#include "decide/rollout/duration_sketch.h"
#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::testing {

// Returns the duration that engines assume for each measurement in the bucket `step` of a record's sketch.
absl::Duration LongestOf(int step);

// Returns the duration that 95 of 100 nodes did not exceed, according to a rollout's record; nullopt if too few nodes
// were measured.
std::optional<absl::Duration> MostTake(const driverupgrade::internal::DurationSketch& durations);

// Returns the expected duration of a node's upgrade according to the record. Zero if `finishBy` is not set, because
// only `finishBy` uses the duration.
absl::Duration TakesBy(const driverupgrade::internal::DurationSketch& durations, const RolloutPolicy& rollout);

// Returns true if a node whose upgrade takes `takes` may start at `time`.
bool MayStartAt(const RolloutPolicy& rollout, absl::Duration takes, absl::Time time);

// Returns true if a node whose upgrade takes `takes` may start at some time from `first` to `last`.
bool MayStart(const RolloutPolicy& rollout, absl::Duration takes, absl::Time first, absl::Time last);

// Calls `visit(begins, window)` for each window that starts between eight days before `first` and the day of `last`.
template <class F>
void ForEachWindow(const RolloutPolicy& rollout, absl::Time first, absl::Time last, F visit) {
  for (const RolloutWindow& window : rollout.windows) {
    // Starts more than a week early, because a window can be a week long.
    const absl::CivilDay end = window.time_zone.DayAt(last);
    for (absl::CivilDay day = window.time_zone.DayAt(first) - 8; day <= end; ++day) {
      if (!window.days.empty() && !window.days.contains(absl::GetWeekday(day))) continue;
      const bool is_last = window.days_of_month.contains(kLastDayOfMonth) && (day + 1).day() == 1;
      if (!window.days_of_month.empty() && !window.days_of_month.contains(day.day()) && !is_last) continue;
      const absl::CivilSecond begins = absl::CivilSecond(day) + absl::ToInt64Seconds(window.start);
      visit(window.time_zone.FirstTime(begins), window);
    }
  }
}

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_SRC_TESTING_INVARIANTS_START_TIMES_H_
