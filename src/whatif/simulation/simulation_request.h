// Processes the documents of du_simulate.
#ifndef DRIVERUPGRADE_SRC_WHATIF_SIMULATION_SIMULATION_REQUEST_H_
#define DRIVERUPGRADE_SRC_WHATIF_SIMULATION_SIMULATION_REQUEST_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace driverupgrade::internal {

// Simulates rollouts with one or more policies. Errors: InvalidArgument with the path of the invalid member, starting
// with `request` or `cluster`.
absl::StatusOr<std::string> SimulationOf(std::string_view request, std::string_view cluster);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WHATIF_SIMULATION_SIMULATION_REQUEST_H_
