// A consumer that links only driverupgrade::core: reads a policy and prints its limit.
#include <cstdio>

#include "driverupgrade/driver_identity.h"
#include "driverupgrade/policy_codec.h"

int main() {
  const auto identity = driverupgrade::DriverIdentity::Create("nvidia.com", "gpu");
  const auto policy = driverupgrade::ParseUpgradePolicy("{autoUpgrade: true, maxParallelUpgrades: 2}");
  if (!identity.ok() || !policy.ok()) return 1;
  std::printf("%s: %d nodes at a time\n", identity->Name().c_str(), *policy->max_parallel);
}
