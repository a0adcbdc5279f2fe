/// Shares one limit on nodes in progress among several engines that run in sequence.
///
/// Defines SlotUse, SharedSlotsOf and SlotObserver.
///
///     engine_options.shared_slots = [&] { return SharedSlotsOf(uses, i, 10); };
///
/// Together, the engines never start a node beyond the limit if each engine's pass accounts for the other engines'
/// earlier passes. Pure, except for the observer.
#ifndef DRIVERUPGRADE_SRC_SERVICE_PARALLEL_SHARE_H_
#define DRIVERUPGRADE_SRC_SERVICE_PARALLEL_SHARE_H_

#include <mutex>
#include <optional>
#include <vector>

#include "decide/admission/grants.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/observer.h"
#include "driverupgrade/plan.h"

namespace driverupgrade::internal {

/// Number of an engine's nodes that hold a slot of maxParallelUpgrades; the policy decides whether nodes that an
/// administrator had cordoned count. nullopt: unknown, because the engine has not made a pass yet.
using SlotUse = std::optional<int>;

/// Returns the limit from the perspective of engine `i`. If the use of another engine is unknown, engine `i` starts
/// nothing, because the other engine's nodes in progress may already use up the limit.
SharedSlots SharedSlotsOf(const std::vector<SlotUse>& uses, std::size_t i, int limit);

/// Remembers the result of SlotsAfter for the last finished plan, and whether the rollout is halted. Thread-safe.
class SlotObserver final : public Observer {
 public:
  void OnPlan(const Plan& plan) override {
    if (!plan.finished) return;
    const std::lock_guard lock(mutex_);
    use_ = SlotsAfter(plan);
    halted_ = plan.budget.Halted();
  }
  bool halted() const {
    const std::lock_guard lock(mutex_);
    return halted_;
  }
  SlotUse use() const {
    const std::lock_guard lock(mutex_);
    return use_;
  }

 private:
  mutable std::mutex mutex_;
  SlotUse use_;
  bool halted_ = false;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_SERVICE_PARALLEL_SHARE_H_
