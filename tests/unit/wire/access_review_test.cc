#include <memory>
#include <string>

#include "driverupgrade/kubernetes/object_client.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "support/catch.h"
#include "unit/wire/scripted_transport.h"

namespace driverupgrade {
namespace {

using testing::FakeClock;

constexpr char kAlice[] =
    R"({"status":{"authenticated":true,"user":{"username":"alice","uid":"u-1","groups":["ops","system:authenticated"],)"
    R"("extra":{"scopes":["a","b"]}}}})";

struct World {
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>();
  std::shared_ptr<FakeClock> clock = std::make_shared<FakeClock>();
  AccessReview readers{transport, "/rollout", clock};

  absl::Status Check(const std::string& token) { return readers.Check({}, token); }
  std::size_t requests() const { return transport->requests.size(); }
};

TEST_CASE("a reader has the identity and the permissions that the API server returns") {
  World world;
  world.transport->Answer(201, kAlice);
  world.transport->Answer(201, R"({"status":{"allowed":true}})");
  CHECK(world.Check("t0ken").ok());
  REQUIRE(world.requests() == 2);
  CHECK(world.transport->requests[0].path == "/apis/authentication.k8s.io/v1/tokenreviews");
  CHECK(world.transport->requests[0].body ==
        R"({"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"t0ken"}})");
  CHECK(world.transport->requests[1].path == "/apis/authorization.k8s.io/v1/subjectaccessreviews");
  CHECK(world.transport->requests[1].body ==
        R"({"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"alice","uid":"u-1",)"
        R"("groups":["ops","system:authenticated"],"extra":{"scopes":["a","b"]},)"
        R"("nonResourceAttributes":{"path":"/rollout","verb":"get"}}})");
}

TEST_CASE("a missing token is refused without a request") {
  World world;
  CHECK(world.Check("") == absl::UnauthenticatedError("no token"));
  CHECK(world.requests() == 0);
}

TEST_CASE("an invalid token is distinguished from a reader without permission") {
  World world;
  world.transport->Answer(201, R"({"status":{"authenticated":false,"error":"invalid bearer token"}})");
  CHECK(world.Check("bad") == absl::UnauthenticatedError("the token is not valid"));
  world.transport->Answer(201, kAlice);
  world.transport->Answer(201, R"({"status":{"allowed":false}})");
  CHECK(world.Check("t0ken") == absl::PermissionDeniedError("alice may not get /rollout"));
}

TEST_CASE("each result is cached for a minute, including a refusal") {
  World world;
  world.transport->Answer(201, kAlice);
  world.transport->Answer(201, R"({"status":{"allowed":true}})");
  world.transport->Answer(201, R"({"status":{}})");
  CHECK(world.Check("t0ken").ok());
  CHECK(absl::IsUnauthenticated(world.Check("bad")));
  world.clock->Advance(absl::Seconds(59));
  CHECK(world.Check("t0ken").ok());
  CHECK(absl::IsUnauthenticated(world.Check("bad")));
  CHECK(world.requests() == 3);
  world.clock->Advance(absl::Seconds(1));
  world.transport->Answer(201, R"({"status":{"authenticated":false}})");  // the token has been revoked
  CHECK(absl::IsUnauthenticated(world.Check("t0ken")));
  CHECK(world.requests() == 4);
}

TEST_CASE("a failed review does not count as a result for the token, and is not cached") {
  World world;
  world.transport->Answer(absl::UnavailableError("connection refused"));
  CHECK(world.Check("t0ken") == absl::UnavailableError("create TokenReview: connection refused"));
  world.transport->Answer(403, R"({"kind":"Status","code":403,"reason":"Forbidden","message":"not allowed"})");
  const absl::Status forbidden = world.Check("t0ken");
  CHECK(absl::IsUnavailable(forbidden));
  CHECK_THAT(std::string(forbidden.message()), Catch::Contains("create TokenReview: 403"));
  world.transport->Answer(201, "no JSON");
  CHECK_FALSE(world.Check("t0ken").ok());
  world.transport->Answer(201, kAlice);
  world.transport->Answer(201, R"({"status":{"allowed":true}})");
  CHECK(world.Check("t0ken").ok());
}

TEST_CASE("a client with made-up tokens cannot exhaust the operator's API request quota") {
  World world;
  for (int i = 0; i < 40; ++i) world.transport->Answer(201, R"({"status":{"authenticated":false}})");
  for (int i = 0; i < 100; ++i) {
    const absl::Status status = world.Check("invented-" + std::to_string(i));
    CHECK((i < AccessReview::kReviewsPerSecond ? absl::IsUnauthenticated(status) : absl::IsResourceExhausted(status)));
  }
  CHECK(world.requests() == AccessReview::kReviewsPerSecond);
  world.clock->Advance(absl::Seconds(1));
  CHECK(absl::IsUnauthenticated(world.Check("invented-100")));
}

}  // namespace
}  // namespace driverupgrade
