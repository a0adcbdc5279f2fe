// Replaces abseil's time_zone_if.cc: supports only UTC, so that nothing reads zone files.
#include <memory>
#include <string>

#include "absl/time/internal/cctz/src/time_zone_if.h"

namespace absl {
ABSL_NAMESPACE_BEGIN
namespace time_internal {
namespace cctz {
namespace {

class Utc final : public TimeZoneIf {
 public:
  time_zone::absolute_lookup BreakTime(const time_point<seconds>& time) const override {
    return {civil_second() + ToUnixSeconds(time), 0, false, "UTC"};
  }
  time_zone::civil_lookup MakeTime(const civil_second& civil) const override {
    const time_point<seconds> time = FromUnixSeconds(civil - civil_second());
    return {time_zone::civil_lookup::UNIQUE, time, time, time};
  }
  bool NextTransition(const time_point<seconds>&, time_zone::civil_transition*) const override { return false; }
  bool PrevTransition(const time_point<seconds>&, time_zone::civil_transition*) const override { return false; }
  std::string Version() const override { return ""; }
  std::string Description() const override { return "UTC"; }
};

}  // namespace

TimeZoneIf::~TimeZoneIf() = default;

std::unique_ptr<TimeZoneIf> TimeZoneIf::Load(const std::string& name) {
  return name == "UTC" ? std::make_unique<Utc>() : nullptr;
}

}  // namespace cctz
}  // namespace time_internal
ABSL_NAMESPACE_END
}  // namespace absl
