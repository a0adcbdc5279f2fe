// Describes the standard output of the process.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_TERMINAL_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_TERMINAL_H_

#include "upgradectl/table.h"

namespace upgradectl {

/// Returns the properties of the standard output. A terminal has colors unless NO_COLOR or TERM disables them. If the
/// output is not a terminal, the width is 0 and colors are off.
Screen ScreenOfOutput();

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_TERMINAL_H_
