/// One limit on nodes in progress for several engines that run one after the other.
///
/// Defines SlotUse, ParallelShare, UnderShare and SlotObserver.
///
///     policy = UnderShare(policy, ParallelShare(uses, i, 10));
///
/// If every engine's pass begins with its present share, and the next engine's share is computed after it, then the
/// engines together never start a node beyond the limit: a share is what the engine has already, and what the limit
/// leaves. Pure, but for the observer.
#ifndef DRIVERUPGRADE_SRC_SERVICE_PARALLEL_SHARE_H_
#define DRIVERUPGRADE_SRC_SERVICE_PARALLEL_SHARE_H_

#include <mutex>
#include <optional>
#include <vector>

#include "driverupgrade/observer.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade::inline v1::internal {

/// How many nodes of an engine hold a slot of maxParallelUpgrades, which nodes that an administrator had cordoned do as
/// the policy says; nullopt: it has made no pass yet, so nobody knows.
using SlotUse = std::optional<int>;

/// The slots that engine `i` may hold, its present ones included. While the use of another engine is not known nobody
/// starts anything: what that engine has in progress since before would be too many.
int ParallelShare(const std::vector<SlotUse>& uses, std::size_t i, int limit);

/// The policy with the smaller of its own limit and `share`. A share of 0 pauses it: there is no limit of 0.
UpgradePolicy UnderShare(UpgradePolicy policy, int share);

/// The slots after `plan`: those that are held, and those of nodes that it starts.
int SlotsAfter(const Plan& plan);

/// Remembers SlotsAfter of the last plan. Thread-safe.
class SlotObserver final : public Observer {
 public:
  void OnPlan(const Plan& plan) override {
    const std::lock_guard lock(mutex_);
    use_ = SlotsAfter(plan);
  }
  SlotUse use() const {
    const std::lock_guard lock(mutex_);
    return use_;
  }

 private:
  mutable std::mutex mutex_;
  SlotUse use_;
};

}  // namespace driverupgrade::inline v1::internal

#endif  // DRIVERUPGRADE_SRC_SERVICE_PARALLEL_SHARE_H_
