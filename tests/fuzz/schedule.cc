// Interprets the bytes as a schedule of faults. The fuzzer searches for a schedule under which a whole rollout breaks
// an invariant.
#include "fuzz/fuzz.h"
#include "simulation/simulation.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace driverupgrade;
  using namespace driverupgrade::tests;
  Bytes bytes(data, size);
  const std::uint64_t seed = bytes.Number(4);
  testing::SimulationOptions options{.nodes = 1 + bytes.Below(4), .fault_percent = bytes.Below(101)};
  options.chaos_max = absl::Minutes(1 + bytes.Below(20));
  const std::uint64_t without = bytes.Number(4);
  for (int fault = 0; fault < testing::kFaultCount; ++fault) {
    if ((without >> fault & 1) != 0) options.without.insert(static_cast<testing::Fault>(fault));
  }
  const testing::SimulationResult result = testing::Simulate(seed, options);
  Require(!result.violation.has_value(), result.Describe());
  return 0;
}
