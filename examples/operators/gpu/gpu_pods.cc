#include "gpu/gpu_pods.h"

#include "support/gpu_resources.h"

namespace gpu_operator {

using driverupgrade::Pod;
using driverupgrade::PodPhase;

bool IsAlive(const Pod& pod) { return pod.phase == PodPhase::kRunning || pod.phase == PodPhase::kPending; }

bool UsesGpu(const Pod& pod) { return IsAlive(pod) && examples::AsksForGpu(pod); }

std::vector<std::string> GpuResourceFilters() { return {R"(^nvidia\.com/gpu)", R"(^nvidia\.com/mig-)"}; }

}  // namespace gpu_operator
