// Formats durations for users.
#ifndef DRIVERUPGRADE_SRC_WHATIF_AGE_H_
#define DRIVERUPGRADE_SRC_WHATIF_AGE_H_

#include <string>

#include "absl/time/time.h"

namespace driverupgrade::whatif {

// Returns a string such as "45s", "12m", "3h20m" or "2d4h".
std::string Age(absl::Duration duration);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_AGE_H_
