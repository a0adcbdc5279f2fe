// Whether an operator is at work, as far as the Leases of its namespace show.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_OPERATOR_HEALTH_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_OPERATOR_HEALTH_H_

#include <string>

#include "upgradectl/request.h"

namespace upgradectl {

/// Returns why nothing will happen, as one sentence; empty if an operator is at work, or if the Leases do not tell.
std::string OperatorTrouble(const Request& request);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_OPERATOR_HEALTH_H_
