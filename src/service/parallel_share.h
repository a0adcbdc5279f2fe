/// One limit on nodes in progress for several engines that run one after the other.
///
/// Defines SlotUse, SharedSlotsOf, SlotsAfter and SlotObserver.
///
///     engine_options.shared_slots = [&] { return SharedSlotsOf(uses, i, 10); };
///
/// If every engine's pass knows what the passes of the others before it have left, then the engines together never start
/// a node beyond the limit. Pure, but for the observer.
#ifndef DRIVERUPGRADE_SRC_SERVICE_PARALLEL_SHARE_H_
#define DRIVERUPGRADE_SRC_SERVICE_PARALLEL_SHARE_H_

#include <mutex>
#include <optional>
#include <vector>

#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/observer.h"
#include "driverupgrade/plan.h"

namespace driverupgrade::internal {

/// How many nodes of an engine hold a slot of maxParallelUpgrades, which nodes that an administrator had cordoned do as
/// the policy says; nullopt: it has made no pass yet, so nobody knows.
using SlotUse = std::optional<int>;

/// The limit as engine `i` is to see it. If the use of another engine is not known, engine `i` starts nothing: what the
/// other engine has in progress since before would be too many.
SharedSlots SharedSlotsOf(const std::vector<SlotUse>& uses, std::size_t i, int limit);

/// The slots after `plan`: those that are held, and those of nodes that it starts.
int SlotsAfter(const Plan& plan);

/// Remembers of the last finished plan SlotsAfter, and whether the rollout is halted. Thread-safe.
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
