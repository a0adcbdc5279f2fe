#include "simulation/wire/wire_factory.h"

#include <array>
#include <memory>
#include <utility>

#include "driverupgrade/kubernetes/rest_cluster.h"
#include "simulation/wire/api_server.h"

namespace driverupgrade::tests {

testing::WireFactory MakeWireFactory() {
  return [](testing::WireSeam seam) {
    // Some page sizes are small, so that lists have several pages even in small clusters.
    constexpr std::array<int, 4> kPageSizes = {500, 500, 10, 3};
    const auto drawn = static_cast<std::size_t>(seam.draw(4));
    const int page_size = seam.many_objects ? kPageSizes[0] : kPageSizes[drawn];
    return MakeRestCluster(std::make_shared<ApiServer>(std::move(seam)), {.page_size = page_size});
  };
}

}  // namespace driverupgrade::tests
