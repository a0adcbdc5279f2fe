#include "gpu/gpu_filter.h"

#include <utility>

#include "gpu/gpu_pods.h"
#include "support/gpu_claims.h"

namespace gpu_operator {
namespace {

using driverupgrade::ApiObject;
using driverupgrade::CallContext;
using driverupgrade::ObjectClient;
using driverupgrade::Pod;

absl::StatusOr<bool> ClaimsGpu(const CallContext& context, const ObjectClient& objects, const Pod& pod) {
  for (const std::string& name : pod.resource_claims) {
    const absl::StatusOr<ApiObject> claim = examples::ReadClaim(context, objects, {pod.ref.ns, name});
    // Nothing is known about the claim, so the node waits until the claim is read again.
    if (absl::IsCancelled(claim.status()) || absl::IsDeadlineExceeded(claim.status())) return claim.status();
    if (!claim.ok()) return true;
    if (examples::HoldsGpu(claim->json, examples::AdminAccess::kIgnored).value_or(true)) return true;
  }
  return false;
}

}  // namespace

driverupgrade::PodFilter GpuPodFilter(std::shared_ptr<const ObjectClient> objects) {
  return [objects = std::move(objects)](const CallContext& context, const Pod& pod) -> absl::StatusOr<bool> {
    if (UsesGpu(pod)) return true;
    if (!objects || IsFinished(pod) || pod.resource_claims.empty()) return false;
    return ClaimsGpu(context, *objects, pod);
  };
}

}  // namespace gpu_operator
