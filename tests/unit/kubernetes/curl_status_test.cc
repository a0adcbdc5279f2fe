#include "kubernetes/curl_status.h"

#include "driverupgrade/kubernetes/http_transport.h"
#include "support/catch.h"

namespace driverupgrade {
namespace {

std::string Message(const absl::Status& status) { return std::string(status.message()); }

TEST_CASE("The error code of OpenSSL is extracted from libcurl's message", "[curl_status]") {
  CHECK(OpenSslCodeIn("error:0A00010B:SSL routines::wrong version number") == 0x0a00010b);
  CHECK(OpenSslCodeIn("OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert, errno 0") == 0x0a00045c);
  CHECK(OpenSslCodeIn("") == 0);
  CHECK(OpenSslCodeIn("error:") == 0);
  CHECK(OpenSslCodeIn("error:zz") == 0);
  CHECK(OpenSslCodeIn("error:fffffffffffffffffffffff") == 0);
}

TEST_CASE("A message of libcurl is not repeated, because it may contain text from the server", "[curl_status]") {
  for (CURLcode code : {CURLE_RECV_ERROR, CURLE_WEIRD_SERVER_REPLY, CURLE_COULDNT_CONNECT, CURLE_SSL_CONNECT_ERROR,
                        CURLE_PEER_FAILED_VERIFICATION, CURLE_COULDNT_RESOLVE_HOST, CURLE_URL_MALFORMAT}) {
    const absl::Status status = StatusOfCurlFailure("GET x", {.code = code, .words = "t0ken"}, "");
    CHECK_FALSE(status.ok());
    CHECK_THAT(Message(status), Catch::StartsWith("GET x: ") && !Catch::Contains("t0ken"));
  }
}

TEST_CASE("RequestWasNotSent returns true for a failure that occurred before the request was sent", "[curl_status]") {
  for (bool sent : {false, true}) {
    const CurlFailure failure{.code = CURLE_RECV_ERROR, .words = "Recv failure: reset", .sent = sent};
    const absl::Status status = StatusOfCurlFailure("GET x", failure, "");
    CHECK(status.code() == absl::StatusCode::kUnavailable);
    CHECK(RequestWasNotSent(status) == !sent);
  }
}

TEST_CASE("A disconnect during the TLS handshake is reported differently from a handshake error", "[curl_status]") {
  const auto code_of = [](std::string_view words) {
    return StatusOfCurlFailure("GET x", {.code = CURLE_SSL_CONNECT_ERROR, .words = words}, "").code();
  };
  CHECK(code_of("error:0A000126:SSL routines::unexpected eof while reading") == absl::StatusCode::kUnavailable);
  CHECK(code_of("OpenSSL SSL_connect: SSL_ERROR_SYSCALL in connection to x:1") == absl::StatusCode::kUnavailable);
  CHECK(code_of("error:0A00010B:SSL routines::wrong version number") == absl::StatusCode::kUnauthenticated);
}

}  // namespace
}  // namespace driverupgrade
