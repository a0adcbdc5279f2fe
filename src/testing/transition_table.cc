#include "testing/transition_table.h"

#include <algorithm>

namespace driverupgrade {

bool IsLegalEdge(UpgradeState from, UpgradeState to) {
  return std::any_of(kTransitions.begin(), kTransitions.end(),
                     [&](const Transition& transition) { return transition.from == from && transition.to == to; });
}

}  // namespace driverupgrade
