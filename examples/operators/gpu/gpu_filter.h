// Which pods use a GPU, by resources or by ResourceClaims (upstream-behaviour.md §1.5).
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_GPU_FILTER_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_GPU_FILTER_H_

#include <memory>

#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/snapshot_builder.h"

namespace gpu_operator {

/// UsesGpu, or a ResourceClaim of the pod to which a GPU is allocated, not for an administrator to look at only, read
/// through `objects`. A claim that cannot be read counts. Null `objects`: claims are not looked at.
driverupgrade::PodFilter GpuPodFilter(std::shared_ptr<const driverupgrade::ObjectClient> objects);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_GPU_FILTER_H_
