// Maintains node labels that depend on the driver, and finds nodes whose driver is not upgraded by any policy.
//
// Defines NodeWishes and NodeKeeper.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_NODE_KEEPER_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_NODE_KEEPER_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/watch_cache.h"
#include "ofed/driver_owners.h"

namespace ofed_operator {

struct NodeWishes {
  /// True if a policy has a driver, or may have one.
  bool driver_wanted = true;
  /// nullopt if the owners are unknown; there are then no findings.
  std::optional<std::vector<DriverOwner>> owners = std::nullopt;
  friend bool operator==(const NodeWishes&, const NodeWishes&) = default;
};

/// Maintains the wait label of every node (driver_wait.h). Processes only nodes that have changed, or all nodes if the
/// requested marks have changed. Not thread-safe.
class NodeKeeper {
 public:
  NodeKeeper(std::shared_ptr<driverupgrade::ClusterWriter> cluster, driverupgrade::DriverIdentity identity,
             std::shared_ptr<driverupgrade::Clock> clock);

  void Wish(NodeWishes wishes);

  /// `scope` is a cache scope that only the keeper uses; it contains the driver pods of all owners. Each call may pass
  /// a different cache. Returns the time at which Keep must be called again even if nothing changes, for example after
  /// a failed write.
  absl::Time Keep(const driverupgrade::CallContext& context, driverupgrade::WatchCache& cache, std::size_t scope);
  /// Returns the names of all nodes in the cache, as of the last Keep.
  const std::set<std::string>& names() const { return names_; }
  /// Returns the error of the last Keep.
  const absl::Status& status() const { return status_; }
  /// Returns findings about nodes with a driver pod that no policy covers.
  std::vector<driverupgrade::Finding> Findings() const;

 private:
  absl::Status KeepOne(const driverupgrade::CallContext& context, driverupgrade::WatchCache& cache, std::size_t scope,
                       const std::string& node);
  void Note(const driverupgrade::Node& node, const std::vector<driverupgrade::Pod>& driver_pods);

  const std::shared_ptr<driverupgrade::ClusterWriter> cluster_;
  const driverupgrade::DriverIdentity identity_;
  const std::shared_ptr<driverupgrade::Clock> clock_;
  NodeWishes wishes_;
  std::set<std::string> names_;
  std::set<std::string> due_;
  std::map<std::string, std::string> ownerless_;  // by node: the problem
  absl::Status status_ = absl::OkStatus();
};

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_NODE_KEEPER_H_
