// Tests that RestCluster fulfills the ClusterFacade contract against the in-memory API server. The server is tested as
// well, because it must respond as the contract requires.
#include "contract/wire_world.h"

namespace driverupgrade::tests {
namespace {

TEST_CASE("RestCluster fulfills the ClusterFacade contract over the wire format") {
  FakeWorld world(OverWire(GENERATE(500, 2)));
  CheckContract(world);
}

}  // namespace
}  // namespace driverupgrade::tests
