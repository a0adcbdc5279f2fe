// Sets the drain selector that every operator uses (drain-D68).
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_SPARE_SKIPPED_PODS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_SPARE_SKIPPED_PODS_H_

#include "absl/status/status.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/upgrade_policy.h"

namespace examples {

/// Excludes pods with the driver's skip-drain label from the drain, if the policy has a drain. After an error, the
/// policy is unchanged and must not be used, because the drain would evict these pods.
[[nodiscard]] absl::Status SpareSkippedPods(const driverupgrade::DriverIdentity& identity,
                                            driverupgrade::UpgradePolicy& policy);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_SPARE_SKIPPED_PODS_H_
