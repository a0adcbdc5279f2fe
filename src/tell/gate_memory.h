// The gates of all nodes, from plans that may tell only what has changed (Plan::gates_complete).
#ifndef DRIVERUPGRADE_SRC_TELL_GATE_MEMORY_H_
#define DRIVERUPGRADE_SRC_TELL_GATE_MEMORY_H_

#include <map>
#include <string>
#include <vector>

#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"

namespace driverupgrade::internal {

// Not thread-safe.
class GateMemory {
 public:
  // Every plan, in order. Returns those of its gates that are new or whose reason has changed: times and places in the
  // queue change all the time.
  std::vector<NodeGate> Follow(const Plan& plan);
  // How many nodes wait for what; 0 for a reason that was there once.
  const std::map<GateReason, int>& counts() const { return counts_; }

 private:
  void Forget(const std::string& node);

  std::map<std::string, GateReason> reasons_;  // by node
  std::map<GateReason, int> counts_;
};

// For a plan that is replaced by another one before anybody has been told: what it says of gates, and `plan` does not
// repeat, goes into `plan`.
void CarryGates(const Plan& untold, Plan& plan);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_TELL_GATE_MEMORY_H_
