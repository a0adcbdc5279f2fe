/// Removes pods from the node: pods that use a GPU, or all pods that a drain selects. Also waits for pods that other
/// clients remove.
///
/// Defines Evacuation.
///
///     Evacuation evacuation(settings, parts, node);
///     absl::Status evicted = evacuation.EvictGpuPods();
///
/// The library (DrainManager, PodManager) decides which pods may be evicted, and when to retry a refused eviction.
/// DaemonSet pods and static pods stay. If any other selected pod must not be evicted, no pod is evicted. No deletion
/// is forced. Not thread-safe.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_EVACUATION_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_EVACUATION_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "driver_manager/environment.h"
#include "driver_manager/node_client.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/drain_manager.h"

namespace driver_manager {

class Evacuation {
 public:
  /// All arguments must outlive the object.
  Evacuation(const Settings& settings, const Parts& parts, NodeClient& node)
      : settings_(settings), parts_(parts), node_(node) {}

  /// Errors: FailedPrecondition if a pod must not be evicted (nothing was done), DeadlineExceeded with the
  /// remaining pods, and errors from the cluster.
  absl::Status EvictGpuPods();
  absl::Status Drain();

  /// Returns FailedPrecondition if unfinished pods on the node hold a GPU through a ResourceClaim. If `with_pending` is
  /// true, pods that have not started count as well. They need not count once the kubelet plugin has stopped, because
  /// they then wait, and start with the new driver.
  absl::Status CheckNoClaimHolders(bool with_pending);

  using PodList = std::function<absl::StatusOr<std::vector<driverupgrade::Pod>>()>;
  /// Waits until `list` returns no pods, for at most five minutes.
  absl::Status AwaitGone(std::string_view what, const PodList& list);
  /// Same as AwaitGone for the pods in the operator's namespace whose label `app` has this value.
  absl::Status AwaitAppGone(const std::string& app);

 private:
  using Select = std::function<absl::StatusOr<driverupgrade::PodSelection>(driverupgrade::NodeView&)>;
  absl::Status Evacuate(std::string_view what, const Select& select);
  absl::StatusOr<driverupgrade::NodeView> Read(const driverupgrade::NodeAttempts& attempts);
  // Reads the node, sends the requests that are due, and returns a description of the pods that are left; empty if no
  // pod is left.
  absl::StatusOr<std::string> Look(const Select& select, driverupgrade::NodeAttempts& attempts);
  void Request(const driverupgrade::PodRef& pod, driverupgrade::NodeAttempts& attempts);
  absl::StatusOr<bool> HoldsGpuClaim(const driverupgrade::Pod& pod);
  absl::StatusOr<driverupgrade::PodSelection> SelectGpuPods(driverupgrade::NodeView& view);

  const Settings& settings_;
  const Parts& parts_;
  NodeClient& node_;
};

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_EVACUATION_H_
