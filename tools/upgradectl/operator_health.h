// Determines from the Leases of the operator's namespace whether the operator is running.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_OPERATOR_HEALTH_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_OPERATOR_HEALTH_H_

#include <string>

#include "upgradectl/request.h"

namespace upgradectl {

/// Returns a sentence that explains why the rollout makes no progress; empty if an operator renews its Lease, or if the
/// Leases were not read.
std::string OperatorTrouble(const Request& request);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_OPERATOR_HEALTH_H_
