#include "driver_manager/lookups.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "support/catch.h"
#include "unit/wire/scripted_transport.h"

namespace driver_manager {
namespace {

using driverupgrade::CallContext;
using driverupgrade::ObjectClient;
using driverupgrade::ScriptedTransport;
using driverupgrade::StatusBody;
using Lines = std::vector<std::string>;

struct Server {
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  Lookups lookups = MakeLookups(std::make_shared<const ObjectClient>(transport));
  absl::StatusOr<bool> IsGpuClaim() { return lookups.is_gpu_claim(CallContext(), "team-b", "claim-1"); }
  void AnswerNotFound() { transport->Answer(404, StatusBody(404, "NotFound", "not found")); }
};

std::string Claim(const std::string& status) {
  return R"({"kind":"ResourceClaim","metadata":{"name":"claim-1","namespace":"team-b","uid":"u"},"status":)" + status +
         "}";
}

TEST_CASE("a claim holds a GPU if a device of the GPU driver is allocated to it") {
  Server server;
  SECTION("the GPU driver") {
    server.transport->Answer(
        200,
        Claim(
            R"({"allocation":{"devices":{"results":[{"driver":"nic.example.com"},{"driver":"gpu.nvidia.com","adminAccess":true}]}}})"));
    CHECK(*server.IsGpuClaim());
  }
  SECTION("another driver") {
    server.transport->Answer(200, Claim(R"({"allocation":{"devices":{"results":[{"driver":"nic.example.com"}]}}})"));
    CHECK_FALSE(*server.IsGpuClaim());
  }
  SECTION("nothing is allocated yet") {
    server.transport->Answer(200, Claim("{}"));
    CHECK_FALSE(*server.IsGpuClaim());
  }
  CHECK(server.transport->lines == Lines{"GET /apis/resource.k8s.io/v1/namespaces/team-b/resourceclaims/claim-1"});
}

TEST_CASE("claims are read in an older API version if the cluster serves no newer one") {
  Server server;
  server.AnswerNotFound();
  server.AnswerNotFound();
  server.transport->Answer(200, Claim(R"({"allocation":{"devices":{"results":[{"driver":"gpu.nvidia.com"}]}}})"));
  CHECK(*server.IsGpuClaim());
  CHECK(server.transport->lines.back() == "GET /apis/resource.k8s.io/v1beta1/namespaces/team-b/resourceclaims/claim-1");
}

TEST_CASE("a deleted claim does not count, and a forbidden read of a claim is an error") {
  Server server;
  SECTION("deleted") {
    for (int i = 0; i < 3; ++i) server.AnswerNotFound();
    CHECK_FALSE(*server.IsGpuClaim());
  }
  SECTION("forbidden") {
    server.transport->Answer(403, StatusBody(403, "Forbidden", "no"));
    CHECK(absl::IsPermissionDenied(server.IsGpuClaim().status()));
  }
}

TEST_CASE("the DaemonSets that select nodes by a label are found") {
  Server server;
  const auto item = [](const std::string& uid, const std::string& selector) {
    return R"({"metadata":{"name":")" + uid + R"(","namespace":"n","uid":")" + uid +
           R"("},"spec":{"template":{"spec":{"nodeSelector":)" + selector + "}}}}";
  };
  server.transport->Answer(
      200, R"({"kind":"DaemonSetList","apiVersion":"apps/v1","metadata":{"resourceVersion":"7"},"items":[)" +
               item("u-1", R"({"nvidia.com/gpu.deploy.client":"true"})") + "," + item("u-2", "{}") + "," +
               item("u-3", R"({"nvidia.com/gpu.deploy.client":"x","a":"b"})") + "]}");
  CHECK(*server.lookups.daemon_sets_selecting(CallContext(), "nvidia.com/gpu.deploy.client") ==
        std::set<std::string>{"u-1", "u-3"});
}

}  // namespace
}  // namespace driver_manager
