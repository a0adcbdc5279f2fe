// Measures how long nodes stayed in each state, from the transitions that an observer sees.
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
    // Time in plan.from; nullopt if the observer did not see the node enter that state.
    std::optional<absl::Duration> in_state = std::nullopt;
    // Duration of the upgrade that this patch completes; nullopt if the patch completes no upgrade, or if the observer
    // did not see the upgrade start.
    std::optional<absl::Duration> upgrade = std::nullopt;
  };
  // Returns the times for a patch. Must be called, in order, for each acknowledged patch with a path.
  Times Follow(const NodePlan& plan, absl::Time now);
  // Limits the number of remembered nodes to `nodes`, the current number of nodes. Without a limit, deleted nodes would
  // accumulate, because deletions are not reported.
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
