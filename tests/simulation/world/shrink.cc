// Reduces a run that breaks an invariant to a smaller run that still breaks one.
#include <algorithm>
#include <string>

#include "simulation/simulation.h"

namespace driverupgrade::testing {

SimulationOptions Shrink(std::uint64_t seed, SimulationOptions options) {
  options.trace = false;
  const SimulationResult whole = Simulate(seed, options);
  if (!whole.violation) return options;
  const auto try_with = [&](auto change) {
    SimulationOptions smaller = options;
    change(smaller);
    const SimulationResult result = Simulate(seed, smaller);
    const bool still = result.violation && result.violation->invariant == whole.violation->invariant;
    if (still) options = smaller;
    return still;
  };
  for (const absl::Duration chaos : {absl::Minutes(1), absl::Minutes(3), absl::Minutes(10), absl::Minutes(20)}) {
    if (chaos < options.chaos_max && try_with([&](SimulationOptions& o) { o.chaos_max = chaos; })) break;
  }
  for (const int nodes : {1, 2, 3, 5, 8, 13, 21}) {
    if (nodes < whole.nodes && try_with([&](SimulationOptions& o) { o.nodes = nodes; })) break;
  }
  for (int i = 0; i < kFaultCount; ++i) {
    try_with([&](SimulationOptions& o) { o.without.insert(static_cast<Fault>(i)); });
  }
  return options;
}

}  // namespace driverupgrade::testing
