// The real client keeps the contract against the in-memory API server, which is thus tested as well.
#include "contract/wire_world.h"

namespace driverupgrade::tests {
namespace {

TEST_CASE("RestCluster keeps the contract of the seam over bytes") {
  FakeWorld world(OverWire(GENERATE(500, 2)));
  CheckContract(world);
}

}  // namespace
}  // namespace driverupgrade::tests
