// Records why nodes wait, according to the plans that an engine's observer receives.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_WORLD_TOLD_REASONS_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_WORLD_TOLD_REASONS_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "driverupgrade/plan.h"

namespace driverupgrade::testing::internal {

class ToldReasons {
 public:
  void Follow(const Plan& plan, absl::Time now);
  // L5: returns a difference between the reasons in the plans and the reasons that the engine returns on request; empty
  // if they agree.
  std::string WhyNot(const Plan& everything) const;

 private:
  std::map<std::string, GateReason> reasons_;  // by node
  // True if the next pass is due immediately. That pass reports the reasons that did not fit into the current pass
  // (EngineOptions::nodes_per_pass).
  bool is_behind_ = false;
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_TOLD_REASONS_H_
