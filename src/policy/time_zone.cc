// Loads time zones. This code has its own source file, because it reads files, unlike the other policy code.
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/quote.h"
#include "driverupgrade/rollout_policy.h"
#include "fmt/format.h"
#include "model/label_syntax.h"

namespace driverupgrade {
namespace {

using internal::Quote;

constexpr std::size_t kZoneNameSizeMax = 64;

bool IsZoneCharacter(char c) { return internal::IsAlnum(c) || c == '/' || c == '_' || c == '-' || c == '+'; }

// Rejects paths outside the time zone directory, and zones that depend on the machine.
bool IsZoneName(std::string_view name) {
  return !name.empty() && name.size() <= kZoneNameSizeMax && internal::IsAlnum(name.front()) &&
         std::all_of(name.begin(), name.end(), IsZoneCharacter) && name != "localtime";
}

}  // namespace

absl::StatusOr<absl::TimeZone> LoadRolloutTimeZone(std::string_view name) {
  absl::TimeZone zone;
  if (!IsZoneName(name)) {
    return absl::InvalidArgumentError(
        fmt::format("must be a time zone such as Europe/Berlin or UTC, got {}", Quote(name)));
  }
  if (!absl::LoadTimeZone(std::string(name), &zone)) {
    return absl::InvalidArgumentError(
        fmt::format("this machine does not know the time zone {} (are the time zone files installed?)", Quote(name)));
  }
  return zone;
}

}  // namespace driverupgrade
