// Maintains the configuration that defines whether the driver pod's init container waits until its node is evacuated
// (upstream-behaviour.md §2.5, §2.7).
//
// Defines InitConfig and InitConfigKeeper.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_INIT_CONFIG_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_INIT_CONFIG_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/upgrade_policy.h"

namespace ofed_operator {

inline constexpr char kInitConfigMap[] = "ofed-init-container-config";
inline constexpr char kInitConfigKey[] = "config.json";

/// Returns the configuration `present` with the section safeDriverLoad that the policy requires; other sections stay.
/// Replaces text that is not a JSON object, and returns `present` itself if nothing changes.
std::string InitConfig(std::string_view present, const driverupgrade::DriverIdentity& identity,
                       const driverupgrade::UpgradePolicy& policy);

/// Not thread-safe.
class InitConfigKeeper {
 public:
  InitConfigKeeper(std::shared_ptr<driverupgrade::ClusterFacade> cluster, std::string ns,
                   const driverupgrade::DriverIdentity& identity, std::shared_ptr<driverupgrade::Clock> clock);

  /// Creates or changes the ConfigMap if the policy has changed, and checks it every two minutes. Returns the time at
  /// which the next call is due.
  absl::Time Keep(const driverupgrade::CallContext& context, const driverupgrade::UpgradePolicy& policy);
  const absl::Status& status() const { return status_; }

 private:
  absl::Status Write(const driverupgrade::CallContext& context, const driverupgrade::UpgradePolicy& policy);

  const std::shared_ptr<driverupgrade::ClusterFacade> cluster_;
  const std::string ns_;
  const driverupgrade::DriverIdentity identity_;
  const std::shared_ptr<driverupgrade::Clock> clock_;
  std::string written_;  // configuration after the last successful write; empty after an error
  absl::Time due_ = absl::InfinitePast();
  absl::Status status_ = absl::OkStatus();
};

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_INIT_CONFIG_H_
