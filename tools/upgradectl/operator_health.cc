#include "upgradectl/operator_health.h"

#include <algorithm>
#include <optional>

#include "fmt/format.h"
#include "upgradectl/reported.h"
#include "upgradectl/status.h"
#include "whatif/plan_json.h"

namespace upgradectl {
namespace {

// Tolerated difference between the clocks of this machine and of the operator.
constexpr absl::Duration kSkewMax = absl::Minutes(1);

bool IsSilent(const LeaseFact& lease, absl::Time at) { return HasRunOut(lease, at - kSkewMax); }

}  // namespace

std::string OperatorTrouble(const Request& request) {
  if (!request.leases_at) return "";
  const absl::Time at = *request.leases_at;
  if (const std::optional<LeaseFact> lease = LeaseOf(request.question.identity, request.place, request.facts)) {
    const std::string since =
        fmt::format("{} ({})", driverupgrade::whatif::TimeText(lease->renewed), Age(at - lease->renewed));
    if (lease->holder.empty() && at > lease->renewed + kSkewMax) {
      return fmt::format("there has been no leader since {}: no upgrade will proceed", since);
    }
    if (IsSilent(*lease, at)) {
      return fmt::format("no operator has renewed its Lease since {}: no upgrade will proceed", since);
    }
    return "";
  }
  // The driver may be upgraded by an operator whose Lease has a different name, such as NVIDIA's operator.
  const bool any_works =
      std::any_of(request.facts.leases.begin(), request.facts.leases.end(),
                  [&](const LeaseFact& lease) { return lease.ns == request.place.lease_ns && !IsSilent(lease, at); });
  return any_works ? ""
                   : fmt::format("no operator of {} is installed in namespace {}: no upgrade will proceed",
                                 request.question.identity.Name(), request.place.lease_ns);
}

}  // namespace upgradectl
