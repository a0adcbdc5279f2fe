// Processes the documents of du_preflight.
#ifndef DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_PREFLIGHT_REQUEST_H_
#define DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_PREFLIGHT_REQUEST_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace driverupgrade::internal {

// Finds the obstacles to the next rollout. Errors: InvalidArgument with the path of the invalid member, starting with
// `request` or `cluster`.
absl::StatusOr<std::string> PreflightOf(std::string_view request, std::string_view cluster);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WHATIF_PREFLIGHT_PREFLIGHT_REQUEST_H_
