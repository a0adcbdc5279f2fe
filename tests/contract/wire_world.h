/// Puts RestCluster and an in-memory API server in front of a FakeCluster, so that all calls pass through the wire
/// format.
#ifndef DRIVERUPGRADE_TESTS_CONTRACT_WIRE_WORLD_H_
#define DRIVERUPGRADE_TESTS_CONTRACT_WIRE_WORLD_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "contract/fake_world.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "simulation/wire/api_server.h"

namespace driverupgrade::tests {

using Network = std::function<std::shared_ptr<HttpTransport>(std::shared_ptr<HttpTransport> server)>;

/// `network` returns the client's transport, which must forward requests to the given server.
inline FakeWorld::MakeFacade OverWire(
    int page_size, Network network = [](auto server) { return server; }) {
  return [page_size, network = std::move(network)](const FakeWorld::Cluster& cluster) {
    testing::WireSeam seam{.cluster = cluster};
    seam.list_version = [cluster] { return std::to_string(cluster->revision()); };
    return MakeRestCluster(network(std::make_shared<ApiServer>(std::move(seam))), {.page_size = page_size});
  };
}

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_CONTRACT_WIRE_WORLD_H_
