// Formats a report as JSON. tools/upgradectl/README.md and docs/c-api.md list the members.
#ifndef DRIVERUPGRADE_SRC_WHATIF_PLAN_JSON_H_
#define DRIVERUPGRADE_SRC_WHATIF_PLAN_JSON_H_

#include <string>

#include "absl/time/time.h"
#include "whatif/what_if.h"

namespace driverupgrade::whatif {

// Equal reports produce equal strings, byte for byte.
std::string FormatJson(const Report& report);

// Returns the time as RFC 3339 in UTC, with as many decimal places as needed.
std::string TimeText(absl::Time time);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_PLAN_JSON_H_
