// The node label by which device plugins wait for the OFED driver (upstream-behaviour.md §2.5).
//
// Defines WaitsForDriver, WaitLabelPatch and DriverWaitKeeper.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DRIVER_WAIT_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DRIVER_WAIT_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/call_context.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/watch_cache.h"

namespace ofed_operator {

/// `true` while the driver of the node is not ready, `false` when it is.
inline constexpr char kDriverWaitLabel[] = "network.nvidia.com/operator.mofed.wait";
/// The container of the driver pod whose readiness counts.
inline constexpr char kDriverContainer[] = "mofed-container";

/// Whether the node has to wait for its driver: none of its driver pods, those on their way out not counted, has a
/// ready driver container. nullopt: it has no driver pod at all, so nothing is known, and the label stays.
std::optional<bool> WaitsForDriver(const std::vector<driverupgrade::Pod>& driver_pods);

/// Node label of node feature discovery: there is a NIC of NVIDIA.
inline constexpr char kNicLabel[] = "feature.node.kubernetes.io/pci-15b3.present";

/// What makes the label true; nullopt if it is already. Without a driver pod on the node:
/// - some policy has a driver (`driver_wanted`): the label is what a dead pod has left, and goes, unless an upgrade is on
///   its way, which will bring the next pod;
/// - none has: nobody waits for a driver, and the label is `false` where there is a NIC, and goes elsewhere.
std::optional<driverupgrade::PatchNodeParams> WaitLabelPatch(const driverupgrade::Node& node,
                                                             const std::vector<driverupgrade::Pod>& driver_pods,
                                                             bool driver_wanted,
                                                             const driverupgrade::DriverIdentity& identity);

/// Keeps the label of every node true, looking only at nodes on which something has changed. Not thread-safe.
class DriverWaitKeeper {
 public:
  DriverWaitKeeper(std::shared_ptr<driverupgrade::ClusterWriter> cluster, driverupgrade::DriverIdentity identity,
                   std::shared_ptr<driverupgrade::Clock> clock);

  /// Whether some policy has a driver; at first one has.
  void Wish(bool driver_wanted);

  /// `scope`: one of the cache's, which nobody else takes from. Another cache may be another time. Returns when to come
  /// again even if nothing changes: when a write has failed.
  absl::Time Keep(const driverupgrade::CallContext& context, driverupgrade::WatchCache& cache, std::size_t scope);
  /// What hindered the last Keep.
  const absl::Status& status() const { return status_; }

 private:
  absl::Status KeepOne(const driverupgrade::CallContext& context, driverupgrade::WatchCache& cache, std::size_t scope,
                       const std::string& node);

  const std::shared_ptr<driverupgrade::ClusterWriter> cluster_;
  const driverupgrade::DriverIdentity identity_;
  const std::shared_ptr<driverupgrade::Clock> clock_;
  bool driver_wanted_ = true;
  std::set<std::string> names_;  // all nodes
  std::set<std::string> due_;
  absl::Status status_ = absl::OkStatus();
};

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DRIVER_WAIT_H_
