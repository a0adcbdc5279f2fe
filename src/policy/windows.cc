#include "policy/windows.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace driverupgrade::internal {
namespace {

// The time from `begin` up to, but not including, `end`.
struct Span {
  absl::Time begin = absl::InfinitePast();
  absl::Time end = absl::InfiniteFuture();
};

constexpr int kWindowDaysMax = 7;
constexpr int kDaysAtFirst = kWindowDaysMax + 1;
// Longer than a year, so that a yearly window is found even if closed days delay it.
constexpr int kDaysAheadMax = 400;

// Returns the parts of `span` that do not fall on the days in `closed`, which start and end at midnight in `zone`.
std::vector<Span> Without(const std::vector<ClosedDays>& closed, const TimeZoneTable& zone, Span span) {
  std::vector<Span> open = {span};
  for (const ClosedDays& days : closed) {
    const Span shut{zone.FirstTime(absl::CivilSecond(days.first)), zone.FirstTime(absl::CivilSecond(days.last + 1))};
    std::vector<Span> left;
    for (const Span& one : open) {
      if (one.begin < shut.begin) left.push_back({one.begin, std::min(one.end, shut.begin)});
      if (shut.end < one.end) left.push_back({std::max(one.begin, shut.end), one.end});
    }
    open = std::move(left);
  }
  return open;
}

TimeZoneTable ZoneOfClosedDays(const RolloutPolicy& rollout, const TimeZoneTable& of_window) {
  return rollout.closed_time_zone.value_or(of_window);
}

bool BeginsOn(const RolloutWindow& window, absl::CivilDay day) {
  if (!window.days.empty() && !window.days.contains(absl::GetWeekday(day))) return false;
  if (window.days_of_month.empty() || window.days_of_month.contains(day.day())) return true;
  return window.days_of_month.contains(kLastDayOfMonth) && (day + 1).month() != day.month();
}

// Returns the end of the window. A window of whole days ends at the time of day at which it starts, because a weekend
// window would otherwise end on Monday when the clocks go forward.
absl::Time EndOf(const RolloutWindow& window, absl::CivilSecond start, absl::Time begin) {
  constexpr absl::Duration kDay = absl::Hours(24);
  if (absl::Trunc(window.duration, kDay) != window.duration) return begin + window.duration;
  return window.time_zone.FirstTime(start + absl::ToInt64Seconds(window.duration));
}

// Adds the spans of `window` that start within `days` days, of which `first` is the first.
void AddSpans(const RolloutPolicy& rollout, const RolloutWindow& window, absl::CivilDay first, int days,
              std::vector<Span>& spans) {
  const TimeZoneTable zone = ZoneOfClosedDays(rollout, window.time_zone);
  const absl::CivilDay end = first + days;
  for (absl::CivilDay day = first; day < end; ++day) {
    if (!BeginsOn(window, day)) continue;
    const absl::CivilSecond start = absl::CivilSecond(day) + absl::ToInt64Seconds(window.start);
    const absl::Time begin = window.time_zone.FirstTime(start);
    const std::vector<Span> open = Without(rollout.closed, zone, {.begin = begin, .end = EndOf(window, start, begin)});
    spans.insert(spans.end(), open.begin(), open.end());
  }
}

// Returns the spans in which nodes may start, in order. Spans that touch each other are merged. Includes all spans that
// end after `now` and start less than about `days` days after `now`.
std::vector<Span> OpenSpans(const RolloutPolicy& rollout, absl::Time now, int days) {
  std::vector<Span> spans;
  for (const RolloutWindow& window : rollout.windows) {
    // Days start at different times in different zones, so one more day on either side is needed.
    const absl::CivilDay today = window.time_zone.DayAt(now);
    AddSpans(rollout, window, today - kWindowDaysMax - 1, kWindowDaysMax + days + 2, spans);
  }
  if (rollout.windows.empty()) spans = Without(rollout.closed, ZoneOfClosedDays(rollout, TimeZoneTable()), {});
  std::sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::vector<Span> merged;
  for (const Span& span : spans) {
    if (span.end <= now) continue;
    if (!merged.empty() && span.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, span.end);
    } else {
      merged.push_back(span);
    }
  }
  return merged;
}

// Returns the closed days that contain `now` in any of the relevant time zones.
std::optional<ClosedDays> ClosedAt(const RolloutPolicy& rollout, absl::Time now) {
  std::vector<TimeZoneTable> zones = {ZoneOfClosedDays(rollout, TimeZoneTable())};
  if (!rollout.closed_time_zone && !rollout.windows.empty()) zones.clear();
  for (const RolloutWindow& window : rollout.windows) zones.push_back(ZoneOfClosedDays(rollout, window.time_zone));
  for (const ClosedDays& days : rollout.closed) {
    for (const TimeZoneTable& zone : zones) {
      const absl::CivilDay today = zone.DayAt(now);
      if (days.first <= today && today <= days.last) return days;
    }
  }
  return std::nullopt;
}

// Returns the length of the longest span that starts within kDaysAheadMax.
absl::Duration LongestFrom(const RolloutPolicy& rollout, absl::Time now) {
  absl::Duration longest = absl::ZeroDuration();
  for (const Span& span : OpenSpans(rollout, now, kDaysAheadMax)) {
    if (span.begin - now <= kDaysAheadMax * absl::Hours(24)) longest = std::max(longest, span.end - span.begin);
  }
  return longest;
}

StartTime Shut(const RolloutPolicy& rollout, absl::Time now, StartTime shut) {
  shut.open = false;
  if (!shut.too_late) shut.closed = ClosedAt(rollout, now);
  if (shut.until == absl::InfiniteFuture()) shut.longest = LongestFrom(rollout, now);
  return shut;
}

}  // namespace

StartTime StartTimeAt(const RolloutPolicy& rollout, absl::Time now, absl::Duration takes) {
  if (rollout.windows.empty() && rollout.closed.empty()) return {};
  const absl::Duration needed = rollout.finish_by ? takes : absl::ZeroDuration();
  // Also looks ahead by the needed time, so that a span that is cut off at the horizon is still long enough.
  const auto days_needed = std::clamp<std::int64_t>(needed / absl::Hours(24), 0, kDaysAheadMax);
  bool too_late = false;
  for (const int days : {kDaysAtFirst, kDaysAheadMax}) {
    for (const Span& span : OpenSpans(rollout, now, days + static_cast<int>(days_needed) + 1)) {
      if (span.begin - now > days * absl::Hours(24)) break;
      const absl::Time last = span.end - needed;
      if (span.begin <= now && now < last) return {.open = true, .until = last};
      too_late |= span.begin <= now;
      if (now < span.begin && span.begin < last) return Shut(rollout, now, {.until = span.begin, .too_late = too_late});
    }
  }
  return Shut(rollout, now, {.too_late = too_late});
}

absl::Duration LongestWindow(const RolloutPolicy& rollout) {
  if (rollout.windows.empty()) return absl::InfiniteDuration();
  RolloutPolicy open = rollout;
  open.closed.clear();
  // Any start time works, because every window opens within a year.
  return LongestFrom(open, absl::FromUnixSeconds(1'704'067'200));
}

}  // namespace driverupgrade::internal
