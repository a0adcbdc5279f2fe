/// Where a simulation's replicas are hosts of the C interface: what stands in the place of engine and controller.
///
/// Defines HostSeam, HostedEngine and HostFactory.
///
///     SimulationOptions options;
///     options.host = MakeHostFactory();
///     SimulationResult result = Simulate(4711, options);  // the same world and the same faults
///
/// The simulation knows no C interface. Such a replica lists anew in each pass, and has no ledger.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_HOST_SEAM_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_HOST_SEAM_H_

#include <functional>
#include <memory>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/upgrade_controller.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/upgrade_policy.h"
#include "simulation/wire/wire_seam.h"

namespace driverupgrade::testing {

class HostedEngine {
 public:
  virtual ~HostedEngine() = default;
  /// A pass if one is due and it leads, with all that follows from it. When to come again at the latest.
  virtual absl::Time Step(const UpgradePolicy& policy, absl::Time now) = 0;
  /// Whether anything was left to give back.
  virtual absl::StatusOr<bool> Release(absl::Time now) = 0;
  /// Ends in good order: the others need not wait until its Lease has ended.
  virtual void Stop() = 0;
};

struct HostSeam {
  WireSeam wire;
  DriverIdentity identity;
  /// Callbacks, selectors, requestor and observer, as the native engine has them.
  EngineOptions options;
  /// The host's own, as the C interface has none; null: it is alone.
  std::shared_ptr<LeaderElection> election = nullptr;
  /// Between two passes at most.
  absl::Duration poll_interval = absl::Seconds(5);
};

using HostFactory = std::function<std::unique_ptr<HostedEngine>(HostSeam)>;

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_HOST_SEAM_H_
