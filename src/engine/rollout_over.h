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
  // Returns true in the pass in which the rollout ends. `plan`: the plan of the current pass. `everything` returns a
  // plan with all gates, at a cost of O(N log N). `everything` is called only if its result may have changed, because a
  // paused rollout, or a rollout between two windows, can go through days of passes without any change.
  bool Ended(const Plan& plan, const std::function<Plan()>& everything);
  // Must be called after a failed pass, because the results of the pass are unknown.
  void PassFailed() { is_known_ = false; }

 private:
  bool is_on_ = false;     // a node has been in progress since the last rollout ended
  bool is_known_ = false;  // nothing has changed since all gates were checked
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_ENGINE_ROLLOUT_OVER_H_
