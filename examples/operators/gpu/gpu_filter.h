// Selects the pods that use a GPU, through resources or ResourceClaims (upstream-behaviour.md §1.5).
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_GPU_FILTER_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_GPU_FILTER_H_

#include <memory>

#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/snapshot_builder.h"

namespace gpu_operator {

/// Returns a filter for pods that UsesGpu accepts, and for pods with a ResourceClaim to which a GPU is allocated
/// without admin access. The filter reads claims through `objects`, or ignores claims if `objects` is null. A pod with
/// a claim that cannot be read counts as using a GPU.
driverupgrade::PodFilter GpuPodFilter(std::shared_ptr<const driverupgrade::ObjectClient> objects);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_GPU_FILTER_H_
