// Measures how long nodes were in each state, based on the transitions that an observer sees.
#ifndef DRIVERUPGRADE_SRC_OBSERVE_NODE_TIMES_H_
#define DRIVERUPGRADE_SRC_OBSERVE_NODE_TIMES_H_

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/upgrade_state.h"

namespace driverupgrade::internal {

// Not thread-safe.
class NodeTimes {
 public:
  struct Times {
    // Time in plan.from; nullopt if the observer did not see the node enter it.
    std::optional<absl::Duration> in_state = std::nullopt;
    // Duration of the upgrade, if it has just finished successfully; nullopt also if the observer did not see it start.
    std::optional<absl::Duration> upgrade = std::nullopt;
  };
  // Notes a patch with a path that was acknowledged. Must be called for each one, in order.
  Times Follow(const NodePlan& plan, absl::Time now);
  // Limits the memory to `nodes`, the current number of nodes, because some of the remembered nodes were deleted
  // without notice.
  void Trim(std::size_t nodes);
  std::size_t size() const { return nodes_.size(); }

 private:
  struct Since {
    std::string uid = {};
    UpgradeState state = UpgradeState::kUnknown;
    absl::Time entered = {};
    std::optional<absl::Time> upgrade_began = std::nullopt;
  };
  std::map<std::string, Since> nodes_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_OBSERVE_NODE_TIMES_H_
