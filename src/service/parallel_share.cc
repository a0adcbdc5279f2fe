#include "service/parallel_share.h"

#include <algorithm>
#include <numeric>

namespace driverupgrade::inline v1::internal {

int ParallelShare(const std::vector<SlotUse>& uses, std::size_t i, int limit) {
  const int own = uses[i].value_or(0);
  if (std::any_of(uses.begin(), uses.end(), [](const SlotUse& use) { return !use; })) return own;
  const int total =
      std::accumulate(uses.begin(), uses.end(), 0, [](int sum, const SlotUse& use) { return sum + *use; });
  return own + std::max(0, limit - total);
}

UpgradePolicy UnderShare(UpgradePolicy policy, int share) {
  if (share <= 0) {
    policy.paused = true;
    return policy;
  }
  policy.max_parallel = std::min(policy.max_parallel.value_or(share), share);
  return policy;
}

int SlotsAfter(const Plan& plan) {
  const auto starts = std::count_if(plan.nodes.begin(), plan.nodes.end(),
                                    [](const NodePlan& node) { return node.needs_grant && IsInProgress(node.to()); });
  return plan.totals.slots + static_cast<int>(starts);
}

}  // namespace driverupgrade::inline v1::internal
