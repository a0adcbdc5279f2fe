// A report as JSON for programs and as a table for people.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_REPORT_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_REPORT_H_

#include <string>

#include "upgradectl/plan.h"

namespace upgradectl {

/// Equal reports give equal texts, byte for byte. The members are listed in README.md.
std::string FormatJson(const Report& report);

/// NODE STATE NEXT ACTIONS GATE, then the findings and the totals.
std::string FormatTable(const Report& report);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_REPORT_H_
