/// Where a simulation goes through bytes: what stands between a replica and the cluster.
///
/// Defines WireSeam and WireFactory.
///
///     SimulationOptions options;
///     options.wire = [](WireSeam seam) { return MakeRestCluster(std::make_shared<MyApiServer>(std::move(seam))); };
///     SimulationResult result = Simulate(4711, options);  // one seed in ten is run so
///
/// The simulation knows no HTTP. Whoever runs it may put a client and a server between its replicas and its cluster:
/// the replica calls the facade that the factory returns, and `cluster` is what the server serves. Faults and
/// invariants are behind it, so that what is judged is what has been decoded. One thread. Example:
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
  /// The version at which the last list was read, which the seam's lists do not say.
  std::function<std::string()> list_version = {};
  /// Runs a read whose answer will not arrive: what it tells counts as unknown to the replica.
  std::function<void(const std::function<void()>&)> unseen = {};
  /// Runs a write whose answer nobody can read: what it tells counts as unknown, too.
  std::function<void(const std::function<void()>&)> unanswered = {};
  /// Runs a write that does not get there: its sender has to reckon with it all the same.
  std::function<void(const std::function<void()>&)> swallowed = {};
  /// A number below the bound, from a random stream of the replica.
  std::function<int(int)> draw = {};
  /// So many objects that a list in small pages would take longer than a call may.
  bool many_objects = false;
  /// Whether the bytes of this answer are to be broken (fault-F27).
  std::function<bool()> breaks = {};
  /// A list or a watch has failed, so that the replica has to come again without being told.
  std::function<void()> on_trouble = {};
  /// What a planted defect makes of a request (its target and its body), and of an answer or a line; null: nothing.
  std::function<void(std::string& target, std::string& body)> change_request = {};
  std::function<void(std::string& body)> change_answer = {};
};

using WireFactory = std::function<std::shared_ptr<ClusterFacade>(WireSeam)>;

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WIRE_WIRE_SEAM_H_
