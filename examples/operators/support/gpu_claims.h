/// GPUs that pods hold by ResourceClaims (dynamic resource allocation).
///
/// Defines AdminAccess, HoldsGpu and ReadClaim.
///
///     absl::StatusOr<ApiObject> claim = examples::ReadClaim(context, objects, {pod.ref.ns, name});
///     if (claim.ok()) holds = examples::HoldsGpu(claim->json, examples::AdminAccess::kIgnored);
///
/// What a claim means that cannot be read is for the caller to say. As thread-safe as the client.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_GPU_CLAIMS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_GPU_CLAIMS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/kubernetes/object_client.h"

namespace examples {

/// Of a device that an administrator only looks at: its GPU is not reserved, but its driver is in use.
enum class AdminAccess : std::uint8_t { kIgnored, kCounts };

/// The JSON of a ResourceClaim: some device of its allocation is from driver `gpu.nvidia.com`. Errors: no JSON.
absl::StatusOr<bool> HoldsGpu(std::string_view claim_json, AdminAccess admin_access);

/// In the newest version of the API that the server has. Errors: those of the client; NotFound also where the server
/// knows no claims.
absl::StatusOr<driverupgrade::ApiObject> ReadClaim(const driverupgrade::CallContext& context,
                                                   const driverupgrade::ObjectClient& objects,
                                                   const driverupgrade::ObjectName& name);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_GPU_CLAIMS_H_
