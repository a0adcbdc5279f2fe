#include <string>
#include <vector>

#include "driverupgrade/policy_values.h"
#include "driverupgrade/rollout_policy.h"
#include "support/catch.h"

namespace driverupgrade {
namespace {

using Offset = TimeZoneTable::Offset;

TEST_CASE("A time zone table yields the same local times as abseil, including around clock changes") {
  for (const char* name : {"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca",
                           "America/Sao_Paulo", "Asia/Kolkata", "Pacific/Apia"}) {
    CAPTURE(name);
    const absl::TimeZone zone = LoadRolloutTimeZone(name).value();
    const TimeZoneTable table = zone;
    CHECK(table.name() == name);
    // Checks every half hour of four years. In one of these years, Samoa skipped a day.
    const absl::Time begin = absl::FromCivil(absl::CivilDay(2010, 6, 1), absl::UTCTimeZone());
    for (absl::Time time = begin; time < begin + absl::Hours(24 * 365 * 4); time += absl::Minutes(30)) {
      const absl::CivilSecond clock = absl::ToCivilSecond(time, absl::UTCTimeZone());
      if (table.ClockAt(time) != absl::ToCivilSecond(time, zone) ||
          table.FirstTime(clock) != absl::FromCivil(clock, zone)) {
        FAIL_CHECK(absl::FormatTime(time, absl::UTCTimeZone()));
      }
    }
  }
}

TEST_CASE("A time zone table that is built from values equals the table of the same zone") {
  const TimeZoneTable berlin = LoadRolloutTimeZone("Europe/Berlin").value();
  CHECK(TimeZoneTable::Create("Europe/Berlin", berlin.offsets()).value() == berlin);
  CHECK_FALSE(berlin == TimeZoneTable());
  CHECK(TimeZoneTable() == TimeZoneTable(absl::UTCTimeZone()));
}

TEST_CASE("The first offset also applies before its time, and the last offset applies indefinitely") {
  const absl::Time from = absl::FromUnixSeconds(1'700'000'000);
  const TimeZoneTable table =
      TimeZoneTable::Create("X", {{from, absl::Hours(1)}, {from + absl::Hours(48), absl::Hours(2)}}).value();
  const auto hours_ahead = [&](absl::Time time) {
    return (table.ClockAt(time) - absl::ToCivilSecond(time, absl::UTCTimeZone())) / 3600;
  };
  CHECK(hours_ahead(from - absl::Hours(10'000)) == 1);
  CHECK(hours_ahead(from + absl::Hours(48) - absl::Seconds(1)) == 1);
  CHECK(hours_ahead(from + absl::Hours(48)) == 2);
  CHECK(hours_ahead(from + absl::Hours(100'000)) == 2);
}

TEST_CASE("Invalid time zone tables are refused") {
  const absl::Time from = absl::FromUnixSeconds(1'700'000'000);
  const auto error = [](std::string name, std::vector<Offset> offsets) {
    return std::string(TimeZoneTable::Create(std::move(name), std::move(offsets)).status().message());
  };
  CHECK(error("", {{from, absl::Hours(1)}}) == "time zone : the name is empty");
  CHECK(error("X", {}) == "time zone X: offsets must not be empty");
  CHECK(error("X", {{from, absl::Hours(-24)}}) ==
        "time zone X: offset -24h must be a whole number of seconds, and less than a day");
  CHECK(error("X", {{from, absl::Milliseconds(1)}}) ==
        "time zone X: offset 1ms must be a whole number of seconds, and less than a day");
  CHECK(error("X", {{from, absl::Hours(1)}, {from + absl::Hours(47), absl::Hours(2)}}) ==
        "time zone X: offset 1 must start at least two days after the previous one");
}

}  // namespace
}  // namespace driverupgrade
