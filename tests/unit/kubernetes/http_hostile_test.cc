// Tests how a transport handles servers that close connections early, send garbage, or never stop sending.
#include <fmt/format.h>

#include "driverupgrade/kubernetes/http_transport.h"
#include "loopback_server.h"
#include "support/catch.h"
#include "transport_under_test.h"

namespace driverupgrade {
namespace {

using namespace testing_support;  // NOLINT: the test's own helpers.

constexpr char kChunked[] = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

TEST_CASE("A broken or malformed response causes an error, and is never returned in part", "[http_hostile]") {
  struct Row {
    const char *path, *bytes, *message;
  };
  constexpr Row kRows[] = {
      {"/nothing", "", "connection lost before the response"},
      {"/head", "HTTP/1.1 200 OK\r\nContent-Le", "connection lost before the response"},
      {"/body", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "connection lost in the middle of the response"},
      {"/chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
       "connection lost in the middle of the response"},
      {"/no-last-chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n",
       "connection lost in the middle of the response"},
      {"/negative", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\nabcdef\r\n0\r\n\r\n", ""},
      {"/chunk-size", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nab\r\n", "the response is not HTTP"},
      {"/ssh", "SSH-2.0-OpenSSH\r\n\r\n", "the response is not HTTP"},
  };
  LoopbackServer server([&](Connection& connection, const std::string& request) {
    for (const Row& row : kRows) {
      if (request.find(fmt::format(" {} ", row.path)) != std::string::npos) connection.Write(row.bytes);
    }
    return false;
  });
  const auto transport = MakeTransport({.server = server.url()});
  for (const Row& row : kRows) {
    INFO(row.path);
    const absl::StatusOr<HttpResponse> response = transport->Send(Patiently(), Get(row.path));
    REQUIRE_FALSE(response.ok());
    CHECK(response.status().code() == absl::StatusCode::kUnavailable);
    CHECK_FALSE(RequestWasNotSent(response.status()));
    CHECK_THAT(Message(response.status()), Catch::Contains(row.message));
  }
}

TEST_CASE("A body over the limit is refused", "[http_hostile]") {
  LoopbackServer server([](Connection& connection, const std::string& request) {
    if (request.starts_with("GET /chunked")) {
      connection.Write(kChunked);
      for (int i = 0; i < 11; ++i) connection.WriteChunk(std::string(1000, 'x'));
      return connection.WriteChunk("");
    }
    return connection.Answer(200, std::string(request.starts_with("GET /fits") ? 10'000 : 10'001, 'x'));
  });
  const auto transport = MakeTransport({.server = server.url()}, {.body_size_max = 10'000});
  CHECK(transport->Send({}, Get("/fits"))->body.size() == 10'000);
  for (const char* path : {"/long", "/chunked"}) {
    const absl::Status status = transport->Send(Patiently(), Get(path)).status();
    CHECK(status.code() == absl::StatusCode::kOutOfRange);
    CHECK_THAT(Message(status), Catch::EndsWith(": response body longer than 10000 bytes"));
  }
  CHECK(transport->Send({}, Get("/fits")).ok());
}

TEST_CASE("Headers over the limit are refused", "[http_hostile]") {
  LoopbackServer server([](Connection& connection, const std::string& request) {
    std::string headers = fmt::format("X-A: {}\r\n", std::string(900, 'a'));
    if (request.starts_with("GET /many")) {
      for (int i = 0; i < 40; ++i) headers += fmt::format("X-{}: abcdefghij\r\n", i);
    }
    if (request.starts_with("GET /long")) headers = fmt::format("X-A: {}\r\n", std::string(300'000, 'a'));
    return connection.Answer(200, "{}", headers);
  });
  const auto transport = MakeTransport({.server = server.url()}, {.header_size_max = 1000});
  CHECK(transport->Send({}, Get("/fits")).ok());
  for (const char* path : {"/many", "/long"}) {
    Lines sink;
    for (const absl::Status& status :
         {transport->Send(Patiently(), Get(path)).status(), transport->Stream(Patiently(), Get(path), sink).status()}) {
      CHECK(status.code() == absl::StatusCode::kOutOfRange);
      CHECK_THAT(Message(status), Catch::EndsWith(": headers longer than 1000 bytes"));
    }
    CHECK(sink.statuses.empty());
  }
  CHECK(transport->Send({}, Get("/fits")).ok());
}

TEST_CASE(
    "A server that sends interim responses indefinitely does not block a caller beyond the "
    "deadline",
    "[http_hostile]") {
  LoopbackServer server([](Connection& connection, const std::string& request) {
    if (request.starts_with("GET /fits")) return connection.Answer(200, "{}");
    while (connection.Write("HTTP/1.1 100 Continue\r\n\r\n")) {
    }
    return false;
  });
  const auto transport = MakeTransport({.server = server.url()}, {.header_size_max = 1000});
  Lines sink;
  for (const bool streams : {false, true}) {
    CHECK(WithEnoughTime([&](absl::Duration time) {
      const std::string target = fmt::format("/{}/{}", streams, absl::ToInt64Milliseconds(time));
      const absl::Status status = streams ? transport->Stream(Within(time), Get(target), sink).status()
                                          : transport->Send(Within(time), Get(target)).status();
      INFO(Message(status));
      CHECK((absl::IsDeadlineExceeded(status) || absl::IsOutOfRange(status) || absl::IsUnavailable(status)));
      if (!HasSeen(server.requests(), target)) return false;
      CHECK_FALSE(RequestWasNotSent(status));
      return true;
    }));
  }
  CHECK(transport->Send(Patiently(), Get("/fits")).ok());
}

// cpprestsdk treats an interim response as the final response. The bytes that follow must not be mistaken for the
// response to another request.
TEST_CASE(
    "An interim response is skipped or causes an error, and later requests still get their own "
    "responses",
    "[http_hostile]") {
  LoopbackServer server([](Connection& connection, const std::string& request) {
    if (request.starts_with("GET /interim")) connection.Write("HTTP/1.1 102 Processing\r\n\r\n");
    return connection.Answer(200, request.substr(4, request.find(' ', 4) - 4));
  });
  const auto transport = MakeTransport({.server = server.url()});
  CHECK(transport->Send(Patiently(), Get("/before"))->body == "/before");
  const absl::StatusOr<HttpResponse> interim = transport->Send(Patiently(), Get("/interim"));
  if (interim.ok()) {
    CHECK(interim->body == "/interim");
  } else {
    CHECK(absl::IsUnavailable(interim.status()));
    CHECK_FALSE(RequestWasNotSent(interim.status()));
  }
  for (int i = 0; i < 3; ++i) CHECK(transport->Send(Patiently(), Get("/after"))->body == "/after");
}

TEST_CASE("If a server never starts the TLS handshake, the request counts as not sent", "[http_hostile]") {
  LoopbackServer mute([](Connection& connection, const std::string&) {
    connection.WaitForClose();
    return false;
  });
  const auto transport =
      MakeTransport({.server = fmt::format("https://127.0.0.1:{}", mute.port()), .insecure_skip_tls_verify = true});
  Lines sink;
  for (const absl::Status& status : {transport->Send(Within(absl::Milliseconds(100)), Get("/")).status(),
                                     transport->Stream(Within(absl::Milliseconds(100)), Get("/"), sink).status()}) {
    CHECK(status.code() == absl::StatusCode::kDeadlineExceeded);
    if (kBackend.knows_what_was_sent) CHECK(RequestWasNotSent(status));
  }
  CHECK(mute.requests().empty());
}

}  // namespace
}  // namespace driverupgrade
