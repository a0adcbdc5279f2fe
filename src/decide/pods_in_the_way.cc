#include "decide/pods_in_the_way.h"

#include <set>
#include <vector>

#include "decide/transitions/walk.h"
#include "driverupgrade/drain_manager.h"
#include "driverupgrade/pod_manager.h"

namespace driverupgrade::internal {
namespace {

// Collects pods without duplicates, because the upgrade may both wait for a pod and delete it.
class PodSet {
 public:
  void Add(const Pod* pod) {
    if (!IsFinished(*pod)) pods_.insert(pod);
  }
  void Add(const PodSelection& selection) {
    for (const Pod* pod : selection.evict) Add(pod);
    for (const PodSelection::Blocked& blocked : selection.blocked) Add(blocked.pod);
  }
  std::vector<const Pod*> pods() const { return {pods_.begin(), pods_.end()}; }

 private:
  std::set<const Pod*> pods_;
};

}  // namespace

std::optional<std::vector<const Pod*>> PodsInTheWay(const NodeView& view, const NodeRules& rules,
                                                    const StateMachine& machine) {
  if (!view.pods) return std::nullopt;
  PodSet in_the_way;
  const PodManager pods;
  const DrainManager drains(machine.options().own_pod);
  if (const auto& jobs = rules.wait_for_completion; jobs && !jobs->pod_selector.empty()) {
    for (const Pod* pod : pods.AwaitedPods(*view.pods, *jobs)) in_the_way.Add(pod);
  }
  // With pod deletion, a node is drained only if the deletion fails.
  if (const auto deletion = PodDeletion(machine.pod_deletion(), rules)) {
    in_the_way.Add(pods.SelectForDeletion(view, *deletion, drains));
  } else if (rules.drain) {
    in_the_way.Add(drains.Select(*view.pods, *rules.drain));
  }
  return in_the_way.pods();
}

}  // namespace driverupgrade::internal
