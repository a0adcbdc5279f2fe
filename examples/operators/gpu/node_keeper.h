// Maintains the marks on nodes that show which client upgrades the driver.
//
// Defines NodeKeeper.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_NODE_KEEPER_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_NODE_KEEPER_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
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
#include "gpu/node_marks.h"

namespace gpu_operator {

/// Processes only nodes that have changed, or all nodes if the desired marks have changed. Not thread-safe.
class NodeKeeper {
 public:
  /// `writes` is false if another client marks the nodes; the keeper then only reads.
  NodeKeeper(std::shared_ptr<driverupgrade::ClusterFacade> cluster, driverupgrade::DriverIdentity identity, bool writes,
             std::shared_ptr<driverupgrade::Clock> clock);

  void Wish(NodeWishes wishes);
  /// `scope` is a cache scope that only the keeper uses; it contains the driver pods of NVIDIADrivers. Calls
  /// `on_change` after changes. If `cache` is null, no engine runs, and the nodes are listed once. Returns the time at
  /// which Keep must be called again even if nothing changes.
  absl::Time Keep(const driverupgrade::CallContext& context, driverupgrade::WatchCache* cache, std::size_t scope,
                  const std::function<void()>& on_change);

  /// Returns the names of all nodes in the cache, as of the last Keep.
  const std::set<std::string>& names() const { return names_; }
  /// Returns true if, as of the last Keep, every node has all desired marks that this keeper is responsible for.
  bool Settled() const { return settled_; }
  /// Returns the error of the last Keep.
  const absl::Status& status() const { return status_; }
  /// If NVIDIADrivers apply, returns findings about nodes that have a driver pod but no NVIDIADriver.
  std::vector<driverupgrade::Finding> Findings() const;
  /// Returns, for each NVIDIADriver with a conflict, one of its nodes and the other NVIDIADrivers that claim the node.
  std::map<std::string, std::string> Conflicts() const;

 private:
  absl::Time KeepByList(const driverupgrade::CallContext& context);
  absl::Status KeepOne(const driverupgrade::CallContext& context, const driverupgrade::Node& node,
                       const std::vector<driverupgrade::Pod>& pods, driverupgrade::WatchCache* cache);
  void Note(const driverupgrade::Node& node, bool has_driver);
  void Forget(const std::string& node);

  const std::shared_ptr<driverupgrade::ClusterFacade> cluster_;
  const driverupgrade::DriverIdentity identity_;
  const bool writes_;
  const std::shared_ptr<driverupgrade::Clock> clock_;
  NodeWishes wishes_;
  driverupgrade::WatchCache* cache_ = nullptr;
  bool listed_ = false;   // without a cache: the nodes have been listed and marked since `wishes_` changed
  bool settled_ = false;  // all nodes have the marks that `wishes_` requires
  int written_ = 0;       // number of writes during the current Keep
  std::set<std::string> names_;
  std::set<std::string> due_;
  std::map<std::string, std::string> ownerless_;                // by node: the problem
  std::map<std::string, std::vector<std::string>> conflicted_;  // by node: the drivers that claim it
  absl::Status status_ = absl::OkStatus();
};

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_NODE_KEEPER_H_
