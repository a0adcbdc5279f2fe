// Keeps true what the nodes say of their driver, and knows those whose driver nobody upgrades.
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
  /// Some policy has a driver, or may have one.
  bool driver_wanted = true;
  /// nullopt: not known, and nothing is found.
  std::optional<std::vector<DriverOwner>> owners = std::nullopt;
  friend bool operator==(const NodeWishes&, const NodeWishes&) = default;
};

/// Keeps the wait label of every node true (driver_wait.h), looking only at nodes on which something has changed, or at
/// all if the wishes have. Not thread-safe.
class NodeKeeper {
 public:
  NodeKeeper(std::shared_ptr<driverupgrade::ClusterWriter> cluster, driverupgrade::DriverIdentity identity,
             std::shared_ptr<driverupgrade::Clock> clock);

  void Wish(NodeWishes wishes);

  /// `scope`: one of the cache's, with the driver pods of all owners, which nobody else takes from. Another cache may be
  /// another time. Returns when to come again even if nothing changes: when a write has failed.
  absl::Time Keep(const driverupgrade::CallContext& context, driverupgrade::WatchCache& cache, std::size_t scope);
  /// Names of all nodes of the cache, as of the last Keep.
  const std::set<std::string>& names() const { return names_; }
  /// What hindered the last Keep.
  const absl::Status& status() const { return status_; }
  /// Nodes with a driver pod for which no policy is.
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
  std::map<std::string, std::string> ownerless_;  // by node: what is wrong
  absl::Status status_ = absl::OkStatus();
};

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_NODE_KEEPER_H_
