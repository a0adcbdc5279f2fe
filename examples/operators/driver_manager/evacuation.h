/// Gets pods off the node: those that use a GPU, or all that a drain is about; and waits for pods that others take
/// away.
///
/// Defines Evacuation.
///
///     Evacuation evacuation(settings, parts, node);
///     absl::Status evicted = evacuation.EvictGpuPods();
///
/// Which pods may be evicted, and when a refused one is asked for again, the library decides (DrainManager,
/// PodManager): DaemonSet and static pods stay, and if any other must not be evicted none is. Nothing is forced. Not
/// thread-safe.
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
  /// All must outlive it.
  Evacuation(const Settings& settings, const Parts& parts, NodeClient& node)
      : settings_(settings), parts_(parts), node_(node) {}

  /// Errors: FailedPrecondition (a pod must not be evicted; nothing has been done), DeadlineExceeded with the pods that
  /// are left, and the cluster's own.
  absl::Status EvictGpuPods();
  absl::Status Drain();

  /// FailedPrecondition if pods on the node that have not ended hold a GPU by a ResourceClaim. `with_pending`: pods
  /// that have not started count, too. Without a kubelet plugin they wait, and start with the new driver.
  absl::Status CheckNoClaimHolders(bool with_pending);

  using PodList = std::function<absl::StatusOr<std::vector<driverupgrade::Pod>>()>;
  /// Waits until `list` gives nothing; for five minutes at most.
  absl::Status AwaitGone(std::string_view what, const PodList& list);
  /// The same for pods of the operator's namespace with that label `app`.
  absl::Status AwaitAppGone(const std::string& app);

 private:
  using Select = std::function<absl::StatusOr<driverupgrade::PodSelection>(driverupgrade::NodeView&)>;
  absl::Status Evacuate(std::string_view what, const Select& select);
  absl::StatusOr<driverupgrade::NodeView> Read(const driverupgrade::NodeAttempts& attempts);
  // What is left after a look at the node, and why; empty: nothing.
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
