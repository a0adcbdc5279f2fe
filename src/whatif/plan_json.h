// A report as JSON. Its members are listed in tools/upgradectl/README.md and docs/c-api.md.
#ifndef DRIVERUPGRADE_SRC_WHATIF_PLAN_JSON_H_
#define DRIVERUPGRADE_SRC_WHATIF_PLAN_JSON_H_

#include <string>

#include "absl/time/time.h"
#include "whatif/what_if.h"

namespace driverupgrade::whatif {

// Equal reports result in equal texts, byte for byte.
std::string FormatJson(const Report& report);

// RFC 3339 in UTC, with as many digits of the second as needed.
std::string TimeText(absl::Time time);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_PLAN_JSON_H_
