// How long nodes were in which state, from the transitions that an observer sees.
#ifndef DRIVERUPGRADE_SRC_TELL_NODE_TIMES_H_
#define DRIVERUPGRADE_SRC_TELL_NODE_TIMES_H_

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
    // In plan.from; nullopt if nobody saw the node enter it.
    std::optional<absl::Duration> in_state = std::nullopt;
    // Of the upgrade, if this ended it well; nullopt as well if nobody saw it begin.
    std::optional<absl::Duration> upgrade = std::nullopt;
  };
  // A patch with a path was acknowledged. Every one, in order.
  Times Follow(const NodePlan& plan, absl::Time now);
  // There are so many nodes, so no more are remembered: some that were are gone without a word.
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

#endif  // DRIVERUPGRADE_SRC_TELL_NODE_TIMES_H_
