// Why nodes wait, as whoever follows the plans of an engine is told.
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
  // Where whoever follows knows something else than whoever asks (L5); empty: nowhere.
  std::string WhyNot(const Plan& everything) const;

 private:
  std::map<std::string, GateReason> reasons_;  // by node
  // The next pass is due at once, and tells the reasons for which this one had no room (EngineOptions::nodes_per_pass).
  bool is_behind_ = false;
};

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_WORLD_TOLD_REASONS_H_
