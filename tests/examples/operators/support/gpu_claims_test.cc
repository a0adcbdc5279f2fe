#include "support/gpu_claims.h"

#include "support/catch.h"
#include "unit/wire/scripted_transport.h"

namespace driverupgrade::tests {
namespace {

using examples::AdminAccess;
using examples::HoldsGpu;

std::string Allocated(const std::string& result) {
  return R"({"status":{"allocation":{"devices":{"results":[{"driver":"other.example.com"},)" + result + "]}}}}";
}

bool Holds(const std::string& result) { return HoldsGpu(Allocated(result), AdminAccess::kIgnored).value(); }

TEST_CASE("upstream 1.5: a claim holds a GPU if a GPU is allocated to it without admin access") {
  CHECK(Holds(R"({"driver":"gpu.nvidia.com"})"));
  CHECK(Holds(R"({"driver":"gpu.nvidia.com","adminAccess":false})"));
  CHECK_FALSE(Holds(R"({"driver":"gpu.nvidia.com","adminAccess":true})"));
  CHECK_FALSE(Holds(R"({"driver":"compute-domain.nvidia.com"})"));
  CHECK_FALSE(HoldsGpu(R"({"status":{}})", AdminAccess::kIgnored).value());
  CHECK(absl::IsInvalidArgument(HoldsGpu("{", AdminAccess::kIgnored).status()));
}

TEST_CASE("upstream 3.4: claims with admin access count when a driver is unloaded") {
  CHECK(HoldsGpu(Allocated(R"({"driver":"gpu.nvidia.com","adminAccess":true})"), AdminAccess::kCounts).value());
  CHECK_FALSE(HoldsGpu(Allocated(R"({"driver":"nic.example.com","adminAccess":true})"), AdminAccess::kCounts).value());
}

TEST_CASE("a claim is requested in older API versions until the server supports one of them") {
  const auto transport = std::make_shared<ScriptedTransport>();
  const ObjectClient objects(transport);
  transport->Answer(404, "404 page not found\n");
  transport->Answer(200, R"({"kind":"ResourceClaim","metadata":{"name":"c","namespace":"ns","uid":"u"}})");
  CHECK(examples::ReadClaim({}, objects, {"ns", "c"}).ok());
  CHECK(transport->lines ==
        std::vector<std::string>{"GET /apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/c",
                                 "GET /apis/resource.k8s.io/v1beta2/namespaces/ns/resourceclaims/c"});
  transport->Answer(403, StatusBody(403, "Forbidden", "no"));
  CHECK(absl::IsPermissionDenied(examples::ReadClaim({}, objects, {"ns", "c"}).status()));
  for (int i = 0; i < 3; ++i) transport->Answer(404, StatusBody(404, "NotFound", "no"));
  CHECK(absl::IsNotFound(examples::ReadClaim({}, objects, {"ns", "c"}).status()));
}

}  // namespace
}  // namespace driverupgrade::tests
