// docs/testing-your-operator.md
#include <memory>
#include <stdexcept>

#include "driverupgrade/testing/builders.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/testing/invariants.h"
#include "driverupgrade/upgrade_engine.h"

using namespace driverupgrade;
using namespace driverupgrade::testing;

#define REQUIRE(condition) \
  if (!(condition)) throw std::runtime_error(#condition)

absl::StatusOr<bool> UsesGpu(const CallContext& context, const Pod& pod);
bool EveryNodeIsDone(const FakeCluster& cluster);

void Test(const DriverIdentity& identity, const LabelSelector& driver_labels, const UpgradePolicy& policy) {
  // BLOCK
}
