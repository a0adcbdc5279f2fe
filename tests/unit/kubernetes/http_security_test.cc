// Tests how an HttpTransport uses TLS and tokens.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "driverupgrade/kubernetes/http_transport.h"
#include "kubernetes/token_source.h"
#include "loopback_server.h"
#include "support/catch.h"
#include "temporary_file.h"
#include "transport_under_test.h"

namespace driverupgrade {
namespace {

using namespace testing_support;  // NOLINT: the test's own helpers.

constexpr char kLocal[] = "IP:127.0.0.1";

bool AnswerOk(Connection& connection, const std::string&) { return connection.Answer(200, "{}"); }

const Identity& Authority() {
  static const Identity authority = MakeIdentity({.common_name = "cluster CA", .is_authority = true});
  return authority;
}

Identity ServerIdentity(const std::string& names = kLocal) {
  return MakeIdentity({.common_name = "server", .alternative_names = names}, &Authority());
}

TEST_CASE("A server whose certificate is signed by the cluster's CA is accepted", "[http_security]") {
  LoopbackServer server(AnswerOk, TlsServerOptions{.identity = ServerIdentity()});
  const Identity other = MakeIdentity({.common_name = "old CA", .is_authority = true});
  // While the cluster's CA is being rotated, the bundle contains several CA certificates.
  const auto transport = MakeTransport(
      {.server = server.url(), .ca_pem = other.certificate + Authority().certificate, .token = Secret("t0ken")});
  REQUIRE(transport->Send(Patiently(), Get("/")).ok());
  CHECK_THAT(WithSpaces(server.requests()[0]), Catch::Contains("Authorization: Bearer t0ken"));
}

TEST_CASE("A server receives requests only if it can be verified", "[http_security]") {
  struct Row {
    const char* name;
    Identity identity;
    KubeConfig config;
    const char* reason;
  };
  const Identity foreign = MakeIdentity({.common_name = "foreign CA", .is_authority = true});
  const std::string& ca = Authority().certificate;
  const Row rows[] = {
      {"another authority",
       ServerIdentity(),
       {.ca_pem = foreign.certificate},
       "unable to get local issuer certificate"},
      {"self-signed", MakeIdentity({.alternative_names = kLocal}), {.ca_pem = ca}, "self-signed certificate"},
      {"another address", ServerIdentity("IP:127.0.0.2"), {.ca_pem = ca}, "IP address mismatch"},
      {"another name",
       ServerIdentity("DNS:kubernetes.default"),
       {.ca_pem = ca, .tls_server_name = "kubernetes"},
       "hostname mismatch"},
      {"a common name is no name",
       MakeIdentity({.common_name = "127.0.0.1"}, &Authority()),
       {.ca_pem = ca},
       "IP address mismatch"},
      {"expired",
       MakeIdentity({.alternative_names = kLocal, .valid_until = -60}, &Authority()),
       {.ca_pem = ca},
       "certificate has expired"},
      {"not valid yet",
       MakeIdentity({.alternative_names = kLocal, .valid_from = 600}, &Authority()),
       {.ca_pem = ca},
       "certificate is not yet valid"},
      {"not a server's",
       MakeIdentity({.alternative_names = kLocal, .is_authority = false}, &foreign),
       {.ca_pem = ca},
       "unable to get local issuer certificate"},
  };
  for (const Row& row : rows) {
    INFO(row.name);
    LoopbackServer server(AnswerOk, TlsServerOptions{.identity = row.identity});
    KubeConfig config = row.config;
    config.server = server.url();
    config.token = Secret("t0ken");
    const auto transport = MakeTransport(config);
    Lines sink;
    for (const absl::Status& status :
         {transport->Send(Patiently(), Get("/x")).status(), transport->Stream(Patiently(), Get("/x"), sink).status()}) {
      CHECK(status.code() == absl::StatusCode::kUnauthenticated);
      CHECK(RequestWasNotSent(status));
      CHECK_THAT(Message(status),
                 Catch::StartsWith(fmt::format("GET {}/x: server certificate refused: {}", server.url(), row.reason)));
    }
    CHECK(server.requests().empty());
  }
}

TEST_CASE("The system's CA certificates are trusted only if trust_system_roots is set", "[http_security]") {
  const TemporaryFile system_roots(Authority().certificate);
  setenv("SSL_CERT_FILE", system_roots.path().c_str(), 1);
  LoopbackServer server(AnswerOk, TlsServerOptions{.identity = ServerIdentity()});
  const Identity foreign = MakeIdentity({.common_name = "foreign CA", .is_authority = true});
  const auto transport = MakeTransport({.server = server.url(), .ca_pem = foreign.certificate});
  CHECK(transport->Send(Patiently(), Get("/")).status().code() == absl::StatusCode::kUnauthenticated);
  const auto trusting = MakeTransport({.server = server.url()}, {.trust_system_roots = true});
  CHECK(trusting->Send(Patiently(), Get("/")).ok());
  unsetenv("SSL_CERT_FILE");
}

TEST_CASE("tls-server-name replaces the host name that is verified", "[http_security]") {
  LoopbackServer server(AnswerOk, TlsServerOptions{.identity = ServerIdentity("DNS:kubernetes")});
  const auto transport =
      MakeTransport({.server = server.url(), .ca_pem = Authority().certificate, .tls_server_name = "kubernetes"});
  CHECK(transport->Send(Patiently(), Get("/")).ok());
  const auto insecure = MakeTransport({.server = server.url(), .insecure_skip_tls_verify = true});
  CHECK(insecure->Send(Patiently(), Get("/")).ok());
}

TEST_CASE("A server that uses an old TLS version, or no TLS, is refused", "[http_security]") {
  LoopbackServer old(AnswerOk, TlsServerOptions{.identity = ServerIdentity(), .version_max = TLS1_1_VERSION});
  LoopbackServer plain(AnswerOk);
  const std::string plain_as_https = fmt::format("https://127.0.0.1:{}", plain.port());
  for (const std::string& url : {old.url(), plain_as_https}) {
    const auto transport = MakeTransport({.server = url, .ca_pem = Authority().certificate, .token = Secret("t0ken")});
    const absl::Status status =
        transport->Send(Within(url == old.url() ? kPatience : absl::Milliseconds(300)), Get("/")).status();
    INFO(Message(status));
    CHECK_FALSE(status.ok());
    if (url == old.url()) {
      CHECK(status.code() == absl::StatusCode::kUnauthenticated);
      CHECK(RequestWasNotSent(status));
    }
  }
  CHECK(old.requests().empty());
  CHECK(plain.requests().empty());
}

TEST_CASE("A client certificate is sent, and its refusal is reported as Unauthenticated", "[http_security]") {
  const Identity client = MakeIdentity({.common_name = "operator"}, &Authority());
  const Identity stranger = MakeIdentity({.common_name = "stranger"});
  for (int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    LoopbackServer server(
        AnswerOk,
        TlsServerOptions{.identity = ServerIdentity(), .client_ca = Authority().certificate, .version_max = version});
    const KubeConfig config{.server = server.url(), .ca_pem = Authority().certificate};
    KubeConfig known = config;
    known.client_certificate_pem = client.certificate;
    known.client_key_pem = Secret(client.key);
    CHECK(MakeTransport(known)->Send(Patiently(), Get("/")).ok());
    KubeConfig unknown = config;
    unknown.client_certificate_pem = stranger.certificate;
    unknown.client_key_pem = Secret(stranger.key);
    for (const KubeConfig& refused : {config, unknown}) {
      const absl::Status status = MakeTransport(refused)->Send(Patiently(), Get("/")).status();
      INFO(Message(status));
      CHECK(status.code() == absl::StatusCode::kUnauthenticated);
      CHECK(RequestWasNotSent(status));
    }
    CHECK(server.requests().size() == 1);
  }
}

TEST_CASE(
    "A client certificate or key that is invalid, missing, or does not match is refused when the transport is created",
    "[http_security]") {
  const Identity one = MakeIdentity({.common_name = "one"});
  const Identity two = MakeIdentity({.common_name = "two"});
  struct Row {
    std::string certificate, key, message;
  };
  for (const Row& row : {
           Row{one.certificate, two.key, "make transport: client key: does not match the client certificate"},
           Row{one.certificate, "x", "make transport: client key: "},
           Row{"x", one.key, "make transport: client certificate: contains no PEM certificate"},
           Row{one.certificate, "", "make transport: client certificate and client key must be given together"},
           Row{"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", one.key,
               "make transport: client certificate: certificate 1: "},
       }) {
    const absl::Status status = TryMakeTransport({.server = "https://127.0.0.1",
                                                  .ca_pem = Authority().certificate,
                                                  .client_certificate_pem = row.certificate,
                                                  .client_key_pem = Secret(row.key)})
                                    .status();
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    CHECK_THAT(Message(status), Catch::StartsWith(row.message));
  }
}

TEST_CASE("A token file is read again, and if its content is invalid, the last valid token stays in use",
          "[http_security]") {
  const TemporaryFile file("first\n");
  using Seconds = std::chrono::seconds;
  TokenSource::Now now{Seconds(1000)};
  auto source = *TokenSource::Create({.token = Secret("inline"), .token_file = file.path()},
                                     {.token_refresh = absl::Seconds(50)}, now);
  CHECK(source->Get(now)->Reveal() == "first");
  file.Write("second\r\n");
  CHECK(source->Get(now + Seconds(49))->Reveal() == "first");
  CHECK(source->Get(now + Seconds(50))->Reveal() == "second");
  now += Seconds(50);
  for (const char* bad : {"", " \n", "two words", "a\r\nX-Injected: b", "\x01", "\xc3\xa9"}) {
    file.Write(bad);
    now += Seconds(50);
    CHECK(source->Get(now)->Reveal() == "second");
  }
  file.Write("third");
  CHECK(source->Renew(Secret("x"), now));  // "x" is not the token in use, so the file is not read.
  CHECK(source->Get(now)->Reveal() == "second");
  CHECK(source->Renew(Secret("second"), now));
  CHECK(source->Get(now)->Reveal() == "third");
  file.Write("fourth");
  CHECK_FALSE(source->Renew(Secret("third"), now + std::chrono::milliseconds(999)));
  CHECK(source->Renew(Secret("third"), now + Seconds(1)));
  CHECK_FALSE(source->Renew(Secret("fourth"), now + Seconds(10)));
}

TEST_CASE("By default a token file is read again within a minute, through its current symbolic links",
          "[http_security]") {
  // The kubelet renews a token after 80 % of the token's lifetime. It replaces a symbolic link instead of writing to
  // the file.
  const TemporaryFile first("first");
  const TemporaryFile second("second");
  const std::filesystem::path link = first.path() + ".link";
  std::filesystem::create_symlink(first.path(), link);
  const TokenSource::Now now{std::chrono::hours(1)};
  auto source = *TokenSource::Create({.token_file = link}, {}, now);
  CHECK(source->Get(now)->Reveal() == "first");
  std::filesystem::create_symlink(second.path(), link.string() + ".new");
  std::filesystem::rename(link.string() + ".new", link);
  CHECK(source->Get(now + std::chrono::minutes(1))->Reveal() == "second");
  std::filesystem::remove(link);
}

TEST_CASE(
    "A transport reads its token again when the token is old, and switches to the new one before the server refuses it",
    "[http_security]") {
  const TemporaryFile file("old-token");
  std::atomic<int> refused = 0;
  LoopbackServer server([&](Connection& connection, const std::string& request) {
    const bool is_new = WithSpaces(request).find("Authorization: Bearer new-token\r\n") != std::string::npos;
    const bool is_good = is_new || request.find("/before") != std::string::npos;
    if (!is_good) ++refused;
    return connection.Answer(is_good ? 200 : 401, "");
  });
  const auto transport =
      MakeTransport({.server = server.url(), .token_file = file.path()}, {.token_refresh = absl::Nanoseconds(1)});
  CHECK(transport->Send(Patiently(), Get("/before"))->status == 200);
  file.Write("new-token");
  CHECK(transport->Send(Patiently(), Get("/after"))->status == 200);
  CHECK(refused == 0);
}

TEST_CASE("A token that would inject a header is refused", "[http_security]") {
  const TemporaryFile file("abc\r\nX-Injected: yes");
  LoopbackServer server(AnswerOk);
  for (const KubeConfig& config : {KubeConfig{.server = server.url(), .token_file = file.path()},
                                   KubeConfig{.server = server.url(), .token = Secret("abc\r\nX-Injected: yes")}}) {
    const absl::Status status = TryMakeTransport(config).status();
    CHECK(status.code() == absl::StatusCode::kInvalidArgument);
    CHECK_THAT(Message(status), !Catch::Contains("abc"));
  }
}

TEST_CASE("After a refusal the token is read again, and the request is repeated once with the new token",
          "[http_security]") {
  const TemporaryFile file("old-token");
  LoopbackServer server([](Connection& connection, const std::string& request) {
    const bool good = WithSpaces(request).find("Authorization: Bearer new-token\r\n") != std::string::npos;
    return connection.Answer(good ? 200 : 401, "");
  });
  const auto transport = MakeTransport({.server = server.url(), .token_file = file.path()});
  const HttpRequest post{.verb = HttpVerb::kPost, .path = "/x", .body = "b"};
  Lines sink;
  SECTION("no new token yet") {
    CHECK(transport->Send({}, post)->status == 401);
    CHECK(server.requests().size() == 1);
  }
  SECTION("Send") {
    file.Write("new-token");
    CHECK(transport->Send({}, post)->status == 200);
    CHECK(transport->Send({}, post)->status == 200);
    CHECK(server.requests().size() == 3);
  }
  SECTION("Stream") {
    file.Write("new-token");
    CHECK(transport->Stream({}, Get("/watch"), sink)->status == 200);
    CHECK(sink.statuses == std::vector<int>{200});
  }
  SECTION("another bad token") {
    file.Write("other-token");
    CHECK(transport->Send({}, post)->status == 401);
    CHECK(server.requests().size() == 2);
  }
}

TEST_CASE("No error contains the token", "[http_security]") {
  LoopbackServer broken([](Connection& connection, const std::string& request) {
    connection.Write(request);  // Echoes the request, including the token.
    return false;
  });
  const auto transport = MakeTransport({.server = broken.url(), .token = Secret("t0ken")});
  Lines sink;
  for (const absl::Status& status :
       {transport->Send(Patiently(), Get("/")).status(), transport->Stream(Patiently(), Get("/"), sink).status(),
        transport->Send(Patiently(), {.path = "/", .query = {{"q", "s3cret"}}}).status()}) {
    CHECK_FALSE(status.ok());
    CHECK_THAT(status.ToString(), !Catch::Contains("t0ken") && !Catch::Contains("s3cret"));
  }
}

// This test made cpprestsdk crash after 100 to 424 cancelled calls.
TEST_CASE("TLS response bodies can be cancelled repeatedly while data arrives", "[http_security]") {
  setenv("SSL_CERT_FILE", "/dev/null", 1);  // cpprestsdk reads the system's CA certificates for every connection.
  Event busy;
  LoopbackServer server(
      [&](Connection& connection, const std::string&) {
        busy.Set();
        connection.Write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        const std::string chunk(30'000, 'x');
        while (connection.WriteChunk(chunk + "\n")) {
        }
        return false;
      },
      TlsServerOptions{.identity = ServerIdentity()});
  const auto transport = MakeTransport({.server = server.url(), .ca_pem = Authority().certificate},
                                       {.body_size_max = std::size_t{1} << 30});
  const char* const rounds = std::getenv("DRIVERUPGRADE_CANCEL_ROUNDS");  // For longer manual runs.
  const int count = rounds == nullptr ? 12 : std::atoi(rounds);
  std::atomic<int> cancelled{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int j = 0; j < count; ++j) {
        std::stop_source stop;
        std::thread stopper([&] {
          if (j == 0) busy.Wait();  // At least one body must be arriving. On a fast machine more may arrive.
          std::this_thread::sleep_for(std::chrono::milliseconds(1 + (i * 17 + j * 31) % 100));
          stop.request_stop();
        });
        Lines sink;
        const absl::Status status = i % 2 == 0 ? transport->Send({.stop = stop.get_token()}, Get("/")).status()
                                               : transport->Stream({.stop = stop.get_token()}, Get("/"), sink).status();
        stopper.join();
        if (status.code() == absl::StatusCode::kCancelled) ++cancelled;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(cancelled == 8 * count);
  unsetenv("SSL_CERT_FILE");
  CHECK(busy.Wait());
}

}  // namespace
}  // namespace driverupgrade
