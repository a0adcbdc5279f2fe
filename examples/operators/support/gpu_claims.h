/// Finds GPUs that pods hold through ResourceClaims (Dynamic Resource Allocation).
///
/// Defines AdminAccess, HoldsGpu and ReadClaim.
///
///     absl::StatusOr<ApiObject> claim = examples::ReadClaim(context, objects, {pod.ref.ns, name});
///     if (claim.ok()) holds = examples::HoldsGpu(claim->json, examples::AdminAccess::kIgnored);
///
/// The caller decides how to treat a claim that cannot be read. Thread-safe if the client is.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_GPU_CLAIMS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_GPU_CLAIMS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/kubernetes/object_client.h"

namespace examples {

/// Treatment of a device that is allocated with admin access: the device's GPU is not reserved, but its driver is in
/// use.
enum class AdminAccess : std::uint8_t { kIgnored, kCounts };

/// Returns true if an allocated device in the ResourceClaim's JSON belongs to the driver `gpu.nvidia.com`. Returns an
/// error if `claim_json` is not JSON.
absl::StatusOr<bool> HoldsGpu(std::string_view claim_json, AdminAccess admin_access);

/// Reads the claim in the newest API version that the server serves. Errors: the errors of the client; NotFound also if
/// the server does not serve claims.
absl::StatusOr<driverupgrade::ApiObject> ReadClaim(const driverupgrade::CallContext& context,
                                                   const driverupgrade::ObjectClient& objects,
                                                   const driverupgrade::ObjectName& name);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_GPU_CLAIMS_H_
