// The output of the process.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_TERMINAL_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_TERMINAL_H_

#include "upgradectl/table.h"

namespace upgradectl {

/// Returns the terminal of the standard output, in colour unless NO_COLOR or TERM prevents this. Has no width if the
/// output is not a terminal.
Screen ScreenOfOutput();

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_TERMINAL_H_
