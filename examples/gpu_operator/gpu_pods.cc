#include "gpu_operator/gpu_pods.h"

#include <algorithm>

namespace gpu_operator {

using driverupgrade::Pod;
using driverupgrade::PodPhase;

bool IsAlive(const Pod& pod) { return pod.phase == PodPhase::kRunning || pod.phase == PodPhase::kPending; }

bool UsesGpu(const Pod& pod) {
  return IsAlive(pod) && std::any_of(pod.resource_names.begin(), pod.resource_names.end(), [](const std::string& name) {
           return name.starts_with("nvidia.com/gpu") || name.starts_with("nvidia.com/mig-");
         });
}

std::vector<std::string> GpuResourceFilters() { return {R"(^nvidia\.com/gpu)", R"(^nvidia\.com/mig-)"}; }

}  // namespace gpu_operator
