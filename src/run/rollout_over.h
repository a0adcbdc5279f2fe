// When a rollout is over, by the plans of one engine.
//
//     if (end.Ended(plan, [&] { return engine.Everything(); })) observer.OnRolloutOver(plan.totals);
//
// Not thread-safe.
#ifndef DRIVERUPGRADE_SRC_RUN_ROLLOUT_OVER_H_
#define DRIVERUPGRADE_SRC_RUN_ROLLOUT_OVER_H_

#include <functional>

#include "driverupgrade/plan.h"

namespace driverupgrade::internal {

class RolloutOver {
 public:
  // Whether it is over by `plan`, that of one more pass, and was not before. `everything`: the plan with all gates,
  // which costs O(N log N). It is asked for only where it may say something else than the last time: a rollout that is
  // paused, or between two windows, has passes in which nothing moves for days.
  bool Ended(const Plan& plan, const std::function<Plan()>& everything);
  // A pass has failed, and what it would have told is not known.
  void PassFailed() { is_known_ = false; }

 private:
  bool is_on_ = false;     // some node was on its way since a rollout was last over
  bool is_known_ = false;  // nothing has changed since all gates were looked at
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_RUN_ROLLOUT_OVER_H_
