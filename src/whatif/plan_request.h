// Processes the documents of du_plan.
#ifndef DRIVERUPGRADE_SRC_WHATIF_PLAN_REQUEST_H_
#define DRIVERUPGRADE_SRC_WHATIF_PLAN_REQUEST_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace driverupgrade::internal {

// Returns the next plan. Errors: InvalidArgument with the path of the invalid member, starting with `request` or
// `cluster`.
absl::StatusOr<std::string> PlanOf(std::string_view request, std::string_view cluster);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WHATIF_PLAN_REQUEST_H_
