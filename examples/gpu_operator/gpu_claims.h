// Which pods use a GPU, by resources or by ResourceClaims (upstream-behaviour.md §1.5).
#ifndef DRIVERUPGRADE_EXAMPLES_GPU_OPERATOR_GPU_CLAIMS_H_
#define DRIVERUPGRADE_EXAMPLES_GPU_OPERATOR_GPU_CLAIMS_H_

#include <memory>
#include <string_view>

#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/snapshot_builder.h"

namespace gpu_operator {

/// The JSON of a ResourceClaim: some device of its allocation is from driver `gpu.nvidia.com` and is not for administrators
/// to look at only.
bool HoldsGpu(std::string_view claim_json);

/// UsesGpu, or a ResourceClaim of the pod that HoldsGpu, read through `objects`. A claim that cannot be read counts. Null
/// `objects`: claims are not looked at.
driverupgrade::PodFilter GpuPodFilter(std::shared_ptr<const driverupgrade::ObjectClient> objects);

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_GPU_OPERATOR_GPU_CLAIMS_H_
