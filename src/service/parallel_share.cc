#include "service/parallel_share.h"

#include <algorithm>

namespace driverupgrade::internal {

SharedSlots SharedSlotsOf(const std::vector<SlotUse>& uses, std::size_t i, int limit) {
  SharedSlots shared{.max = limit};
  for (std::size_t other = 0; other < uses.size(); ++other) {
    if (other == i) continue;
    if (!uses[other]) return {.max = limit, .used_elsewhere = std::nullopt};
    *shared.used_elsewhere += *uses[other];
  }
  return shared;
}

int SlotsAfter(const Plan& plan) {
  const auto starts = std::count_if(plan.nodes.begin(), plan.nodes.end(),
                                    [](const NodePlan& node) { return node.needs_grant && IsInProgress(node.to()); });
  return plan.totals.slots + static_cast<int>(starts);
}

}  // namespace driverupgrade::internal
