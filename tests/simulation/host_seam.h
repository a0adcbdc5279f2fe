/// The seam through which a simulation uses hosts of the C interface as replicas, instead of an engine and a
/// controller.
///
/// Defines HostSeam, HostedEngine and HostFactory.
///
///     SimulationOptions options;
///     options.host = MakeHostFactory();
///     SimulationResult result = Simulate(4711, options);  // the same world and the same faults
///
/// The simulation itself does not depend on the C interface. A hosted replica lists all objects in each pass, and has
/// no ledger.
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
  /// If a pass is due and the replica is the leader, runs the pass and sends its requests. Returns the time by which
  /// Step must be called again.
  virtual absl::Time Step(const UpgradePolicy& policy, absl::Time now) = 0;
  /// Continues to release the nodes. Returns false if nothing is left to release.
  virtual absl::StatusOr<bool> Release(absl::Time now) = 0;
  /// Shuts down and releases the Lease, so that the other replicas need not wait until it expires.
  virtual void Stop() = 0;
};

struct HostSeam {
  WireSeam wire;
  DriverIdentity identity;
  /// Callbacks, selectors, requestor and observer, with the same meaning as for the native engine.
  EngineOptions options;
  /// Leader election of the host, because the C interface provides none. If null, the host is the only replica.
  std::shared_ptr<LeaderElection> election = nullptr;
  /// Called when the host replaces its engine, because a new term has started.
  std::function<void()> on_new_engine = {};
  /// Maximum time between two passes.
  absl::Duration poll_interval = absl::Seconds(5);
};

using HostFactory = std::function<std::unique_ptr<HostedEngine>(HostSeam)>;

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_HOST_SEAM_H_
