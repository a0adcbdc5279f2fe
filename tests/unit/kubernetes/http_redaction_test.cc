// Tests a transport whose server echoes one of our credentials. The credential must appear neither in text that leaves
// the transport nor in anything that is derived from such text.
#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "kubernetes/redactor.h"
#include "loopback_server.h"
#include "support/catch.h"
#include "temporary_file.h"
#include "transport_under_test.h"

namespace driverupgrade {
namespace {

using namespace testing_support;  // NOLINT: the test's own helpers.

constexpr char kToken[] = "eyJhbGciOi.JSUzI1-NiIs_InR5";

// Returns the value of the request's Authorization header.
std::string AuthorizationIn(const std::string& request) {
  const std::string spaced = WithSpaces(request);
  const std::size_t at = spaced.find("Authorization: ") + 15;
  return spaced.substr(at, spaced.find("\r\n", at) - at);
}

std::string FailureBody(int code, const std::string& message) {
  return fmt::format(R"({{"kind":"Status","apiVersion":"v1","status":"Failure","message":"{}","code":{}}})", message,
                     code);
}

class IgnoringSink final : public WatchSink<Node> {
 public:
  bool OnList(std::vector<Node>, std::string_view) override { return true; }
  bool OnChange(Node, std::string_view) override { return true; }
  bool OnDelete(Node, std::string_view) override { return true; }
  bool OnBookmark(std::string_view) override { return true; }
};

TEST_CASE("A token that the server echoes does not appear in an error", "[http_redaction]") {
  struct Row {
    const char* name;
    std::function<bool(Connection&, const std::string& authorization)> answer;
  };
  for (const Row& row : {
           Row{"in a Status of 401",
               [](Connection&c, const std::string&a) { return c.Answer(401, FailureBody(401, "no user for " + a)); }},
           Row{"in a Status of 403",
               [](Connection&c, const std::string&a) { return c.Answer(403, FailureBody(403, a + " may not get")); }},
           Row{"in a Status of 500",
               [](Connection&c, const std::string&a) { return c.Answer(500, FailureBody(500, "panic: " + a)); }},
           Row{"in a page that is no JSON",
               [](Connection&c, const std::string&a) { return c.Answer(502, "<html>your " + a + "</html>"); }},
           Row{"in the reason",
               [](Connection&c, const std::string&a) {
                 return c.Answer(500, fmt::format(R"({{"kind":"Status","reason":"{}"}})", a));
               }},
           Row{"in an object that is none",
               [](Connection&c, const std::string&a) {
                 return c.Answer(200, fmt::format(R"({{"kind":"{0}","metadata":{{"name":["{0}"]}}}})", a));
               }},
           Row{"in a page that says 200",
               [](Connection&c, const std::string&a) { return c.Answer(200, "hello " + a + "\n"); }},
           Row{"instead of an answer",
               [](Connection&c, const std::string&a) {
                 c.Write(a + "\r\n\r\n");
                 return false;
               }},
       }) {
    INFO(row.name);
    LoopbackServer server([&](Connection& connection, const std::string& request) {
      return row.answer(connection, AuthorizationIn(request));
    });
    const auto cluster = MakeRestCluster(MakeTransport({.server = server.url(), .token = Secret(kToken)}));
    IgnoringSink sink;
    for (const absl::Status& status :
         {cluster->GetNode(Patiently(), {.name = "gpu-1"}).status(), cluster->ListNodes(Patiently(), {}).status(),
          cluster->WatchNodes(Patiently(), {.resource_version = "7"}, sink)}) {
      INFO(Message(status));
      CHECK_THAT(status.ToString(), !Catch::Contains(kToken));
    }
    CHECK_FALSE(cluster->GetNode(Patiently(), {.name = "gpu-1"}).ok());
    REQUIRE_FALSE(server.requests().empty());
    CHECK(AuthorizationIn(server.requests()[0]) == fmt::format("Bearer {}", kToken));
  }
}

TEST_CASE("The text around a redacted token is kept", "[http_redaction]") {
  LoopbackServer server([](Connection& connection, const std::string& request) {
    return connection.Answer(403, FailureBody(403, "who is " + AuthorizationIn(request) + "?"), "Retry-After: 3\r\n");
  });
  const auto cluster = MakeRestCluster(MakeTransport({.server = server.url(), .token = Secret(kToken)}));
  const absl::Status status = cluster->GetNode(Patiently(), {.name = "gpu-1"}).status();
  CHECK(Message(status) == "get node gpu-1: 403 Forbidden: who is Bearer [redacted]?");
  CHECK(RetryAfter(status) == absl::Seconds(3));
}

TEST_CASE("A token does not appear in any header that is passed on", "[http_redaction]") {
  LoopbackServer server([](Connection& connection, const std::string& request) {
    const std::string header = fmt::format("Warning: 299 - \"{}\"\r\n", AuthorizationIn(request));
    return connection.Answer(request.starts_with("GET /good") ? 200 : 429, "x\n", header);
  });
  const auto transport = MakeTransport({.server = server.url(), .token = Secret(kToken)});
  struct HeadSink final : public LineSink {
    void OnOpen(const HttpResponse& head) override { warning = std::string(head.Header("Warning").value_or("")); }
    bool OnLine(std::string_view) override { return true; }
    std::string warning;
  } sink;
  const std::string struck = "299 - \"Bearer [redacted]\"";
  for (const char* path : {"/good", "/bad"}) {
    CHECK(transport->Send(Patiently(), Get(path))->Header("Warning") == struck);
    CHECK(transport->Stream(Patiently(), Get(path), sink)->Header("Warning") == struck);
  }
  CHECK(sink.warning == struck);
}

TEST_CASE("A token does not appear in the lines of a watch, and therefore not in its errors", "[http_redaction]") {
  LoopbackServer server([](Connection& connection, const std::string& request) {
    const std::string line =
        fmt::format(R"({{"type":"ERROR","object":{}}})", FailureBody(500, "lost " + AuthorizationIn(request)));
    // The token is split between two chunks.
    const std::size_t middle = line.find(kToken) + 5;
    connection.Write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    connection.WriteChunk(line.substr(0, middle));
    connection.WriteChunk(line.substr(middle) + "\n");
    return connection.WriteChunk("");
  });
  const auto cluster = MakeRestCluster(MakeTransport({.server = server.url(), .token = Secret(kToken)}));
  IgnoringSink sink;
  const absl::Status status = cluster->WatchNodes(Patiently(), {.resource_version = "7"}, sink);
  CHECK_THAT(Message(status), Catch::Contains("lost Bearer [redacted]") && !Catch::Contains(kToken));
}

TEST_CASE("Tokens that were sent earlier are redacted like the current one", "[http_redaction]") {
  const TemporaryFile file("the-first-token");
  LoopbackServer server([](Connection& connection, const std::string& request) {
    if (AuthorizationIn(request) == "Bearer the-first-token") return connection.Answer(401, "");
    return connection.Answer(500, "not the-first-token, but the-second-token");
  });
  const auto transport = MakeTransport({.server = server.url(), .token_file = file.path()});
  file.Write("the-second-token");  // The transport reads the file again after the 401.
  const absl::StatusOr<HttpResponse> response = transport->Send(Patiently(), Get("/"));
  REQUIRE(response.ok());
  CHECK(server.requests().size() == 2);
  CHECK(response->body == "not [redacted], but [redacted]");
}

TEST_CASE("A token from a credential plugin is redacted", "[http_redaction]") {
  LoopbackServer server([](Connection& connection, const std::string& request) {
    return connection.Answer(403, "I know you, " + AuthorizationIn(request));
  });
  const ExecPlugin plugin{
      .api_version = "client.authentication.k8s.io/v1",
      .command = "/bin/sh",
      .args = {"-c", R"(echo '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential",)"
                     R"("status":{"token":"made-by-a-plugin"}}')"}};
  const auto transport = MakeTransport({.server = server.url(), .exec = plugin}, {.exec_timeout = kPatience});
  const absl::StatusOr<HttpResponse> response = transport->Send(Patiently(), Get("/"));
  REQUIRE(response.ok());
  CHECK(response->body == "I know you, Bearer [redacted]");
}

std::string StruckFrom(const std::string& token, std::string text) {
  Redactor redactor{Secret()};
  redactor.Remember(Secret(token));
  redactor.Strike(text);
  return text;
}

TEST_CASE("A token is recognized in every spelling that a server may use", "[http_redaction]") {
  const std::string token = R"(a+b/c="d\e<f>&g)";
  CHECK(StruckFrom(token, "x " + token + " y " + token) == "x [redacted] y [redacted]");
  CHECK(StruckFrom(token, "?t=a%2Bb%2Fc%3D%22d%5Ce%3Cf%3E%26g&u") == "?t=[redacted]&u");
  CHECK(StruckFrom(token, "?t=a%2bb%2fc%3d%22d%5ce%3cf%3e%26g&u") == "?t=[redacted]&u");
  CHECK(StruckFrom(token, R"("a+b/c=\"d\\e<f>&g")") == R"("[redacted]")");
  CHECK(StruckFrom(token, R"("a+b/c=\"d\\e\u003cf\u003e\u0026g")") == R"("[redacted]")");
  CHECK(StruckFrom(token, R"("a+b\/c=\"d\\e<f>&g")") == R"("[redacted]")");
  // The Base64 characters at both ends of the token also depend on the surrounding text, and need not be redacted.
  for (const char* before : {"", "u:", "Bearer ", "user:"}) {
    const std::string text = before + token + " and";
    for (const std::string& encoded : {absl::Base64Escape(text), absl::WebSafeBase64Escape(text)}) {
      INFO(before << " " << encoded);
      CHECK_THAT(StruckFrom(token, encoded), Catch::Contains("[redacted]"));
      CHECK(StruckFrom(token, encoded).size() < encoded.size());
    }
  }
}

TEST_CASE("A token that could be a word is redacted only if it is used as a token", "[http_redaction]") {
  CHECK(StruckFrom("node", "no node is a node for Bearer node.") == "no node is a node for [redacted].");
  CHECK(StruckFrom("node", "Bearer%20node") == "[redacted]");
  CHECK(StruckFrom("1234567", "1234567") == "1234567");
  CHECK(StruckFrom("12345678", "12345678") == "[redacted]");
  CHECK(StruckFrom("", "nothing is secret") == "nothing is secret");
}

TEST_CASE("The last eight tokens that were sent are redacted, the longest first", "[http_redaction]") {
  Redactor redactor{Secret()};
  for (int i = 0; i < 9; ++i) redactor.Remember(Secret(fmt::format("token-number-{}", i)));
  redactor.Remember(Secret("token-number-1"));  // This token is remembered again, so it is now the newest token.
  redactor.Remember(Secret("token-number-1-and-more"));
  std::string text = "token-number-0 token-number-1 token-number-2 token-number-3 token-number-1-and-more";
  redactor.Strike(text);
  CHECK(text == "token-number-0 [redacted] token-number-2 [redacted] [redacted]");
}

TEST_CASE("The lines of a client key are redacted, however they are joined", "[http_redaction]") {
  const std::string pem = MakeIdentity({.common_name = "operator"}).key;
  const Redactor redactor{Secret(pem)};
  std::string in_json = pem;
  for (std::size_t at = 0; (at = in_json.find('\n', at)) != std::string::npos; at += 2) in_json.replace(at, 1, "\\n");
  for (std::string text : {pem, in_json}) {
    redactor.Strike(text);
    CHECK_THAT(text, Catch::StartsWith("-----BEGIN") && Catch::Contains("[redacted]"));
    CHECK(text.size() < pem.size());
    CHECK_FALSE(redactor.Struck(text).has_value());
  }
}

TEST_CASE("A status keeps its code and its not-sent mark when a secret is redacted from it", "[http_redaction]") {
  Redactor redactor{Secret()};
  redactor.Remember(Secret(kToken));
  const absl::Status struck = redactor.Strike(MarkRequestNotSent(absl::UnavailableError(fmt::format("x {}", kToken))));
  CHECK(absl::IsUnavailable(struck));
  CHECK(Message(struck) == "x [redacted]");
  CHECK(RequestWasNotSent(struck));
  CHECK(redactor.Strike(absl::OkStatus()).ok());
}

}  // namespace
}  // namespace driverupgrade
