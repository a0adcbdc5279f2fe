// Tracks the gates of all nodes from plans that may contain only changes (Plan::gates_complete).
#ifndef DRIVERUPGRADE_SRC_OBSERVE_GATE_MEMORY_H_
#define DRIVERUPGRADE_SRC_OBSERVE_GATE_MEMORY_H_

#include <map>
#include <string>
#include <vector>

#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"

namespace driverupgrade::internal {

// Not thread-safe.
class GateMemory {
 public:
  // Returns the plan's gates that are new, or whose reason has changed. Ignores times and queue positions, because they
  // change constantly. Must be called with every plan, in order.
  std::vector<NodeGate> Follow(const Plan& plan);
  // Number of waiting nodes by reason; zero for a reason that no longer applies.
  const std::map<GateReason, int>& counts() const { return counts_; }

 private:
  void Forget(const std::string& node);

  std::map<std::string, GateReason> reasons_;  // by node
  std::map<GateReason, int> counts_;
};

// Merges `untold`, a plan that has not been reported, into `plan`, which is reported instead. Adds the gates that
// `plan` does not repeat.
void CarryGates(const Plan& untold, Plan& plan);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_OBSERVE_GATE_MEMORY_H_
