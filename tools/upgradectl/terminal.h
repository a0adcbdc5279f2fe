// What the process writes to.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_TERMINAL_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_TERMINAL_H_

#include "upgradectl/table.h"

namespace upgradectl {

/// The terminal of the standard output, coloured unless NO_COLOR or TERM say otherwise; no screen if it is none.
Screen ScreenOfOutput();

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_TERMINAL_H_
