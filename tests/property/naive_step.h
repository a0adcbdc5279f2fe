// Plans all nodes from the start. This is the oracle for IncrementalPlanner and AdmissionQueue.
#ifndef DRIVERUPGRADE_TESTS_PROPERTY_NAIVE_STEP_H_
#define DRIVERUPGRADE_TESTS_PROPERTY_NAIVE_STEP_H_

#include <vector>

#include "absl/time/time.h"
#include "decide/admission/queue.h"
#include "driverupgrade/state_machine.h"
#include "support/admission.h"

namespace driverupgrade::tests {

// Returns the same plan as StateMachine::Step, except that the nodes are in snapshot order.
Plan NaiveStep(const StateMachine& machine, const ClusterSnapshot& snapshot, const UpgradePolicy& policy,
               absl::Time now);

// Returns the same decisions as Admit (support/admission.h).
std::vector<AdmissionDecision> NaiveAdmit(Limits limits, const std::vector<WaitingNode>& waiting);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_PROPERTY_NAIVE_STEP_H_
