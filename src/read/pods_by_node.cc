#include "read/pods_by_node.h"

#include <utility>

#include "base/status_macros.h"
#include "model/unreadable.h"

namespace driverupgrade::internal {

absl::StatusOr<PodsByNode> ListPodsByNode(const CallContext& context, ClusterReader& cluster) {
  DRIVERUPGRADE_ASSIGN_OR_RETURN(std::vector<Pod> pods,
                                 cluster.ListPods(context, {.on_unreadable = OnUnreadable::kMark}));
  PodsByNode by_node;
  for (Pod& pod : pods) {
    if (!pod.node_name.empty()) {
      by_node[pod.node_name].push_back(std::move(pod));
    } else if (IsUnreadable(pod)) {
      return absl::DataLossError(CannotBeRead("Pod", pod));
    }
  }
  return by_node;
}

}  // namespace driverupgrade::internal
