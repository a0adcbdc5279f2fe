#include "gpu_operator/gpu_claims.h"

#include <algorithm>
#include <utility>

#include "gpu_operator/gpu_pods.h"
#include "support/json.h"

namespace gpu_operator {
namespace {

using driverupgrade::ApiObject;
using driverupgrade::CallContext;
using driverupgrade::ObjectClient;
using driverupgrade::ObjectKind;
using driverupgrade::ObjectName;
using driverupgrade::Pod;

constexpr char kGpuDriver[] = "gpu.nvidia.com";

// A server of Kubernetes 1.32 or 1.33 has the beta only.
absl::StatusOr<ApiObject> ReadClaim(const CallContext& context, const ObjectClient& objects, const ObjectName& name) {
  static const ObjectKind kClaims{.group_version = "resource.k8s.io/v1", .resource = "resourceclaims"};
  static const ObjectKind kBetaClaims{.group_version = "resource.k8s.io/v1beta1", .resource = "resourceclaims"};
  absl::StatusOr<ApiObject> claim = objects.Get(context, kClaims, name);
  return absl::IsNotFound(claim.status()) ? objects.Get(context, kBetaClaims, name) : claim;
}

absl::StatusOr<bool> ClaimsGpu(const CallContext& context, const ObjectClient& objects, const Pod& pod) {
  for (const std::string& name : pod.resource_claims) {
    const absl::StatusOr<ApiObject> claim = ReadClaim(context, objects, {pod.ref.ns, name});
    // Nothing was learned about the claim: the node waits, and the pod is asked about again.
    if (absl::IsCancelled(claim.status()) || absl::IsDeadlineExceeded(claim.status())) return claim.status();
    if (!claim.ok() || HoldsGpu(claim->json)) return true;
  }
  return false;
}

}  // namespace

bool HoldsGpu(std::string_view claim_json) {
  const absl::StatusOr<rapidjson::Document> claim = examples::ParseJson(claim_json);
  if (!claim.ok()) return true;
  const auto results = examples::Items(*claim, {"status", "allocation", "devices", "results"});
  return std::any_of(results.begin(), results.end(), [](const rapidjson::Value& result) {
    return examples::Text(result, {"driver"}) == kGpuDriver && !examples::Flag(result, {"adminAccess"});
  });
}

driverupgrade::PodFilter GpuPodFilter(std::shared_ptr<const ObjectClient> objects) {
  return [objects = std::move(objects)](const CallContext& context, const Pod& pod) -> absl::StatusOr<bool> {
    if (UsesGpu(pod)) return true;
    if (!objects || !IsAlive(pod) || pod.resource_claims.empty()) return false;
    return ClaimsGpu(context, *objects, pod);
  };
}

}  // namespace gpu_operator
