#include <atomic>
#include <map>
#include <string>
#include <vector>

#include "httplib.h"
#include "support/catch.h"
#include "unit/service/service_world.h"

namespace driverupgrade::tests {
namespace {

// A service whose page is served over the network.
struct SecureWorld : World {
  explicit SecureWorld(ReaderCheck check) {
    ServiceOptions options = Options();
    options.rollout_secure_address = "127.0.0.1:0";
    options.rollout_readers = std::move(check);
    Make(std::move(options));
    Turn();
    for (const std::string& line : log) {
      const std::size_t at = line.find(" port=");
      if (at != std::string::npos) port = std::stoi(line.substr(at + 6));
    }
  }

  httplib::Result Get(const std::string& path, const httplib::Headers& headers = {}) const {
    httplib::SSLClient client("127.0.0.1", port);
    client.enable_server_certificate_verification(false);
    return client.Get(path, headers);
  }

  int port = 0;
};

absl::Status OfGoodToken(const std::string& token) {
  if (token == "good") return absl::OkStatus();
  if (token == "other") return absl::PermissionDeniedError("bob may not get /rollout");
  if (token == "many") return absl::ResourceExhaustedError("too many tokens are being reviewed: try again");
  if (token == "away") return absl::UnavailableError("create TokenReview: connection refused");
  return absl::UnauthenticatedError("no token");
}

TEST_CASE("Over the network, the page and its document require a token for an authorized reader") {
  SecureWorld world(OfGoodToken);
  REQUIRE(world.port > 0);
  for (const std::string path : {"/", "/rollout", "/rollout?watch=true"}) {
    CAPTURE(path);
    const httplib::Result nobody = world.Get(path);
    REQUIRE(nobody);
    CHECK(nobody->status == 401);
    CHECK(nobody->body == "no token\n");
    CHECK(nobody->get_header_value("WWW-Authenticate") == "Bearer");
    const httplib::Result other = world.Get(path, {{"Authorization", "Bearer other"}});
    REQUIRE(other);
    CHECK(other->status == 403);
    CHECK(other->body == "bob may not get /rollout\n");
    const httplib::Result many = world.Get(path, {{"Authorization", "Bearer many"}});
    REQUIRE(many);
    CHECK(many->status == 429);
    CHECK(many->get_header_value("Retry-After") == "1");
    const httplib::Result away = world.Get(path, {{"Authorization", "Bearer away"}});
    REQUIRE(away);
    CHECK(away->status == 503);
  }
  const httplib::Result page = world.Get("/", {{"Authorization", "Bearer good"}});
  REQUIRE(page);
  CHECK(page->status == 200);
  CHECK(page->get_header_value("Content-Security-Policy").starts_with("default-src 'none'"));
  const httplib::Result document = world.Get("/rollout", {{"Authorization", "Bearer good"}});
  REQUIRE(document);
  CHECK(document->status == 200);
  CHECK(document->body.find(R"("kind":"Rollout")") != std::string::npos);
}

TEST_CASE("A stream ends when its reader loses the permission to read the document") {
  std::atomic<bool> may_read = true;
  SecureWorld world([&](const std::string&) {
    return may_read ? absl::OkStatus() : absl::PermissionDeniedError("bob may not get /rollout");
  });
  httplib::SSLClient client("127.0.0.1", world.port);
  client.enable_server_certificate_verification(false);
  std::string text;
  const httplib::Result stream = client.Get("/rollout?watch=true", [&](const char* data, std::size_t size) {
    text.append(data, size);
    may_read = false;
    return true;
  });
  REQUIRE(stream);  // the server has ended the stream
  CHECK(text.find("event: rollout\n") != std::string::npos);
}

TEST_CASE("Requests through the API server's proxy can pass the token in a separate header") {
  SecureWorld world(OfGoodToken);
  const httplib::Result document = world.Get("/rollout", {{"X-Driver-Upgrade-Token", "good"}});
  REQUIRE(document);
  CHECK(document->status == 200);
}

TEST_CASE("The page does not accept writes") {
  SecureWorld world(OfGoodToken);
  httplib::SSLClient client("127.0.0.1", world.port);
  client.enable_server_certificate_verification(false);
  const httplib::Headers reader = {{"Authorization", "Bearer good"}};
  for (const std::string path : {"/", "/rollout"}) {
    for (const auto& answer :
         {client.Post(path, reader, "{}", "application/json"), client.Put(path, reader, "{}", "application/json"),
          client.Patch(path, reader, "{}", "application/json"), client.Delete(path, reader)}) {
      REQUIRE(answer);
      CHECK(answer->status == 404);
    }
  }
}

TEST_CASE("A page that is served over the network needs an authenticator and its own address") {
  World world;
  ServiceOptions unchecked = world.Options();
  unchecked.rollout_secure_address = "127.0.0.1:0";
  CHECK(UpgradeService::Create(world.cluster, world.director, std::move(unchecked)).status() ==
        absl::InvalidArgumentError("the rollout page at a secure address requires a reader check"));
  ServiceOptions shared = world.Options();
  shared.metrics_address = shared.rollout_secure_address = "127.0.0.1:0";
  shared.rollout_readers = OfGoodToken;
  CHECK(UpgradeService::Create(world.cluster, world.director, std::move(shared)).status() ==
        absl::InvalidArgumentError("the rollout page needs its own secure address, but `127.0.0.1:0` serves "
                                   "other pages"));
}

}  // namespace
}  // namespace driverupgrade::tests
