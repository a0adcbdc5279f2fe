#include "gpu/gpu_pods.h"

#include "driverupgrade/wire/kubernetes_json.h"
#include "gpu/gpu_filter.h"
#include "support/catch.h"
#include "unit/wire/scripted_transport.h"

namespace driverupgrade::tests {
namespace {

using gpu_operator::UsesGpu;

Pod Running(std::vector<std::string> resources, std::vector<std::string> claims = {}) {
  return {.ref = {.ns = "ns", .name = "pod"},
          .phase = PodPhase::kRunning,
          .resource_names = std::move(resources),
          .resource_claims = std::move(claims)};
}

std::string Claim(const std::string& status) {
  return R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":"c","namespace":"ns",)"
         R"("uid":"u","resourceVersion":"1"},"status":)" +
         status + "}";
}
std::string Allocated(const std::string& result) {
  return Claim(R"({"allocation":{"devices":{"results":[{"driver":"other.example.com"},)" + result + "]}}}");
}

TEST_CASE("upstream 1.5: a pod uses a GPU if it requests a resource with the prefix, and is running or will run") {
  CHECK(UsesGpu(Running({"cpu", "nvidia.com/gpu.shared"})));
  CHECK(UsesGpu(Running({"nvidia.com/mig-1g.5gb"})));
  CHECK_FALSE(UsesGpu(Running({"nvidia.com/rdma", "amd.com/gpu"})));
  Pod pod = Running({"nvidia.com/gpu"});
  pod.phase = PodPhase::kPending;
  CHECK(UsesGpu(pod));
  pod.phase = PodPhase::kUnknown;  // the kubelet does not respond, but the containers may still run
  CHECK(UsesGpu(pod));
  pod.phase = PodPhase::kSucceeded;
  CHECK_FALSE(UsesGpu(pod));
}

TEST_CASE(
    "W12: init containers and ephemeral containers count as GPU users, and claims of extended resources are read") {
  const auto parse = [](const std::string& spec, const std::string& status = "") {
    return *ParseObject<Pod>(R"({"kind":"Pod","metadata":{"name":"p","namespace":"ns"},"spec":)" + spec +
                             R"(,"status":{"phase":"Running")" + status + "}}");
  };
  const std::string gpu = R"([{"name":"c","resources":{"limits":{"nvidia.com/gpu":"1"}}}])";
  CHECK(UsesGpu(parse(R"({"initContainers":)" + gpu + "}")));
  CHECK(UsesGpu(parse(R"({"ephemeralContainers":)" + gpu + "}")));
  // A DeviceClass defines the resource name (extendedResourceName), so only the claim shows the driver.
  const Pod extended = parse(R"({"containers":[{"name":"c","resources":{"limits":{"example.com/fast":"1"}}}]})",
                             R"(,"extendedResourceClaimStatus":{"resourceClaimName":"p-extended-resources-x"})");
  CHECK_FALSE(UsesGpu(extended));
  CHECK(extended.resource_claims == std::vector<std::string>{"p-extended-resources-x"});
}

struct World {
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  PodFilter filter = gpu_operator::GpuPodFilter(std::make_shared<const ObjectClient>(transport));
  bool Uses(const Pod& pod) {
    const absl::StatusOr<bool> uses = filter({}, pod);
    REQUIRE(uses.ok());
    return *uses;
  }
};

TEST_CASE("the claims of a pod are read in sequence, up to the first claim that holds a GPU") {
  World world;
  CHECK(world.Uses(Running({"nvidia.com/gpu"}, {"a"})));
  Pod finished = Running({}, {"a"});
  finished.phase = PodPhase::kFailed;
  CHECK_FALSE(world.Uses(finished));
  CHECK(world.transport->lines.empty());
  world.transport->Answer(200, Claim("{}"));
  world.transport->Answer(200, Allocated(R"({"driver":"gpu.nvidia.com"})"));
  CHECK(world.Uses(Running({}, {"a", "b", "c"})));
  CHECK(world.transport->lines ==
        std::vector<std::string>{"GET /apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/a",
                                 "GET /apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/b"});
  world.transport->Answer(200, Claim("{}"));
  CHECK_FALSE(world.Uses(Running({}, {"a"})));
}

TEST_CASE("the filter uses the beta API of claims if the server has no newer one") {
  World world;
  world.transport->Answer(404, "404 page not found\n");
  world.transport->Answer(404, "404 page not found\n");
  world.transport->Answer(200, Claim("{}"));
  CHECK_FALSE(world.Uses(Running({}, {"a"})));
  CHECK(world.transport->lines.back() == "GET /apis/resource.k8s.io/v1beta1/namespaces/ns/resourceclaims/a");
}

TEST_CASE("if reading a claim is refused, the claim counts as a GPU claim, but a read that times out is an error") {
  World world;
  world.transport->Answer(403, StatusBody(403, "Forbidden", "no"));
  CHECK(world.Uses(Running({}, {"a"})));
  for (int i = 0; i < 3; ++i) world.transport->Answer(404, StatusBody(404, "NotFound", "no"));
  CHECK(world.Uses(Running({}, {"a"})));
  world.transport->Answer(absl::DeadlineExceededError("late"));
  CHECK(absl::IsDeadlineExceeded(world.filter({}, Running({}, {"a"})).status()));
}

TEST_CASE("without a client, claims are not checked") {
  CHECK_FALSE(*gpu_operator::GpuPodFilter(nullptr)({}, Running({}, {"a"})));
}

}  // namespace
}  // namespace driverupgrade::tests
