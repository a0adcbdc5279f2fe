// Which pods use a GPU (upstream-behaviour.md §1.5).
#ifndef DRIVERUPGRADE_EXAMPLES_GPU_OPERATOR_GPU_PODS_H_
#define DRIVERUPGRADE_EXAMPLES_GPU_OPERATOR_GPU_PODS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/snapshot_builder.h"

namespace gpu_operator {

/// A pod that is Running or Pending and names a resource `nvidia.com/gpu…` or `nvidia.com/mig-…` in the requests or
/// limits of a regular container.
bool UsesGpu(const driverupgrade::Pod& pod);

/// The JSON of a ResourceClaim: some device of its allocation is from driver `gpu.nvidia.com` and is not for administrators
/// to look at only.
bool HoldsGpu(std::string_view claim_json);

/// UsesGpu, or a ResourceClaim of the pod that HoldsGpu, read through `objects`. A claim that cannot be read counts. Null
/// `objects`: claims are not looked at.
driverupgrade::PodFilter GpuPodFilter(std::shared_ptr<const driverupgrade::ObjectClient> objects);

/// The same resources for the maintenance operator, which knows pods by unanchored regular expressions only.
std::vector<std::string> GpuResourceFilters();

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_GPU_OPERATOR_GPU_PODS_H_
