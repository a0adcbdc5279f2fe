#include "gpu/gpu_pods.h"

#include "support/gpu_resources.h"

namespace gpu_operator {

bool UsesGpu(const driverupgrade::Pod& pod) { return !IsFinished(pod) && examples::AsksForGpu(pod); }

std::vector<std::string> GpuResourceFilters() { return {R"(^nvidia\.com/gpu)", R"(^nvidia\.com/mig-)"}; }

}  // namespace gpu_operator
