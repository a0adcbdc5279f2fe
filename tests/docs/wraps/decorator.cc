// docs/the-parts.md
#include "driverupgrade/cluster_facade.h"

using namespace driverupgrade;

// BLOCK

std::shared_ptr<ClusterFacade> Decorated(std::shared_ptr<ClusterFacade> cluster) {
  return std::make_shared<QuietFacade>(std::move(cluster));
}
