// Formats a report as a table.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_REPORT_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_REPORT_H_

#include <string>

#include "whatif/what_if.h"

namespace upgradectl {

/// Returns a table with the columns NODE, STATE, NEXT, ACTIONS and GATE, followed by the findings and the totals.
std::string FormatTable(const driverupgrade::whatif::Report& report);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_REPORT_H_
