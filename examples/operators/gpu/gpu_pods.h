// Recognizes pods that use a GPU by the resources that they request (upstream-behaviour.md §1.5). gpu_filter.h also
// considers the pods' claims.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_GPU_PODS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_GPU_PODS_H_

#include <string>
#include <vector>

#include "driverupgrade/cluster_types.h"

namespace gpu_operator {

/// Returns true if the pod requests a GPU (gpu_resources.h) and has not finished.
bool UsesGpu(const driverupgrade::Pod& pod);

/// Returns unanchored regular expressions that match the names of the GPU resources. The maintenance operator can
/// identify pods only by such expressions.
std::vector<std::string> GpuResourceFilters();

}  // namespace gpu_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_GPU_GPU_PODS_H_
