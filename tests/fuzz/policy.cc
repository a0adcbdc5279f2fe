// Parses an untrusted policy. An accepted policy must be valid, and must be unchanged after it is written and read
// again.
#include "driverupgrade/policy_codec.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace driverupgrade;
  using namespace driverupgrade::tests;
  const std::string_view document(reinterpret_cast<const char*>(data), size);
  for (const PolicyDefaults& defaults :
       {PolicyDefaults{}, PolicyDefaults::GpuOperator(), PolicyDefaults::NetworkOperator()}) {
    const auto policy = ParseUpgradePolicy(document, defaults);
    if (!policy.ok()) {
      Require(!HasControlCharacter(policy.status().message()), "an error is one line");
      continue;
    }
    Require(Validate(*policy).ok(), "an accepted policy is valid");
    const auto again = ParseUpgradePolicy(FormatUpgradePolicy(*policy));
    Require(again.ok() && *again == *policy, "a policy is the same after it was written and read");
  }
  return 0;
}
