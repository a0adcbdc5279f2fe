// Describes the standard output of the process.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_TERMINAL_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_TERMINAL_H_

#include "upgradectl/table.h"

namespace upgradectl {

/// Returns the properties of the standard output. The output has colors unless NO_COLOR or TERM disables them. The
/// width is 0 unless the output is a terminal.
Screen ScreenOfOutput();

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_TERMINAL_H_
