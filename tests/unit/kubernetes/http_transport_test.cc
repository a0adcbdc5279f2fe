#include "driverupgrade/kubernetes/http_transport.h"

#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <stop_token>
#include <thread>

#include "kubernetes/line_splitter.h"
#include "loopback_server.h"
#include "support/catch.h"
#include "transport_under_test.h"

namespace driverupgrade {
namespace {

using namespace testing_support;  // NOLINT: the test's own helpers.
using std::chrono::steady_clock;

bool AnswerOk(Connection& connection, const std::string&) { return connection.Answer(200, "{}"); }

absl::Duration Elapsed(steady_clock::time_point since) { return absl::FromChrono(steady_clock::now() - since); }

// Sends requests until one of them reuses a connection. A request that follows immediately may open a new connection,
// because a backend may return a connection to its pool only after it has delivered the response.
bool UsesConnectionAgain(HttpTransport& transport, const LoopbackServer& server) {
  for (int i = 0; i < 1000; ++i) {
    const int before = server.connections();
    if (!transport.Send(Patiently(), Get("/again")).ok()) return false;
    if (server.connections() == before) return true;
  }
  return false;
}

TEST_CASE("A request target is encoded once, and invalid targets are refused", "[http_transport]") {
  CHECK(*EncodeRequestTarget(Get("/api/v1/nodes")) == "/api/v1/nodes");
  CHECK(*EncodeRequestTarget({.path = "/p", .query = {{"a b", "x=1,y!=(2)"}, {"l", ""}, {"u", "\xc3\xa9~"}}}) ==
        "/p?a%20b=x%3D1%2Cy%21%3D%282%29&l=&u=%C3%A9~");
  for (const char* path : {"", "api", "//host/p", "/a b", "/a?b", "/a#b", "/a\r\nX: y", "/\xc3\xa9", "/a\"b"}) {
    INFO(path);
    const absl::Status status = EncodeRequestTarget(Get(path)).status();
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    CHECK(RequestWasNotSent(status));
  }
  CHECK_FALSE(EncodeRequestTarget({.content_type = "a\r\nX: y"}).ok());
  CHECK_FALSE(EncodeRequestTarget({.headers = {{"X", "y\r\nZ: a"}}}).ok());
  CHECK_FALSE(EncodeRequestTarget({.headers = {{"", "y"}}}).ok());
}

TEST_CASE("Header names are compared without regard to case", "[http_transport]") {
  HttpResponse response{.headers = {{"Retry-After", "7"}}};
  CHECK(response.Header("retry-AFTER") == "7");
  CHECK_FALSE(response.Header("Retry").has_value());
}

TEST_CASE("The not-sent mark is kept when a status is copied, and only errors can be marked", "[http_transport]") {
  const absl::Status marked = MarkRequestNotSent(absl::UnavailableError("x"));
  const absl::Status copy = marked;
  CHECK(RequestWasNotSent(copy));
  CHECK_FALSE(RequestWasNotSent(absl::UnavailableError("x")));
  CHECK_FALSE(RequestWasNotSent(MarkRequestNotSent(absl::OkStatus())));
}

TEST_CASE("Lines are complete regardless of how the input was split", "[http_transport]") {
  const std::string text = "one\n\r\ntwo\r\n\nthree and a long tail\nrest";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    Lines sink;
    LineSplitter splitter(21);
    for (std::size_t at = 0; at < text.size(); at += size) {
      REQUIRE(splitter.Feed(std::string_view(text).substr(at, size), sink) == LineSplitter::Verdict::kMore);
    }
    CHECK(sink.lines == std::vector<std::string>{"one", "two", "three and a long tail"});
  }
  Lines sink;
  CHECK(LineSplitter(3).Feed("abcd\n", sink) == LineSplitter::Verdict::kLineTooLong);
  CHECK(LineSplitter(3).Feed("abcd", sink) == LineSplitter::Verdict::kLineTooLong);
  CHECK(sink.lines.empty());
}

TEST_CASE("The request that is sent matches the call", "[http_transport]") {
  LoopbackServer server(AnswerOk);
  const auto transport = MakeTransport({.server = server.url() + "/prefix/", .token = Secret("t0ken")});
  const absl::StatusOr<HttpResponse> response =
      transport->Send(Patiently(), {.verb = HttpVerb::kPatch,
                                    .path = "/api/v1/nodes/n-1",
                                    .query = {{"labelSelector", "a in (x,y),b!=c+d"}, {"limit", "5"}},
                                    .content_type = "application/merge-patch+json",
                                    .body = R"({"spec":null})",
                                    .headers = {{"X-Reader", "r"}}});
  REQUIRE(response.ok());
  CHECK(response->status == 200);
  CHECK(response->body == "{}");
  REQUIRE(server.requests().size() == 1);
  const std::string request = server.requests()[0];
  CHECK_THAT(request, Catch::StartsWith(
                          "PATCH /prefix/api/v1/nodes/n-1?labelSelector=a%20in%20%28x%2Cy%29%2Cb%21%3Dc%2Bd&limit=5 "
                          "HTTP/1.1\r\n") &&
                          Catch::EndsWith("\r\n\r\n{\"spec\":null}"));
  for (const char* line : {"Authorization: Bearer t0ken", "Content-Type: application/merge-patch+json",
                           "Content-Length: 13", "Accept: application/json", "User-Agent: driverupgrade/", "X-Reader: r"}) {
    CHECK_THAT(WithSpaces(request), Catch::Contains(fmt::format("\r\n{}", line)));
  }
}

TEST_CASE("Every verb reaches the server, with and without a body", "[http_transport]") {
  LoopbackServer server(AnswerOk);
  const auto transport = MakeTransport({.server = server.url()});
  for (HttpVerb verb : {HttpVerb::kGet, HttpVerb::kPost, HttpVerb::kPut, HttpVerb::kPatch, HttpVerb::kDelete}) {
    REQUIRE(transport->Send({}, {.verb = verb, .path = "/x"}).ok());
    if (verb != HttpVerb::kGet) REQUIRE(transport->Send({}, {.verb = verb, .path = "/y", .body = "b"}).ok());
  }
  const std::vector<std::string> requests = server.requests();
  REQUIRE(requests.size() == 9);
  CHECK_THAT(requests[7], Catch::StartsWith("DELETE /x ") && Catch::EndsWith("\r\n\r\n"));
  CHECK_THAT(requests[8], Catch::StartsWith("DELETE /y ") && Catch::EndsWith("\r\n\r\nb"));
  CHECK(UsesConnectionAgain(*transport, server));
}

TEST_CASE("A response with any HTTP status is returned", "[http_transport]") {
  LoopbackServer server([](Connection& connection, const std::string& request) {
    const int status = std::stoi(request.substr(5, 3));
    return connection.Answer(status, status == 204 ? "" : "text", "RETRY-after: 7\r\nX-A: 1\r\nX-A: 2\r\n");
  });
  const auto transport = MakeTransport({.server = server.url()});
  for (int status : {200, 201, 204, 302, 401, 403, 404, 409, 410, 422, 429, 500, 503}) {
    const absl::StatusOr<HttpResponse> response = transport->Send({}, Get(fmt::format("/{}", status)));
    REQUIRE(response.ok());
    CHECK(response->status == status);
    CHECK(response->body == (status == 204 ? "" : "text"));
    CHECK(response->Header("Retry-After") == "7");
    CHECK(response->Header("x-a") == "1, 2");
  }
}

TEST_CASE("A redirect is returned, and the token is not sent elsewhere", "[http_transport]") {
  LoopbackServer thief(AnswerOk);
  LoopbackServer server([&](Connection& connection, const std::string&) {
    return connection.Answer(302, "", fmt::format("Location: {}/\r\n", thief.url()));
  });
  const auto transport = MakeTransport({.server = server.url(), .token = Secret("t0ken")});
  const absl::StatusOr<HttpResponse> response = transport->Send({}, Get("/"));
  REQUIRE(response.ok());
  CHECK(response->status == 302);
  Lines sink;
  CHECK(transport->Stream({}, Get("/"), sink)->status == 302);
  CHECK(thief.connections() == 0);
}

TEST_CASE("A call to a server that does not finish its response ends at the deadline", "[http_transport]") {
  LoopbackServer server([](Connection& connection, const std::string& request) {
    // A steady trickle of bytes does not extend the deadline.
    if (request.starts_with("GET /drip")) {
      connection.Write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
      while (connection.Write("x")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    connection.WaitForClose();
    return false;
  });
  for (const char* path : {"/silent", "/drip"}) {
    for (const bool by_context : {true, false}) {
      INFO(path << (by_context ? ", the caller's deadline" : ", the transport's own"));
      // An attempt counts only if the server has received the request.
      CHECK(WithEnoughTime([&](absl::Duration time) {
        const auto transport =
            MakeTransport({.server = server.url()}, {.request_timeout = by_context ? kPatience : time});
        const std::string target = fmt::format("{}/{}/{}", path, by_context, absl::ToInt64Milliseconds(time));
        const auto begin = steady_clock::now();
        const absl::Status status = transport->Send(by_context ? Within(time) : CallContext{}, Get(target)).status();
        // Only half of the time is required, because the test measures with another clock, which may be adjusted.
        CHECK(Elapsed(begin) > time / 2);
        CHECK(status.code() == absl::StatusCode::kDeadlineExceeded);
        if (!HasSeen(server.requests(), target)) return false;
        CHECK_THAT(Message(status),
                   Catch::StartsWith(fmt::format("GET {}{}: no complete response within ", server.url(), target)));
        CHECK_FALSE(RequestWasNotSent(status));
        return true;
      }));
    }
  }
}

TEST_CASE("A stop request ends a waiting call", "[http_transport]") {
  Event asked;
  LoopbackServer server([&](Connection& connection, const std::string&) {
    asked.Set();
    connection.WaitForClose();
    return false;
  });
  const auto transport = MakeTransport({.server = server.url()});
  std::stop_source stop;
  std::thread stopper([&] {
    asked.Wait();
    stop.request_stop();
  });
  const absl::Status status =
      transport->Send({.deadline = absl::Now() + kPatience, .stop = stop.get_token()}, Get("/x")).status();
  stopper.join();
  CHECK(status.code() == absl::StatusCode::kCancelled);
  CHECK(Message(status) == fmt::format("GET {}/x: stop requested", server.url()));
  CHECK_FALSE(RequestWasNotSent(status));
}

TEST_CASE("A call that is stopped or past its deadline before it starts is not sent", "[http_transport]") {
  LoopbackServer server(AnswerOk);
  const auto transport = MakeTransport({.server = server.url()});
  std::stop_source stop;
  stop.request_stop();
  Lines sink;
  for (const CallContext& context : {CallContext{.stop = stop.get_token()}, Within(-absl::Seconds(1))}) {
    CHECK(RequestWasNotSent(transport->Send(context, Get("/")).status()));
    CHECK(RequestWasNotSent(transport->Stream(context, Get("/"), sink).status()));
  }
  CHECK(RequestWasNotSent(transport->Send({}, Get("/a b")).status()));
  CHECK(server.connections() == 0);
}

TEST_CASE("If the connection is refused, the request counts as not sent", "[http_transport]") {
  LoopbackServer server(AnswerOk);
  server.StopListening();
  const auto transport = MakeTransport({.server = server.url()});
  const absl::Status status = transport->Send({}, Get("/x")).status();
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK_THAT(Message(status), Catch::StartsWith(fmt::format("GET {}/x: cannot connect: ", server.url())) &&
                                  Catch::Contains("refused", Catch::CaseSensitive::No));
  CHECK(RequestWasNotSent(status));
}

TEST_CASE("If the host name does not exist, the request counts as not sent", "[http_transport]") {
  const auto transport = MakeTransport({.server = "https://does-not-exist.invalid", .insecure_skip_tls_verify = true});
  const absl::Status status = transport->Send(Patiently(), Get("/")).status();
  INFO(Message(status));
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK(RequestWasNotSent(status));
}

// cpprestsdk sends the request again on a new connection, which is refused. This refusal does not prove that the first
// attempt was not applied.
TEST_CASE("A request on a connection that breaks may have been applied", "[http_transport]") {
  LoopbackServer* listener = nullptr;
  LoopbackServer server([&](Connection& connection, const std::string& request) {
    if (request.starts_with("GET")) return connection.Answer(200, "{}");
    listener->StopListening();
    return false;
  });
  listener = &server;
  const auto transport = MakeTransport({.server = server.url()});
  REQUIRE(UsesConnectionAgain(*transport, server));
  const absl::Status status = transport->Send({}, {.verb = HttpVerb::kPost, .path = "/x", .body = "b"}).status();
  INFO(Message(status));
  CHECK(status.code() == absl::StatusCode::kUnavailable);
  CHECK_FALSE(RequestWasNotSent(status));
}

// cpprestsdk sends such a write twice. The callers of the transport tolerate the repetition, but should not have to.
TEST_CASE("A write on a closed connection is repeated only by some backends, and never counts as not sent",
          "[http_transport]") {
  std::atomic<int> posts{0};
  LoopbackServer server([&](Connection& connection, const std::string& request) {
    if (request.starts_with("GET")) return connection.Answer(200, "{}");
    return ++posts > 1 && connection.Answer(201, "{}");
  });
  const auto transport = MakeTransport({.server = server.url()});
  REQUIRE(UsesConnectionAgain(*transport, server));
  const absl::StatusOr<HttpResponse> response =
      transport->Send(Patiently(), {.verb = HttpVerb::kPost, .path = "/x", .body = "b"});
  CHECK_FALSE(RequestWasNotSent(response.status()));
  if (!kBackend.sends_writes_once) return;
  CHECK(response.status().code() == absl::StatusCode::kUnavailable);
  CHECK(posts == 1);
}

TEST_CASE("Many threads can share one transport", "[http_transport]") {
  LoopbackServer server([](Connection& connection, const std::string& request) {
    return connection.Answer(200, request.substr(4, request.find(' ', 4) - 4) + std::string(50'000, 'x'));
  });
  const auto transport = MakeTransport({.server = server.url()});
  std::atomic<int> good{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 32; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < 5; ++j) {
        const std::string path = fmt::format("/{}/{}", i, j);
        const absl::StatusOr<HttpResponse> response = transport->Send(Patiently(), Get(path));
        if (response.ok() && response->body == path + std::string(50'000, 'x')) ++good;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(good == 160);
}

TEST_CASE("A configuration that cannot work is refused when the transport is created", "[http_transport]") {
  struct Row {
    const char* name;
    KubeConfig config;
    TransportOptions options;
    absl::StatusCode code;
  };
  using Code = absl::StatusCode;
  for (const Row& row : {
           Row{"no server", {}, {}, Code::kInvalidArgument},
           Row{"token over http", {.server = "http://example.com", .token = Secret("t")}, {}, Code::kInvalidArgument},
           Row{"line end in token",
               {.server = "http://127.0.0.1", .token = Secret("a\r\nX: y")},
               {},
               Code::kInvalidArgument},
           Row{"no token file", {.server = "http://127.0.0.1", .token_file = "/no/such"}, {}, Code::kUnauthenticated},
           Row{"no CA", {.server = "https://127.0.0.1"}, {}, Code::kFailedPrecondition},
           Row{"CA is no PEM", {.server = "https://127.0.0.1", .ca_pem = "x"}, {}, Code::kInvalidArgument},
           Row{"socks", {.server = "http://127.0.0.1", .proxy_url = "socks5://p"}, {}, Code::kUnimplemented},
           Row{"proxy user", {.server = "http://127.0.0.1", .proxy_url = "http://u:p@p"}, {}, Code::kUnimplemented},
           Row{"no time",
               {.server = "http://127.0.0.1"},
               {.request_timeout = absl::ZeroDuration()},
               Code::kInvalidArgument},
           Row{"user agent", {.server = "http://127.0.0.1"}, {.user_agent = "a\r\nX: y"}, Code::kInvalidArgument},
       }) {
    INFO(row.name);
    CHECK(TryMakeTransport(row.config, row.options).status().code() == row.code);
  }
}

TEST_CASE("An IPv6 literal is accepted as the server's address if the backend supports it", "[http_transport]") {
  const absl::Status status =
      TryMakeTransport({.server = "https://[::1]:6443", .insecure_skip_tls_verify = true}).status();
  CHECK(status.code() == (kBackend.takes_ipv6_literals ? absl::StatusCode::kOk : absl::StatusCode::kUnimplemented));
}

TEST_CASE("A proxy in the environment is ignored", "[http_transport]") {
  LoopbackServer thief(AnswerOk);
  LoopbackServer server(AnswerOk);
  const char* const names[] = {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"};
  for (const char* name : names) setenv(name, thief.url().c_str(), 1);
  const auto transport = MakeTransport({.server = server.url(), .token = Secret("t0ken")});
  CHECK(transport->Send(Patiently(), Get("/")).ok());
  for (const char* name : names) unsetenv(name);
  CHECK(server.requests().size() == 1);
  CHECK(thief.connections() == 0);
}

TEST_CASE("A configured proxy is used, regardless of exceptions in the environment", "[http_transport]") {
  setenv("no_proxy", "*", 1);
  LoopbackServer proxy(AnswerOk);
  const auto transport = MakeTransport({.server = "http://127.0.0.1:1", .proxy_url = proxy.url()});
  REQUIRE(transport->Send(Patiently(), Get("/x")).ok());
  unsetenv("no_proxy");
  CHECK_THAT(proxy.requests()[0], Catch::StartsWith("GET http://127.0.0.1:1/x "));
}

}  // namespace
}  // namespace driverupgrade
