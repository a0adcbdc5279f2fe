// Keeps true what the nodes are told about who upgrades their driver.
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

/// Looks only at nodes on which something has changed, or all if the wishes have. Not thread-safe.
class NodeKeeper {
 public:
  /// `writes`: false to look only: somebody else marks the nodes.
  NodeKeeper(std::shared_ptr<driverupgrade::ClusterFacade> cluster, driverupgrade::DriverIdentity identity, bool writes,
             std::shared_ptr<driverupgrade::Clock> clock);

  void Wish(NodeWishes wishes);
  /// `scope`: one of the cache's, which nobody else takes from, with the driver pods of NVIDIADrivers; `on_change` is
  /// called when it has news. Null `cache`: no engine runs, and the nodes are read by a list, once. Returns when to come
  /// again even if nothing changes.
  absl::Time Keep(const driverupgrade::CallContext& context, driverupgrade::WatchCache* cache, std::size_t scope,
                  const std::function<void()>& on_change);

  /// Names of all nodes of the cache, as of the last Keep.
  const std::set<std::string>& names() const { return names_; }
  /// Whether the last Keep left no node without the marks that are wished, as far as they are this one's to write.
  bool Settled() const { return settled_; }
  /// What hindered the last Keep.
  const absl::Status& status() const { return status_; }
  /// Nodes with a driver pod that are no NVIDIADriver's, where these decide.
  std::vector<driverupgrade::Finding> Findings() const;
  /// By NVIDIADriver: one of its nodes that another claims as well, and who.
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
  bool listed_ = false;   // by these wishes, without a cache
  bool settled_ = false;  // by these wishes
  int written_ = 0;       // in the present Keep
  std::set<std::string> names_;
  std::set<std::string> due_;
  std::map<std::string, std::string> ownerless_;                // by node: what is wrong
  std::map<std::string, std::vector<std::string>> conflicted_;  // by node: who claims it
  absl::Status status_ = absl::OkStatus();
};

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_NODE_KEEPER_H_
