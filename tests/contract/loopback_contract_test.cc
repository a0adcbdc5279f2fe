// Tests that RestCluster fulfills the ClusterFacade contract over real sockets, with the HTTP backend that is linked
// into this program. The server is the in-memory API server, which wire_contract_test.cc tests without sockets.
#include "contract/wire_world.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "unit/kubernetes/transport_server.h"
#include "unit/kubernetes/transport_under_test.h"

namespace driverupgrade::tests {
namespace {

TEST_CASE("RestCluster fulfills the ClusterFacade contract over sockets") {
  std::unique_ptr<testing_support::TransportServer> server;
  FakeWorld world(OverWire(GENERATE(500, 2), [&](std::shared_ptr<HttpTransport> api_server) {
    server = std::make_unique<testing_support::TransportServer>(std::move(api_server));
    return MakeRetryingTransport(testing_support::MakeTransport({.server = server->url()}));
  }));
  CheckContract(world);
}

}  // namespace
}  // namespace driverupgrade::tests
