/// Finds GPUs that pods request as resources (upstream-behaviour.md §1.5). Pure.
///
/// Defines AsksForGpu.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_GPU_RESOURCES_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_GPU_RESOURCES_H_

#include <algorithm>
#include <string>

#include "driverupgrade/cluster_types.h"

namespace examples {

/// Returns true if a container of the pod requests a resource `nvidia.com/gpu…` or `nvidia.com/mig-…`. Resources that
/// Dynamic Resource Allocation provides under other names are found through the pod's claims (gpu_claims.h).
inline bool AsksForGpu(const driverupgrade::Pod& pod) {
  return std::any_of(pod.resource_names.begin(), pod.resource_names.end(), [](const std::string& name) {
    return name.starts_with("nvidia.com/gpu") || name.starts_with("nvidia.com/mig-");
  });
}

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_GPU_RESOURCES_H_
