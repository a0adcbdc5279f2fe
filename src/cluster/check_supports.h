// Checks whether a facade implements the operations that a component of the engine needs.
#ifndef DRIVERUPGRADE_SRC_CLUSTER_CHECK_SUPPORTS_H_
#define DRIVERUPGRADE_SRC_CLUSTER_CHECK_SUPPORTS_H_

#include <vector>

#include "absl/status/status.h"
#include "driverupgrade/cluster_facade.h"

namespace driverupgrade::internal {

/// Returns Unimplemented with the name of the first operation that the facade does not implement.
[[nodiscard]] absl::Status CheckSupports(const ClusterFacade& cluster, const std::vector<Operation>& operations);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_CLUSTER_CHECK_SUPPORTS_H_
