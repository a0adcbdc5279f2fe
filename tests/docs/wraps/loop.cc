// docs/write-your-operator.md
#include <memory>
#include <stop_token>
#include <string>

#include "driverupgrade/upgrade_controller.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"

using namespace driverupgrade;

absl::Status Roll(std::shared_ptr<ClusterFacade> cluster, const DriverIdentity& identity, const LabelSelector& labels,
                  const UpgradePolicy& policy, const std::string& replica, std::stop_token stop) {
  // BLOCK
  return absl::OkStatus();
}
