// Compares the times at which windows are open with local clocks that the test reads at every tick for ten years.
#include <string>
#include <vector>

#include "fmt/format.h"
#include "policy/windows.h"
#include "property/seeded_random.h"
#include "support/catch.h"

namespace driverupgrade::internal {
namespace {

using tests::SeededRandom;

// Windows open and close only at multiples of this time.
constexpr absl::Duration kTick = absl::Minutes(5);
constexpr int kTicksOfDay = 24 * 12;

absl::TimeZone Zone(const std::string& name) { return LoadRolloutTimeZone(name).value(); }

RolloutWindow RandomWindow(absl::TimeZone zone, SeededRandom& random) {
  RolloutWindow window{.time_zone = zone};
  for (const absl::Weekday day :
       {absl::Weekday::monday, absl::Weekday::wednesday, absl::Weekday::saturday, absl::Weekday::sunday}) {
    if (random.Chance(50)) window.days.insert(day);
  }
  // The start may be a time that the clocks skip or show twice.
  window.start = random.Chance(60) ? random.Pick({0, 30, 90, 120, 150, 1410}) * absl::Minutes(1)
                                   : random.Below(kTicksOfDay) * kTick;
  window.duration = random.Between(1, random.Pick({12, 100, 7 * kTicksOfDay})) * kTick;
  return window;
}

RolloutPolicy RandomRollout(absl::TimeZone zone, SeededRandom& random) {
  RolloutPolicy rollout{.finish_by = random.Chance(50)};
  for (int i = random.Between(0, 2); i >= 0; --i) {
    rollout.windows.push_back(RandomWindow(random.Chance(80) ? zone : absl::UTCTimeZone(), random));
  }
  for (int i = random.Below(6); i > 0; --i) {
    const absl::CivilDay first(random.Between(2024, 2033), random.Between(1, 12), random.Between(1, 28));
    rollout.closed.push_back({.first = first, .last = first + random.Below(40)});
  }
  return rollout;
}

// Reads the clock of one window at every tick.
class Watcher {
 public:
  // The local time comes from abseil, not from the policy's time zone table.
  explicit Watcher(const RolloutPolicy& rollout, const RolloutWindow& window)
      : rollout_(rollout), window_(window), zone_(Zone(window.time_zone.name())) {}

  bool IsOpen(absl::Time now) {
    const absl::CivilSecond clock = absl::ToCivilSecond(now, zone_);
    const absl::CivilDay day(clock);
    if (day > begun_ && clock - absl::CivilSecond(day) >= absl::ToInt64Seconds(window_.start)) {
      begun_ = day;
      if (window_.days.empty() || window_.days.contains(absl::GetWeekday(day))) {
        closes_ = std::max(closes_, ClosesAt(clock, now));
      }
    }
    if (now >= closes_) return false;
    for (const ClosedDays& closed : rollout_.closed) {
      if (closed.first <= day && day <= closed.last) return false;
    }
    return true;
  }

 private:
  // Whole days are calendar days, counted from the nominal start even if the clocks skip it.
  absl::Time ClosesAt(absl::CivilSecond clock, absl::Time now) const {
    const std::int64_t days = window_.duration / absl::Hours(24);
    if (days * absl::Hours(24) != window_.duration) return now + window_.duration;
    const absl::CivilSecond end = absl::CivilSecond(absl::CivilDay(clock) + days) + absl::ToInt64Seconds(window_.start);
    const absl::TimeZone::TimeInfo info = zone_.At(end);
    return info.kind == absl::TimeZone::TimeInfo::SKIPPED ? info.trans : info.pre;
  }

  const RolloutPolicy& rollout_;
  const RolloutWindow& window_;
  const absl::TimeZone zone_;
  absl::CivilDay begun_{1970, 1, 1};
  absl::Time closes_ = absl::InfinitePast();
};

std::vector<bool> WatchedTicks(const RolloutPolicy& rollout, absl::Time begin, int ticks) {
  std::vector<bool> open(static_cast<std::size_t>(ticks));
  for (const RolloutWindow& window : rollout.windows) {
    Watcher watcher(rollout, window);
    for (int i = 0; i < ticks; ++i) {
      if (watcher.IsOpen(begin + i * kTick)) open[static_cast<std::size_t>(i)] = true;
    }
  }
  return open;
}

// Returns, for each tick, true if the window is open and stays open for `needed` more ticks.
std::vector<bool> OpenForLong(std::vector<bool> open, int needed) {
  int run = 0;
  for (std::size_t i = open.size(); i-- > 0;) {
    run = open[i] ? run + 1 : 0;
    open[i] = run > needed;
  }
  return open;
}

// Returns the first tick at which `rollout` differs from `expected`, or an empty string if there is no difference.
std::string Difference(const RolloutPolicy& rollout, int needed, absl::Time begin, const std::vector<bool>& expected,
                       int from, int to) {
  StartTime start{.until = absl::InfinitePast()};
  for (int i = from; i < to; ++i) {
    const absl::Time now = begin + i * kTick;
    if (now >= start.until) start = StartTimeAt(rollout, now, needed * kTick);
    if (start.open == expected[static_cast<std::size_t>(i)]) continue;
    return fmt::format("{}: {}", absl::FormatTime(now, Zone(rollout.windows[0].time_zone.name())),
                       start.open ? "open" : "not open");
  }
  return "";
}

TEST_CASE("for ten years, windows are open exactly when the local clocks show a time within them") {
  // Clock changes skip midnight in Havana, repeat it in Beirut, and shift by half an hour on Lord Howe.
  const char* name =
      GENERATE("Europe/Berlin", "America/New_York", "America/Havana", "Australia/Lord_Howe", "Asia/Beirut");
  CAPTURE(name);
  const absl::Time begin = absl::FromCivil(absl::CivilDay(2024, 1, 1), absl::UTCTimeZone());
  constexpr int kTicks = 3653 * kTicksOfDay;
  constexpr int kMargin = 20 * kTicksOfDay;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    SeededRandom random(seed);
    const RolloutPolicy rollout = RandomRollout(Zone(name), random);
    const int needed = random.Between(1, random.Pick({3, 60, 3 * kTicksOfDay}));
    const std::vector<bool> open = WatchedTicks(rollout, begin, kTicks);
    const std::vector<bool> expected = rollout.finish_by ? OpenForLong(open, needed) : open;
    CHECK(Difference(rollout, needed, begin, expected, kMargin, kTicks - kMargin) == "");
  }
}

}  // namespace
}  // namespace driverupgrade::internal
