#include "service/parallel_share.h"

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

}  // namespace driverupgrade::internal
