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
constexpr std::array kDayNames = {
    std::pair(std::string_view("Mon"), absl::Weekday::monday),
    std::pair(std::string_view("Tue"), absl::Weekday::tuesday),
    std::pair(std::string_view("Wed"), absl::Weekday::wednesday),
    std::pair(std::string_view("Thu"), absl::Weekday::thursday),
    std::pair(std::string_view("Fri"), absl::Weekday::friday),
    std::pair(std::string_view("Sat"), absl::Weekday::saturday),
    std::pair(std::string_view("Sun"), absl::Weekday::sunday),
};

// Returns the value of the digits of `text` at `at`, or -1 if they are not all digits.
int Digits(std::string_view text, std::size_t at, std::size_t size) {
  int value = 0;
  for (const char c : text.substr(at, size)) {
    if (c < '0' || c > '9') return -1;
    value = 10 * value + (c - '0');
  }
  return value;
}

// Parses `22:00` into a time since midnight.
std::optional<absl::Duration> ParseTimeOfDay(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  const int hours = Digits(text, 0, 2);
  const int minutes = Digits(text, 3, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  return absl::Hours(hours) + absl::Minutes(minutes);
}

// Parses `2026-12-24`.
std::optional<absl::CivilDay> ParseDay(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return std::nullopt;
  const int year = Digits(text, 0, 4);
  const int month = Digits(text, 5, 2);
  const int day = Digits(text, 8, 2);
  const absl::CivilDay parsed(year, month, day);
  // CivilDay turns the 30th of February into the 2nd of March.
  if (parsed.year() != year || parsed.month() != month || parsed.day() != day) return std::nullopt;
  return parsed;
}

// Parses `2026-12-24/2027-01-02`, or one day.
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

// nullopt: no time zone is named, or it is unknown.
std::optional<TimeZoneTable> ReadZone(PolicySection& section, std::string_view field, const TimeZoneLoader& zones) {
  std::string name;
  section.ReadText(field, name);
  if (!section.IsSet(field)) return std::nullopt;
  const absl::StatusOr<TimeZoneTable> loaded = LoadZone(name, zones);
  if (loaded.ok()) return *loaded;
  section.Reject(field, Message(loaded.status()));
  return std::nullopt;
}

void ReadWindow(PolicySection& list, std::string_view item, const TimeZoneLoader& zones, RolloutWindow& window) {
  list.ReadSection(item, [&](PolicySection& section) {
    section.ReadList("days", [&](PolicySection& days, std::string_view name) {
      absl::Weekday day = absl::Weekday::monday;
      days.ReadEnum(name, kDayNames, day);
      if (!window.days.insert(day).second) days.Reject(name, "duplicate day");
    });
    section.ReadList("daysOfMonth", [&](PolicySection& days, std::string_view name) {
      std::optional<int> day;
      days.ReadIntOr(name, kLastDayName, kLastDayOfMonth, day);
      if (day && !window.days_of_month.insert(*day).second) days.Reject(name, "duplicate day");
    });
    std::string start = "00:00";
    section.ReadText("start", start);
    const std::optional<absl::Duration> time = ParseTimeOfDay(start);
    if (!time) section.Reject("start", fmt::format("must be a time such as \"22:00\", got {}", Quote(start)));
    window.start = time.value_or(window.start);
    int seconds = -1;
    section.ReadInt("durationSeconds", seconds);
    if (!section.IsSet("durationSeconds")) list.Reject(item, "durationSeconds is missing");
    if (seconds >= 0) window.duration = absl::Seconds(seconds);
    window.time_zone = ReadZone(section, "timeZone", zones).value_or(window.time_zone);
  });
}

void ReadClosed(PolicySection& list, std::string_view item, std::vector<ClosedDays>& closed) {
  std::string text;
  list.ReadText(item, text);
  if (text.empty()) return;
  const std::optional<ClosedDays> days = ParseClosedDays(text);
  if (!days) {
    return list.Reject(
        item, fmt::format("must be days such as \"2026-12-24/2027-01-02\" or \"2026-12-24\", got {}", Quote(text)));
  }
  closed.push_back(*days);
}

void WriteWindow(const RolloutWindow& window, FieldWriter& out) {
  out.StartObject();
  out.StartArray("days");
  for (const auto& [name, day] : kDayNames) {
    if (window.days.contains(day)) out.Text(name);
  }
  out.EndArray();
  if (!window.days_of_month.empty() || !out.only_set()) {
    out.StartArray("daysOfMonth");
    for (const int day : window.days_of_month) day == kLastDayOfMonth ? out.Text(kLastDayName) : out.Int(day);
    out.EndArray();
  }
  const auto minutes = absl::ToInt64Minutes(window.start);
  out.Text("start", fmt::format("{:02}:{:02}", minutes / 60, minutes % 60));
  out.Seconds("durationSeconds", window.duration);
  out.Text("timeZone", window.time_zone.name());
  out.EndObject();
}

}  // namespace

std::string FormatClosedDays(const ClosedDays& days) {
  if (days.first == days.last) return FormatDay(days.first);
  return fmt::format("{}/{}", FormatDay(days.first), FormatDay(days.last));
}

void ReadWindows(PolicySection& section, const TimeZoneLoader& zones, RolloutPolicy& rollout) {
  section.ReadList("windows", [&](PolicySection& list, std::string_view item) {
    ReadWindow(list, item, zones, rollout.windows.emplace_back());
  });
  // An empty list could be misread as "at no time".
  if (section.IsSet("windows") && rollout.windows.empty()) {
    section.Reject("windows", "must not be empty: without this field nodes start at any time");
  }
  section.ReadList("closed",
                   [&](PolicySection& list, std::string_view item) { ReadClosed(list, item, rollout.closed); });
  rollout.closed_time_zone = ReadZone(section, "closedTimeZone", zones);
}

void WriteWindows(const RolloutPolicy& rollout, FieldWriter& writer) {
  if (rollout.windows.empty()) {
    writer.Null("windows");
  } else {
    writer.StartArray("windows");
    for (const RolloutWindow& window : rollout.windows) WriteWindow(window, writer);
    writer.EndArray();
  }
  if (!rollout.closed.empty() || !writer.only_set()) {
    writer.StartArray("closed");
    for (const ClosedDays& days : rollout.closed) {
      writer.Text(fmt::format("{}/{}", FormatDay(days.first), FormatDay(days.last)));
    }
    writer.EndArray();
  }
  if (const auto& zone = rollout.closed_time_zone) {
    writer.Text("closedTimeZone", zone->name());
  } else {
    writer.Null("closedTimeZone");
  }
}

}  // namespace driverupgrade::internal
