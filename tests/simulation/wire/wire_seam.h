/// The seam through which a simulation transports requests from replicas to the cluster as bytes.
///
/// Defines WireSeam and WireFactory.
///
///     SimulationOptions options;
///     options.wire = [](WireSeam seam) { return MakeRestCluster(std::make_shared<MyApiServer>(std::move(seam))); };
///     SimulationResult result = Simulate(4711, options);  // one seed in ten sends bytes
///
/// The simulation itself does not depend on HTTP. The caller can put a client and a server between the replicas and the
/// cluster: the replica calls the facade that the factory returns, and the server serves `cluster`. Faults are
/// injected and invariants are checked behind the server, so both concern decoded requests. Single-threaded. Example:
/// tests/simulation/wire/api_server.h.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WIRE_WIRE_SEAM_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WIRE_WIRE_SEAM_H_

#include <functional>
#include <memory>
#include <string>

#include "driverupgrade/cluster_facade.h"

namespace driverupgrade::testing {

struct WireSeam {
  std::shared_ptr<ClusterFacade> cluster = {};
  /// Returns the version at which the last list was read. The lists of the seam do not contain this version.
  std::function<std::string()> list_version = {};
  /// Runs a read whose response will not arrive, so the replica does not count as having read the objects.
  std::function<void(const std::function<void()>&)> unseen = {};
  /// Runs a write whose response is unreadable, so the replica does not count as knowing the outcome.
  std::function<void(const std::function<void()>&)> unanswered = {};
  /// Runs a write that never reaches the cluster. The replica must still expect that the write was applied.
  std::function<void(const std::function<void()>&)> swallowed = {};
  /// Returns a number below the bound, from the replica's random stream.
  std::function<int(int)> draw = {};
  /// True if the cluster has so many objects that listing them in small pages would exceed a call's timeout.
  bool many_objects = false;
  /// Returns whether to damage the bytes of the current response (fault-F27).
  std::function<bool()> breaks = {};
  /// Called when a list or a watch has failed, so that the replica runs again without a notification.
  std::function<void()> on_trouble = {};
  /// Apply a planted defect: the first function changes a request (target and body), the second a response or a line.
  /// If null, nothing is changed.
  std::function<void(std::string& target, std::string& body)> change_request = {};
  std::function<void(std::string& body)> change_answer = {};
};

using WireFactory = std::function<std::shared_ptr<ClusterFacade>(WireSeam)>;

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WIRE_WIRE_SEAM_H_
