// Names the programs, other than drivers, that rely on a node's cordon (ADR 0028), for the invariants.
#ifndef DRIVERUPGRADE_SRC_TESTING_INVARIANTS_PROGRAM_AT_WORK_H_
#define DRIVERUPGRADE_SRC_TESTING_INVARIANTS_PROGRAM_AT_WORK_H_

#include <string>

#include "driverupgrade/cluster_types.h"

namespace driverupgrade::testing::internal {

// Returns the name of a program that relies on the cordon; empty if no program does. NVSentinel relies on it if it has
// quarantined the node, except in a dry run, and no administrator has canceled the quarantine. The Machine Config
// Operator and the SR-IOV network operator rely on it while they work on the node.
std::string ProgramAtWork(const Node& node);

}  // namespace driverupgrade::testing::internal

#endif  // DRIVERUPGRADE_SRC_TESTING_INVARIANTS_PROGRAM_AT_WORK_H_
