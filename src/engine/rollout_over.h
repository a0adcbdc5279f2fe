// Determines when a rollout has ended, from the plans of one engine.
//
//     if (end.Ended(plan, [&] { return engine.Everything(); })) observer.OnRolloutOver(plan.totals);
//
// Not thread-safe.
#ifndef DRIVERUPGRADE_SRC_ENGINE_ROLLOUT_OVER_H_
#define DRIVERUPGRADE_SRC_ENGINE_ROLLOUT_OVER_H_

#include <functional>

#include "driverupgrade/plan.h"

namespace driverupgrade::internal {

class RolloutOver {
 public:
  // Returns true if the rollout has ended according to `plan`, the plan of the current pass, and had not ended before.
  // `everything` returns the plan with all gates, at a cost of O(N log N). It is called only if its result may differ
  // from the last one: a paused rollout, or a rollout between two windows, has passes without any change for days.
  bool Ended(const Plan& plan, const std::function<Plan()>& everything);
  // Must be called after a failed pass, because its results are unknown.
  void PassFailed() { is_known_ = false; }

 private:
  bool is_on_ = false;     // a node has been in progress since a rollout last ended
  bool is_known_ = false;  // nothing has changed since all gates were checked
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_ENGINE_ROLLOUT_OVER_H_
