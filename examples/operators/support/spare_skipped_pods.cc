#include "support/spare_skipped_pods.h"

#include "driverupgrade/drain_manager.h"

namespace examples {

absl::Status SpareSkippedPods(const driverupgrade::DriverIdentity& identity, driverupgrade::UpgradePolicy& policy) {
  if (policy.drain) policy.drain->pod_selector = policy.drain->pod_selector.And(DrainablePods(identity));
  return absl::OkStatus();
}

}  // namespace examples
