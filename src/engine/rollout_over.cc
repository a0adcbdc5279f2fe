#include "engine/rollout_over.h"

#include <utility>

namespace driverupgrade::internal {

bool RolloutOver::Ended(const Plan& plan, const std::function<Plan()>& everything) {
  const bool moves = plan.totals.Moving() > 0;
  if (moves) is_on_ = true;
  if (moves || !plan.nodes.empty() || plan.gates_complete || !plan.gates.empty() || !plan.ungated.empty()) {
    is_known_ = false;
  }
  if (!is_on_ || moves || !plan.nodes.empty() || std::exchange(is_known_, true)) return false;
  if (!IsOver(everything())) return false;
  is_on_ = false;
  return true;
}

}  // namespace driverupgrade::internal
