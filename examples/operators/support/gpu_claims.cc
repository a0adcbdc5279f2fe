#include "support/gpu_claims.h"

#include <algorithm>

#include "support/json.h"

namespace examples {
namespace {

using driverupgrade::ApiObject;

constexpr char kGpuDriver[] = "gpu.nvidia.com";
// API versions, newest first. The fields read here are the same in all versions.
constexpr const char* kVersions[] = {"resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1beta1"};

}  // namespace

absl::StatusOr<bool> HoldsGpu(std::string_view claim_json, AdminAccess admin_access) {
  const absl::StatusOr<rapidjson::Document> claim = ParseJson(claim_json);
  if (!claim.ok()) return claim.status();
  const auto results = Items(*claim, {"status", "allocation", "devices", "results"});
  return std::any_of(results.begin(), results.end(), [&](const rapidjson::Value& result) {
    const bool counts = admin_access == AdminAccess::kCounts || !Flag(result, {"adminAccess"});
    return counts && Text(result, {"driver"}) == kGpuDriver;
  });
}

// NotFound means that the claim does not exist, or that the server does not serve this version.
absl::StatusOr<ApiObject> ReadClaim(const driverupgrade::CallContext& context,
                                    const driverupgrade::ObjectClient& objects, const driverupgrade::ObjectName& name) {
  absl::StatusOr<ApiObject> claim = absl::NotFoundError("");
  for (const char* version : kVersions) {
    claim = objects.Get(context, {.group_version = version, .resource = "resourceclaims"}, name);
    if (!absl::IsNotFound(claim.status())) break;
  }
  return claim;
}

}  // namespace examples
