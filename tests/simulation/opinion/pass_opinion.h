// What an engine tells of a pass, held against the little that anybody knows: how long the engine has been at work, what
// its requests were answered, and when it wants to look again.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_OPINION_PASS_OPINION_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_OPINION_PASS_OPINION_H_

#include <map>
#include <string>

#include "absl/time/time.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/upgrade_controller.h"
#include "simulation/opinion/second_opinion.h"

namespace driverupgrade::testing::internal {

// What is wrong is said by a text; an empty one: nothing is.

// I15: nothing times out by an engine that has led for less than that time, or a minute, whatever it knows.
std::string WhyTooEarly(const NodePlan& plan, EngineTime time);

// I16: who follows the cluster writes nothing to a node by a watch that has been failing for long; by when each began to
// fail.
std::string WhyTooOld(const std::map<Operation, absl::Time>& failing_since, absl::Time now);

// I18: `answers`, by the UID of the pod that was to be evicted.
std::string WhyOtherOutcome(const NodePlan& plan, const NodeOutcome& outcome,
                            const std::map<std::string, EvictionAnswer>& answers);

struct ControllerTurn {
  const ControllerStatus& before;
  const ControllerStatus& after;
  bool term_begins = false;
  // Nodes whose requests were answered.
  int outcomes = 0;
  absl::Duration until_next = absl::ZeroDuration();
};
// I18, of whoever lists: a pass follows at once on the answers of another, and a term begins with one.
std::string WhyNotSooner(const ControllerTurn& turn);

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_OPINION_PASS_OPINION_H_
