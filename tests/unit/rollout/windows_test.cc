#include "policy/windows.h"

#include <string>

#include "support/catch.h"

namespace driverupgrade::internal {
namespace {

absl::TimeZone Zone(const char* name) { return LoadRolloutTimeZone(name).value(); }

// Returns the first time at which the clocks of `zone` show `text`, e.g. `2026-03-28 22:00`.
absl::Time At(const char* text, const char* zone = "UTC") {
  absl::Time time;
  std::string error;
  REQUIRE(absl::ParseTime("%Y-%m-%d %H:%M", text, Zone(zone), &time, &error));
  return time;
}

// Returns a rollout with one window: six hours from 22:00 on Saturdays and Sundays, in Berlin.
RolloutPolicy WeekendNights() {
  return {.windows = {{.days = {absl::Weekday::saturday, absl::Weekday::sunday},
                       .start = absl::Hours(22),
                       .duration = absl::Hours(6),
                       .time_zone = Zone("Europe/Berlin")}}};
}

StartTime Open(absl::Time until) { return {.open = true, .until = until}; }
StartTime Shut(absl::Time until) { return {.open = false, .until = until}; }
StartTime Closed(const RolloutPolicy& rollout, absl::Time until) {
  return {.open = false, .until = until, .closed = rollout.closed.at(0)};
}
StartTime TooLate(absl::Time until) { return {.open = false, .until = until, .too_late = true}; }

constexpr absl::Duration kNode = absl::Minutes(10);

TEST_CASE("without windows or closed days, nodes start at any time") {
  CHECK(StartTimeAt({}, At("2026-01-01 00:00"), kNode) == StartTime{});
}

TEST_CASE("a window belongs to the weekday on which it starts, even after midnight") {
  const RolloutPolicy rollout = WeekendNights();
  // 2026-06-06 is a Saturday.
  const absl::Time saturday = At("2026-06-06 22:00", "Europe/Berlin");
  const absl::Time sunday = At("2026-06-07 22:00", "Europe/Berlin");
  CHECK(StartTimeAt(rollout, At("2026-06-06 02:00", "Europe/Berlin"), kNode) == Shut(saturday));
  CHECK(StartTimeAt(rollout, saturday - absl::Seconds(1), kNode) == Shut(saturday));
  CHECK(StartTimeAt(rollout, saturday, kNode) == Open(saturday + absl::Hours(6)));
  CHECK(StartTimeAt(rollout, At("2026-06-07 03:59", "Europe/Berlin"), kNode) == Open(saturday + absl::Hours(6)));
  CHECK(StartTimeAt(rollout, At("2026-06-07 04:00", "Europe/Berlin"), kNode) == Shut(sunday));
  CHECK(StartTimeAt(rollout, At("2026-06-08 03:00", "Europe/Berlin"), kNode).open);
  CHECK_FALSE(StartTimeAt(rollout, At("2026-06-09 03:00", "Europe/Berlin"), kNode).open);
}

TEST_CASE("a window keeps its length on the nights of clock changes") {
  const RolloutPolicy rollout = WeekendNights();
  // The clocks go forward at 02:00 on 2026-03-29, and back at 03:00 on 2026-10-25.
  CHECK(StartTimeAt(rollout, At("2026-03-29 04:59", "Europe/Berlin"), kNode).open);
  CHECK_FALSE(StartTimeAt(rollout, At("2026-03-29 05:00", "Europe/Berlin"), kNode).open);
  CHECK(StartTimeAt(rollout, At("2026-10-25 02:59", "Europe/Berlin"), kNode).open);
  CHECK_FALSE(StartTimeAt(rollout, At("2026-10-25 03:00", "Europe/Berlin"), kNode).open);
}

TEST_CASE(
    "a start in a skipped hour moves to the end of that hour, and a start in a repeated hour means its first "
    "occurrence") {
  RolloutPolicy rollout = WeekendNights();
  rollout.windows[0].start = absl::Hours(2) + absl::Minutes(30);
  rollout.windows[0].duration = absl::Minutes(10);
  const absl::Time skipped = At("2026-03-29 03:00", "Europe/Berlin");
  CHECK(StartTimeAt(rollout, skipped, kNode) == Open(skipped + absl::Minutes(10)));
  const absl::Time first = At("2026-10-25 00:30", "UTC");
  CHECK(StartTimeAt(rollout, first, kNode) == Open(first + absl::Minutes(10)));
  CHECK_FALSE(StartTimeAt(rollout, first + absl::Hours(1), kNode).open);
}

TEST_CASE("windows in several time zones are combined") {
  RolloutPolicy rollout = WeekendNights();
  rollout.windows.push_back({.days = {absl::Weekday::sunday},
                             .start = absl::Hours(1),
                             .duration = absl::Hours(4),
                             .time_zone = Zone("America/New_York")});
  // The window in New York opens at 07:00 in Berlin, three hours after the window in Berlin closes.
  CHECK(StartTimeAt(rollout, At("2026-06-07 03:00", "Europe/Berlin"), kNode) ==
        Open(At("2026-06-07 04:00", "Europe/Berlin")));
  CHECK(StartTimeAt(rollout, At("2026-06-07 04:30", "Europe/Berlin"), kNode) ==
        Shut(At("2026-06-07 01:00", "America/New_York")));
  rollout.windows[1].start = absl::Hours(0);
  CHECK(StartTimeAt(rollout, At("2026-06-06 23:00", "Europe/Berlin"), kNode) ==
        Open(At("2026-06-07 04:00", "Europe/Berlin")));
  rollout.windows[0].duration = absl::Hours(8);
  CHECK(StartTimeAt(rollout, At("2026-06-06 23:00", "Europe/Berlin"), kNode) ==
        Open(At("2026-06-07 04:00", "America/New_York")));
}

TEST_CASE("closed days use the window's time zone, or UTC if there are no windows") {
  RolloutPolicy rollout = WeekendNights();
  rollout.closed = {{.first = absl::CivilDay(2026, 12, 24), .last = absl::CivilDay(2027, 1, 2)}};
  // 2027-01-02 is a Saturday and the last closed day, so the window on that day stays closed until midnight.
  const absl::Time midnight = At("2027-01-03 00:00", "Europe/Berlin");
  CHECK(StartTimeAt(rollout, At("2026-12-26 23:00", "Europe/Berlin"), kNode) == Closed(rollout, midnight));
  CHECK(StartTimeAt(rollout, midnight, kNode) == Open(At("2027-01-03 04:00", "Europe/Berlin")));
  rollout.windows.clear();
  CHECK(StartTimeAt(rollout, At("2026-12-23 23:59"), kNode) == Open(At("2026-12-24 00:00")));
  CHECK(StartTimeAt(rollout, At("2026-12-24 00:00"), kNode) == Closed(rollout, At("2027-01-03 00:00")));
  CHECK(StartTimeAt(rollout, At("2027-01-03 00:00"), kNode) == Open(absl::InfiniteFuture()));
}

TEST_CASE("with finishBy a node starts only if it will be done before the window closes") {
  RolloutPolicy rollout = WeekendNights();
  rollout.finish_by = true;
  const absl::Time end = At("2026-06-07 04:00", "Europe/Berlin");
  const absl::Time next = At("2026-06-07 22:00", "Europe/Berlin");
  CHECK(StartTimeAt(rollout, end - absl::Hours(2), kNode) == Open(end - kNode));
  CHECK(StartTimeAt(rollout, end - kNode, kNode) == TooLate(next));
  CHECK(StartTimeAt(rollout, end, kNode) == Shut(next));
  rollout.finish_by = false;
  CHECK(StartTimeAt(rollout, end - absl::Seconds(1), kNode) == Open(end));
}

TEST_CASE("a node that takes longer than every window never starts, and the longest window is reported") {
  RolloutPolicy rollout = WeekendNights();
  rollout.finish_by = true;
  StartTime never = TooLate(absl::InfiniteFuture());
  never.longest = absl::Hours(6);
  CHECK(StartTimeAt(rollout, At("2026-06-07 03:00", "Europe/Berlin"), absl::Hours(7)) == never);
  CHECK(LongestWindow(rollout) == absl::Hours(6));
}

TEST_CASE("adjacent windows form one window, even across days") {
  RolloutPolicy rollout{.windows = {{.duration = absl::Hours(24)}}, .finish_by = true};
  const absl::Time now = At("2026-06-07 03:00");
  const StartTime start = StartTimeAt(rollout, now, absl::Hours(24 * 30));
  CHECK(start.open);
  CHECK(start.until > now);
}

TEST_CASE("the next start is found even after a long closed period") {
  RolloutPolicy rollout = WeekendNights();
  rollout.closed = {{.first = absl::CivilDay(2026, 6, 1), .last = absl::CivilDay(2027, 5, 31)}};
  CHECK(StartTimeAt(rollout, At("2026-06-02 00:00"), kNode) ==
        Closed(rollout, At("2027-06-05 22:00", "Europe/Berlin")));
  rollout.closed[0].last = absl::CivilDay(2036, 5, 31);
  CHECK(StartTimeAt(rollout, At("2026-06-02 00:00"), kNode) == Closed(rollout, absl::InfiniteFuture()));
}

TEST_CASE("W16: a window of whole days ends at the same local time even if the clocks change") {
  const absl::Time monday = At("2026-03-30 00:00", "Europe/Berlin");
  for (const RolloutWindow& window :
       {RolloutWindow{
            .days = {absl::Weekday::saturday}, .duration = absl::Hours(48), .time_zone = Zone("Europe/Berlin")},
        RolloutWindow{
            .days = {absl::Weekday::sunday}, .duration = absl::Hours(24), .time_zone = Zone("Europe/Berlin")}}) {
    const RolloutPolicy rollout{.windows = {window}};
    CHECK(StartTimeAt(rollout, monday - absl::Minutes(1), kNode) == Open(monday));
    CHECK_FALSE(StartTimeAt(rollout, monday + absl::Minutes(5), kNode).open);
    CHECK(StartTimeAt(rollout, At("2026-10-25 23:59", "Europe/Berlin"), kNode) ==
          Open(At("2026-10-26 00:00", "Europe/Berlin")));
  }
}

TEST_CASE("W16: a window may start on days of the month, including the last day of a month") {
  RolloutPolicy rollout{.windows = {{.days_of_month = {15, kLastDayOfMonth}}}};
  CHECK(StartTimeAt(rollout, At("2026-02-01 00:00"), kNode) == Shut(At("2026-02-15 00:00")));
  CHECK(StartTimeAt(rollout, At("2026-02-16 00:00"), kNode) == Shut(At("2026-02-28 00:00")));
  CHECK(StartTimeAt(rollout, At("2028-02-28 12:00"), kNode) == Shut(At("2028-02-29 00:00")));
  // The second Tuesday of each month.
  rollout.windows[0] = {.days = {absl::Weekday::tuesday}, .days_of_month = {8, 9, 10, 11, 12, 13, 14}};
  CHECK(StartTimeAt(rollout, At("2026-11-01 00:00"), kNode) == Shut(At("2026-11-10 00:00")));
  CHECK(StartTimeAt(rollout, At("2026-11-11 00:00"), kNode) == Shut(At("2026-12-08 00:00")));
  // Some months do not have a day 31.
  rollout.windows[0] = {.days_of_month = {31}};
  CHECK(StartTimeAt(rollout, At("2026-02-01 00:00"), kNode) == Shut(At("2026-03-31 00:00")));
}

TEST_CASE("W16: closed days may have their own time zone, regardless of the windows") {
  RolloutPolicy rollout{.closed = {{.first = absl::CivilDay(2026, 12, 24), .last = absl::CivilDay(2026, 12, 24)}},
                        .closed_time_zone = Zone("Asia/Tokyo")};
  const absl::Time begin = At("2026-12-24 00:00", "Asia/Tokyo");
  const absl::Time end = At("2026-12-25 00:00", "Asia/Tokyo");
  CHECK(StartTimeAt(rollout, begin - absl::Minutes(1), kNode) == Open(begin));
  CHECK(StartTimeAt(rollout, begin, kNode) == Closed(rollout, end));
  rollout.windows = {{.duration = absl::Hours(24), .time_zone = Zone("America/New_York")}};
  CHECK_FALSE(StartTimeAt(rollout, end - absl::Minutes(1), kNode).open);
  CHECK(StartTimeAt(rollout, end, kNode).open);
}

}  // namespace
}  // namespace driverupgrade::internal
