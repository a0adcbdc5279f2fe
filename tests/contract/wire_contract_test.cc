// Tests that the real client fulfills the contract against the in-memory API server, which is thereby tested as well.
#include "contract/wire_world.h"

namespace driverupgrade::tests {
namespace {

TEST_CASE("RestCluster fulfills the ClusterFacade contract over the wire format") {
  FakeWorld world(OverWire(GENERATE(500, 2)));
  CheckContract(world);
}

}  // namespace
}  // namespace driverupgrade::tests
