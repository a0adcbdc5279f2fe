#include "policy/window_codec.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/quote.h"
#include "base/status_macros.h"
#include "fmt/format.h"

namespace driverupgrade::internal {
namespace {

constexpr std::string_view kLastDayName = "Last";
constexpr OneOf kDay(Words<absl::Weekday, 7>{{{"Mon", absl::Weekday::monday},
                                              {"Tue", absl::Weekday::tuesday},
                                              {"Wed", absl::Weekday::wednesday},
                                              {"Thu", absl::Weekday::thursday},
                                              {"Fri", absl::Weekday::friday},
                                              {"Sat", absl::Weekday::saturday},
                                              {"Sun", absl::Weekday::sunday}}});

// Returns the number in the `size` characters of `text` from `at` on; -1 if a character is not a digit.
int Digits(std::string_view text, std::size_t at, std::size_t size) {
  int value = 0;
  for (const char c : text.substr(at, size)) {
    if (c < '0' || c > '9') return -1;
    value = 10 * value + (c - '0');
  }
  return value;
}

// Parses a string such as `22:00` into the time since midnight.
std::optional<absl::Duration> ParseTimeOfDay(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  const int hours = Digits(text, 0, 2);
  const int minutes = Digits(text, 3, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  return absl::Hours(hours) + absl::Minutes(minutes);
}

// Parses a string such as `2026-12-24`.
std::optional<absl::CivilDay> ParseDay(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const int year = Digits(text, 0, 4);
  const int month = Digits(text, 5, 2);
  const int day = Digits(text, 8, 2);
  const absl::CivilDay parsed(year, month, day);
  // CivilDay normalizes invalid days: February 30 becomes March 1 or 2.
  if (parsed.year() != year || parsed.month() != month || parsed.day() != day) return std::nullopt;
  return parsed;
}

// Parses a string such as `2026-12-24/2027-01-02`, or a single day.
std::optional<ClosedDays> ParseClosedDays(std::string_view text) {
  const std::size_t slash = text.find('/');
  const std::optional<absl::CivilDay> first = ParseDay(text.substr(0, slash));
  const std::optional<absl::CivilDay> last = slash == std::string_view::npos ? first : ParseDay(text.substr(slash + 1));
  if (!first || !last) return std::nullopt;
  return ClosedDays{.first = *first, .last = *last};
}

std::string FormatDay(absl::CivilDay day) {
  return fmt::format("{:04}-{:02}-{:02}", day.year(), day.month(), day.day());
}

absl::StatusOr<TimeZoneTable> LoadZone(const std::string& name, const TimeZoneLoader& zones) {
  if (name == "UTC") return TimeZoneTable();
  if (zones) return zones(name);
  return absl::InvalidArgumentError(fmt::format("only the time zone UTC is known here, got {}", Quote(name)));
}

void ReadClosed(PolicySection& list, std::string_view item, std::vector<ClosedDays>& closed) {
  std::string text;
  list.Read(item, Text(), text);
  if (text.empty()) return;
  const std::optional<ClosedDays> days = ParseClosedDays(text);
  if (!days) {
    return list.Reject(
        item, fmt::format("must be days such as \"2026-12-24/2027-01-02\" or \"2026-12-24\", got {}", Quote(text)));
  }
  closed.push_back(*days);
}

void CheckWindow(const std::string& path, const RolloutWindow& window, FieldChecker& checker) {
  checker.Between(path + ".start", absl::ZeroDuration(), absl::Hours(24) - absl::Minutes(1), window.start);
  checker.Require(absl::Trunc(window.start, absl::Minutes(1)) == window.start, path + ".start",
                  "must be a whole number of minutes");
  // A window can open every week, so a window must not last longer than a week.
  checker.Between(path + ".durationSeconds", absl::Minutes(1), absl::Hours(7 * 24), window.duration);
  for (const int day : window.days_of_month) {
    checker.Require((day >= 1 && day <= 31) || day == kLastDayOfMonth, path + ".daysOfMonth",
                    fmt::format("must be 1 to 31 or Last, got {}", day));
  }
}

}  // namespace

std::string FormatClosedDays(const ClosedDays& days) {
  if (days.first == days.last) return FormatDay(days.first);
  return fmt::format("{}/{}", FormatDay(days.first), FormatDay(days.last));
}

void ZoneName::Read(PolicySection& section, std::string_view name, TimeZoneTable& value) const {
  std::string zone;
  section.Read(name, Text(), zone);
  if (!section.IsSet(name)) return;
  absl::StatusOr<TimeZoneTable> loaded = LoadZone(zone, section.reading().zones);
  if (!loaded.ok()) return section.Reject(name, Message(loaded.status()));
  value = *std::move(loaded);
}

void ZoneName::Write(FieldWriter& out, std::string_view name, const TimeZoneTable& value) const {
  out.Write(name, Text(), value.name());
}

void ReadItem(PolicySection& list, std::string_view item, RolloutWindow& window) {
  list.ReadSection(item, [&](PolicySection& section) {
    section.ReadList("days", [&](PolicySection& days, std::string_view name) {
      absl::Weekday day = absl::Weekday::monday;
      days.Read(name, kDay, day);
      if (!window.days.insert(day).second) days.Reject(name, "duplicate day");
    });
    section.ReadList("daysOfMonth", [&](PolicySection& days, std::string_view name) {
      std::optional<int> day;
      days.ReadIntOr(name, kLastDayName, kLastDayOfMonth, day);
      if (day && !window.days_of_month.insert(*day).second) days.Reject(name, "duplicate day");
    });
    std::string start = "00:00";
    section.Read("start", Text(), start);
    const std::optional<absl::Duration> time = ParseTimeOfDay(start);
    if (!time) section.Reject("start", fmt::format("must be a time such as \"22:00\", got {}", Quote(start)));
    window.start = time.value_or(window.start);
    section.Read("durationSeconds", Seconds(), window.duration);
    if (!section.IsSet("durationSeconds")) list.Reject(item, "durationSeconds is missing");
    section.Read("timeZone", ZoneName(), window.time_zone);
  });
}

void WriteItem(const RolloutWindow& window, FieldWriter& out) {
  out.StartObject();
  out.StartArray("days");
  for (const auto& [name, day] : kDay.words) {
    if (window.days.contains(day)) out.Item(name);
  }
  out.EndArray();
  if (!window.days_of_month.empty() || !out.only_set()) {
    out.StartArray("daysOfMonth");
    for (const int day : window.days_of_month) day == kLastDayOfMonth ? out.Item(kLastDayName) : out.Item(day);
    out.EndArray();
  }
  const auto minutes = absl::ToInt64Minutes(window.start);
  out.Write("start", Text(), fmt::format("{:02}:{:02}", minutes / 60, minutes % 60));
  out.Write("durationSeconds", Seconds(), window.duration);
  out.Write("timeZone", ZoneName(), window.time_zone);
  out.EndObject();
}

void CheckItems(const std::string& path, const std::vector<RolloutWindow>& windows, FieldChecker& checker) {
  checker.Items(path, windows,
                [&](const std::string& item, const RolloutWindow& window) { CheckWindow(item, window, checker); });
}

void Closed::Read(PolicySection& section, std::string_view name, std::vector<ClosedDays>& value) const {
  section.ReadList(name, [&](PolicySection& list, std::string_view item) { ReadClosed(list, item, value); });
}

void Closed::Write(FieldWriter& out, std::string_view name, const std::vector<ClosedDays>& value) const {
  if (value.empty() && out.only_set()) return;
  out.StartArray(name);
  for (const ClosedDays& days : value) out.Item(fmt::format("{}/{}", FormatDay(days.first), FormatDay(days.last)));
  out.EndArray();
}

void Closed::Check(FieldChecker& checker, const std::string& path, const std::vector<ClosedDays>& value) const {
  checker.Items(path, value, [&](const std::string& item, const ClosedDays& days) {
    checker.Require(days.first <= days.last, item, "ends before it starts");
  });
}

}  // namespace driverupgrade::internal
