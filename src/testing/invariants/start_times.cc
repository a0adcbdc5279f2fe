#include "testing/invariants/start_times.h"

#include <algorithm>
#include <set>

namespace driverupgrade::testing {

using driverupgrade::internal::DurationSketch;

namespace {

bool IsClosed(const RolloutPolicy& rollout, absl::CivilDay day) {
  return std::any_of(rollout.closed.begin(), rollout.closed.end(),
                     [&](const ClosedDays& days) { return days.first <= day && day <= days.last; });
}

// Returns the start of the next closed day, or `end` if `end` is earlier. Returns `time` if the day of `time` is
// closed.
absl::Time UntilClosed(const RolloutPolicy& rollout, const TimeZoneTable& zone, absl::Time time, absl::Time end) {
  if (IsClosed(rollout, zone.DayAt(time))) return time;
  for (const ClosedDays& days : rollout.closed) {
    const absl::Time begins = zone.FirstTime(absl::CivilSecond(days.first));
    if (begins > time) end = std::min(end, begins);
  }
  return end;
}

// A window of whole days ends at the same time of day, even if the clocks change.
absl::Time EndOf(const RolloutWindow& window, absl::Time begins) {
  if (window.duration % absl::Hours(24) != absl::ZeroDuration()) return begins + window.duration;
  const absl::CivilSecond clock = window.time_zone.ClockAt(begins);
  return window.time_zone.FirstTime(clock + absl::ToInt64Seconds(window.duration));
}

// Returns the end of the uninterrupted period, starting at `time`, in which nodes may start. Stops searching once the
// period is longer than `enough`.
absl::Time OpenUntil(const RolloutPolicy& rollout, absl::Time time, absl::Duration enough) {
  if (rollout.windows.empty()) {
    return UntilClosed(rollout, rollout.closed_time_zone.value_or(TimeZoneTable()), time, absl::InfiniteFuture());
  }
  absl::Time until = time;
  for (bool grows = true; grows && until - time <= enough;) {
    const absl::Time from = until;
    ForEachWindow(rollout, from, from, [&](absl::Time begins, const RolloutWindow& window) {
      const absl::Time ends = EndOf(window, begins);
      const TimeZoneTable zone = rollout.closed_time_zone.value_or(window.time_zone);
      if (begins <= from && from < ends) until = std::max(until, UntilClosed(rollout, zone, from, ends));
    });
    grows = until > from;
  }
  return until;
}

}  // namespace

absl::Duration LongestOf(int step) {
  return *DurationSketch::FromCounts({{step, DurationSketch::kSamplesMin}}).Quantile(100);
}

// Returns nullopt for fewer than five attempts, because so few durations are not meaningful.
std::optional<absl::Duration> MostTake(const DurationSketch& durations) {
  int tries = 0;
  for (const auto& [step, count] : durations.counts()) tries += count;
  if (tries < 5) return std::nullopt;
  int within = 0;
  for (const auto& [step, count] : durations.counts()) {
    within += count;
    if (within * 100 >= tries * 95) return LongestOf(step);
  }
  return std::nullopt;
}

absl::Duration TakesBy(const DurationSketch& durations, const RolloutPolicy& rollout) {
  if (!rollout.finish_by) return absl::ZeroDuration();
  return MostTake(durations).value_or(rollout.expected_node_duration.value_or(absl::ZeroDuration()));
}

bool MayStartAt(const RolloutPolicy& rollout, absl::Duration takes, absl::Time time) {
  return OpenUntil(rollout, time, takes) > time + takes;
}

// Checks only `first`, the start of each window, and the end of each closed period, because the remaining time is
// longest at these times.
bool MayStart(const RolloutPolicy& rollout, absl::Duration takes, absl::Time first, absl::Time last) {
  std::set<absl::Time> times = {first};
  const auto add_ends_of_closed = [&](const TimeZoneTable& zone) {
    for (const ClosedDays& days : rollout.closed) times.insert(zone.FirstTime(absl::CivilSecond(days.last + 1)));
  };
  add_ends_of_closed(rollout.closed_time_zone.value_or(TimeZoneTable()));
  for (const RolloutWindow& window : rollout.windows) add_ends_of_closed(window.time_zone);
  ForEachWindow(rollout, first, last, [&](absl::Time begins, const RolloutWindow&) { times.insert(begins); });
  return std::any_of(times.begin(), times.end(), [&](absl::Time time) {
    return first <= time && time <= last && MayStartAt(rollout, takes, time);
  });
}

}  // namespace driverupgrade::testing
