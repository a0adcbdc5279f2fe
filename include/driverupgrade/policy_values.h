/// Value types for the fields of policies: numbers of nodes, and time zones.
///
/// Defines Count, Percent, CountOrPercent, ScaledLimit and TimeZoneTable.
///
///     CountOrPercent limit = Percent{25};
///     int nodes = ScaledLimit(limit, 10);   // 3
///
///     absl::StatusOr<absl::TimeZone> berlin = LoadRolloutTimeZone("Europe/Berlin");
///     RolloutWindow window{.start = absl::Hours(22), .time_zone = TimeZoneTable(*berlin)};
///
/// Values; thread-safe.
#ifndef DRIVERUPGRADE_POLICY_VALUES_H_
#define DRIVERUPGRADE_POLICY_VALUES_H_

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace driverupgrade {

struct Count {
  int value = 0;
  friend bool operator==(const Count&, const Count&) = default;
};
/// May exceed 100.
struct Percent {
  int value = 100;
  friend bool operator==(const Percent&, const Percent&) = default;
};
using CountOrPercent = std::variant<Count, Percent>;

/// Returns the limit for a fleet of `total` nodes. Percentages are rounded up, as for Kubernetes' int-or-percent:
/// 25 % of 1 is 1. Saturates instead of overflowing.
int ScaledLimit(const CountOrPercent& limit, int total);

/// A time zone: its name and its offsets from UTC. Decisions do not read time zone files. The files are read when a
/// policy is loaded: by abseil in native programs, and by the host in programs that use the C interface. Copies share
/// one table.
class TimeZoneTable {
 public:
  /// An offset from UTC, positive to the east, and the time at which it starts to apply. The first offset of a table
  /// also applies before its time, and the last offset applies indefinitely.
  struct Offset {
    absl::Time from;
    absl::Duration offset;
    friend bool operator==(const Offset&, const Offset&) = default;
  };

  /// Creates the table for UTC.
  TimeZoneTable();
  /// Creates a table with the offsets of `zone` from the year 2000 to the year 2100. Implicit, because both types
  /// represent the same zone.
  TimeZoneTable(const absl::TimeZone& zone);  // NOLINT(google-explicit-constructor)
  /// Errors: InvalidArgument if `name` or `offsets` is empty, if an offset starts to apply less than two days after the
  /// previous one, or if an offset is not a whole number of seconds of less than a day.
  [[nodiscard]] static absl::StatusOr<TimeZoneTable> Create(std::string name, std::vector<Offset> offsets);

  /// The IANA name, such as `Europe/Berlin`.
  const std::string& name() const { return zone_->name; }
  const std::vector<Offset>& offsets() const { return zone_->offsets; }

  /// Returns the local time at `time`.
  absl::CivilSecond ClockAt(absl::Time time) const;
  absl::CivilDay DayAt(absl::Time time) const { return absl::CivilDay(ClockAt(time)); }
  /// Returns the first time at which the clocks show `clock`. If the clocks skip this time, returns the moment at which
  /// they are set forward.
  absl::Time FirstTime(absl::CivilSecond clock) const;

  friend bool operator==(const TimeZoneTable& a, const TimeZoneTable& b) {
    return a.zone_ == b.zone_ || (a.name() == b.name() && a.offsets() == b.offsets());
  }

 private:
  struct Zone {
    std::string name;
    std::vector<Offset> offsets;
  };
  explicit TimeZoneTable(Zone zone) : zone_(std::make_shared<const Zone>(std::move(zone))) {}

  std::shared_ptr<const Zone> zone_;  // never null
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_POLICY_VALUES_H_
