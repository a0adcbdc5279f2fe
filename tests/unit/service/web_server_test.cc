#include "service/web_server.h"

#include <string>
#include <thread>

#include "support/catch.h"
#include "support/http_get.h"

namespace driverupgrade::tests {
namespace {

using internal::Page;
using internal::PageRequest;
using internal::ProbePage;
using internal::WebServer;

std::unique_ptr<WebServer> Started(std::map<std::string, internal::PageMaker> pages) {
  auto server = WebServer::Start("127.0.0.1:0", {.by_path = std::move(pages)});
  REQUIRE(server.ok());
  return *std::move(server);
}

TEST_CASE("A probe returns 200 or 503, and any other path returns 404") {
  absl::Status health = absl::OkStatus();
  const auto server = Started({{"/healthz", ProbePage([&] { return health; })}});
  CHECK(HttpGet(server->port(), "/healthz").starts_with("HTTP/1.1 200"));
  CHECK(HttpGet(server->port(), "/healthz").ends_with("\r\n\r\nok\n"));
  health = absl::UnavailableError("the cache is not synced yet");
  const std::string refused = HttpGet(server->port(), "/healthz");
  CHECK(refused.starts_with("HTTP/1.1 503"));
  CHECK(refused.ends_with("the cache is not synced yet\n"));
  CHECK(HttpGet(server->port(), "/nothing").starts_with("HTTP/1.1 404"));
}

TEST_CASE("A page has its own media type") {
  const auto server =
      Started({{"/metrics", [](const PageRequest&) { return Page{.body = "a 1\n", .content_type = "text/x"}; }}});
  const std::string answer = HttpGet(server->port(), "/metrics");
  CHECK(answer.find("Content-Type: text/x\r\n") != std::string::npos);
  CHECK(answer.ends_with("\r\n\r\na 1\n"));
}

TEST_CASE("A client that has the current page gets 304, even if a proxy has weakened the tag") {
  const auto server = Started({{"/x", [](const PageRequest&) { return Page{.body = "text", .etag = "\"1\""}; }}});
  CHECK(HttpGet(server->port(), "/x").find("ETag: \"1\"\r\n") != std::string::npos);
  for (const char* known : {"\"1\"", "W/\"1\""}) {
    const std::string answer = HttpGet(server->port(), "/x", {.header = std::string("If-None-Match: ") + known});
    CHECK(answer.starts_with("HTTP/1.1 304"));
    CHECK(answer.find("text\n") == std::string::npos);
  }
  CHECK(HttpGet(server->port(), "/x", {.header = "If-None-Match: \"2\""}).starts_with("HTTP/1.1 200"));
}

TEST_CASE("A page handler receives the host of the request, and whether the client requests a stream") {
  const auto server = Started({{"/x", [](const PageRequest& request) {
                                  return Page{.body = request.host + (request.watch ? " watch" : " once")};
                                }}});
  CHECK(HttpGet(server->port(), "/x", {.host = "[::1]:8082"}).ends_with("::1 once"));
  CHECK(HttpGet(server->port(), "/x?watch=true", {.host = "evil.example"}).ends_with("evil.example watch"));
}

TEST_CASE("A server can be stopped while clients read a stream") {
  auto server = Started({{"/x", [](const PageRequest&) { return Page{.next = [] { return std::string("piece"); }}; }}});
  std::jthread reader([port = server->port()] { HttpGet(port, "/x"); });
  CHECK(HttpGet(server->port(), "/x", {.until = "piece"}).find("piece") != std::string::npos);
  server.reset();
}

TEST_CASE("A stopped server has released its port, and a running server does not share its port") {
  auto server = Started({});
  const std::string address = "127.0.0.1:" + std::to_string(server->port());
  const auto second = WebServer::Start(address, {});
  CHECK(second.status() == absl::UnavailableError("cannot listen on " + address + ": Address already in use"));
  server.reset();
  CHECK(WebServer::Start(address, {}).ok());
}

TEST_CASE("An invalid address is refused with an error that contains the address") {
  const char* address = GENERATE("", "8080", "localhost", "localhost:", "localhost:http", "localhost:-1",
                                 "localhost:65536", "localhost:80 ", "http://localhost:80", "::1:80", "[]:80");
  CAPTURE(address);
  CHECK(WebServer::Start(address, {}).status() ==
        absl::InvalidArgumentError("`" + std::string(address) + "` is not an address like 0.0.0.0:8081"));
}

TEST_CASE("An address of another host is refused") {
  const auto server = WebServer::Start("192.0.2.1:0", {});
  CHECK(absl::IsUnavailable(server.status()));
}

}  // namespace
}  // namespace driverupgrade::tests
