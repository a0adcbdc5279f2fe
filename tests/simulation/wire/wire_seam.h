/// The seam through which a simulation sends its requests as bytes between a replica and the cluster.
///
/// Defines WireSeam and WireFactory.
///
///     SimulationOptions options;
///     options.wire = [](WireSeam seam) { return MakeRestCluster(std::make_shared<MyApiServer>(std::move(seam))); };
///     SimulationResult result = Simulate(4711, options);  // one seed in ten goes through bytes
///
/// The simulation itself does not depend on HTTP. The caller may put a client and a server between the replicas and the
/// cluster: the replica calls the facade that the factory returns, and the server serves `cluster`. Faults and
/// invariants are behind the server, so they apply to the decoded requests. One thread. Example:
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
  /// Returns the version at which the last list was read, which the lists of the seam do not contain.
  std::function<std::string()> list_version = {};
  /// Runs a read whose response will not arrive: the replica does not count as having read its objects.
  std::function<void(const std::function<void()>&)> unseen = {};
  /// Runs a write whose response is unreadable: the replica does not count as knowing the outcome.
  std::function<void(const std::function<void()>&)> unanswered = {};
  /// Runs a write that never reaches the cluster. Its sender still has to expect that it was applied.
  std::function<void(const std::function<void()>&)> swallowed = {};
  /// Returns a number below the bound, from a random stream of the replica.
  std::function<int(int)> draw = {};
  /// True if the cluster has so many objects that a list in small pages would exceed the timeout of a call.
  bool many_objects = false;
  /// Returns whether the bytes of this response must be damaged (fault-F27).
  std::function<bool()> breaks = {};
  /// Called if a list or a watch has failed, so that the replica must run again without a notification.
  std::function<void()> on_trouble = {};
  /// Changes of a planted defect to a request (its target and its body), and to a response or a line. Null: no change.
  std::function<void(std::string& target, std::string& body)> change_request = {};
  std::function<void(std::string& body)> change_answer = {};
};

using WireFactory = std::function<std::shared_ptr<ClusterFacade>(WireSeam)>;

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WIRE_WIRE_SEAM_H_
