#include <algorithm>
#include <iterator>

#include "base/status_macros.h"
#include "driverupgrade/policy_values.h"
#include "fmt/format.h"

namespace driverupgrade {
namespace {

using Offset = TimeZoneTable::Offset;

constexpr absl::Duration kDay = absl::Hours(24);

absl::CivilSecond Clock(absl::Time time, absl::Duration offset) {
  return absl::ToCivilSecond(time + offset, absl::UTCTimeZone());
}

absl::Time Time(absl::CivilSecond clock, absl::Duration offset) {
  return absl::FromCivil(clock, absl::UTCTimeZone()) - offset;
}

std::vector<Offset> OffsetsOf(const absl::TimeZone& zone) {
  const absl::Time begin = absl::FromCivil(absl::CivilSecond(2000), absl::UTCTimeZone());
  const absl::Time end = absl::FromCivil(absl::CivilSecond(2100), absl::UTCTimeZone());
  const auto offset_at = [&](absl::Time time) { return absl::Seconds(zone.At(time).offset); };
  std::vector<Offset> offsets = {{.from = begin, .offset = offset_at(begin)}};
  absl::TimeZone::CivilTransition change;
  for (absl::Time time = begin; time < end && zone.NextTransition(time, &change);) {
    // The transition occurs at the first civil time that is skipped or repeated.
    absl::TimeZone::TimeInfo info = zone.At(change.from);
    if (info.kind == absl::TimeZone::TimeInfo::UNIQUE) info = zone.At(change.to);
    time = info.kind == absl::TimeZone::TimeInfo::UNIQUE ? info.pre : info.trans;
    if (offset_at(time) != offsets.back().offset) offsets.push_back({.from = time, .offset = offset_at(time)});
  }
  return offsets;
}

absl::Status CheckOffsets(const std::vector<Offset>& offsets) {
  if (offsets.empty()) return absl::InvalidArgumentError("offsets must not be empty");
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const absl::Duration offset = offsets[i].offset;
    if (absl::AbsDuration(offset) >= kDay || absl::Trunc(offset, absl::Seconds(1)) != offset) {
      return absl::InvalidArgumentError(fmt::format("offset {} must be a whole number of seconds, and less than a day",
                                                    absl::FormatDuration(offset)));
    }
    if (i > 0 && offsets[i].from - offsets[i - 1].from < 2 * kDay) {
      return absl::InvalidArgumentError(
          fmt::format("offset {} must start at least two days after the previous one", i));
    }
  }
  return absl::OkStatus();
}

}  // namespace

TimeZoneTable::TimeZoneTable() {
  static const TimeZoneTable& utc = *new TimeZoneTable(absl::UTCTimeZone());
  zone_ = utc.zone_;
}

TimeZoneTable::TimeZoneTable(const absl::TimeZone& zone)
    : TimeZoneTable(Zone{.name = zone.name(), .offsets = OffsetsOf(zone)}) {}

absl::StatusOr<TimeZoneTable> TimeZoneTable::Create(std::string name, std::vector<Offset> offsets) {
  absl::Status status = name.empty() ? absl::InvalidArgumentError("the name is empty") : CheckOffsets(offsets);
  if (!status.ok()) return absl::InvalidArgumentError(fmt::format("time zone {}: {}", name, internal::Message(status)));
  return TimeZoneTable(Zone{.name = std::move(name), .offsets = std::move(offsets)});
}

absl::CivilSecond TimeZoneTable::ClockAt(absl::Time time) const {
  const auto next = std::upper_bound(offsets().begin(), offsets().end(), time,
                                     [](absl::Time at, const Offset& offset) { return at < offset.from; });
  return Clock(time, next == offsets().begin() ? next->offset : std::prev(next)->offset);
}

absl::Time TimeZoneTable::FirstTime(absl::CivilSecond clock) const {
  // Finds the first offset at the end of which the clocks show a time later than `clock`.
  const auto found = std::partition_point(offsets().begin(), std::prev(offsets().end()), [&](const Offset& offset) {
    const Offset& next = *(&offset + 1);
    return Clock(next.from, offset.offset) <= clock;
  });
  const absl::Time time = Time(clock, found->offset);
  return found == offsets().begin() ? time : std::max(time, found->from);
}

}  // namespace driverupgrade
