// The commands that help with a gate.
#ifndef DRIVERUPGRADE_SRC_REPORT_COMMANDS_H_
#define DRIVERUPGRADE_SRC_REPORT_COMMANDS_H_

#include <string>
#include <vector>

#include "driverupgrade/driver_identity.h"
#include "driverupgrade/gate.h"

namespace driverupgrade::internal {

// For a shell, in the order in which they are of use. `node`: that waits; empty for a gate of the whole rollout.
std::vector<std::string> CommandsFor(const DriverIdentity& identity, const Gate& gate, const std::string& node);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_REPORT_COMMANDS_H_
