#include "kubernetes/curl_status.h"

#include <charconv>
#include <string>
#include <system_error>

#include "driverupgrade/kubernetes/http_transport.h"
#include "fmt/format.h"
#include "kubernetes/tls_error.h"

namespace driverupgrade {
namespace {

constexpr char kLostBefore[] = "connection lost before the response";
constexpr char kLostWithin[] = "connection lost in the middle of the response";
constexpr char kNotHttp[] = "the response is not HTTP";

// Inspects the message, because the library uses the same code for a broken connection and for malformed bytes.
bool IsConnectionLoss(std::string_view words) {
  return words.starts_with("Recv failure") || words.find("SSL_read") != std::string_view::npos;
}

std::string CannotConnect(int system_error) {
  if (system_error == 0) return "cannot connect";
  return fmt::format("cannot connect: {}", std::generic_category().message(system_error));
}

std::string WhatFailed(const CurlFailure& failure) {
  switch (failure.code) {
    case CURLE_COULDNT_RESOLVE_HOST: return "cannot resolve the server's name";
    case CURLE_COULDNT_RESOLVE_PROXY: return "cannot resolve the proxy's name";
    case CURLE_COULDNT_CONNECT: return CannotConnect(failure.system_error);
    case CURLE_OPERATION_TIMEDOUT: return "cannot connect: no response";
    case CURLE_SSL_CONNECT_ERROR: return "TLS handshake failed: connection lost";
    case CURLE_SEND_ERROR: return "connection lost while the request was being sent";
    // The library treats the end of a connection as the end of the headers, and therefore reports no error.
    case CURLE_OK:
    case CURLE_ABORTED_BY_CALLBACK:
    case CURLE_GOT_NOTHING: return kLostBefore;
    case CURLE_PARTIAL_FILE: return kLostWithin;
    case CURLE_RECV_ERROR:
      if (!IsConnectionLoss(failure.words)) return kNotHttp;
      return failure.has_head ? kLostWithin : kLostBefore;
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_BAD_CONTENT_ENCODING: return kNotHttp;
    default: return curl_easy_strerror(failure.code);
  }
}

}  // namespace

unsigned long OpenSslCodeIn(std::string_view words) {
  constexpr std::string_view kMark = "error:";
  const std::size_t at = words.find(kMark);
  if (at == std::string_view::npos) return 0;
  words.remove_prefix(at + kMark.size());
  unsigned long code = 0;
  std::from_chars(words.data(), words.data() + words.size(), code, 16);
  return code;
}

absl::Status StatusOfCurlFailure(std::string_view subject, const CurlFailure& failure, std::string_view refusal) {
  if (failure.code == CURLE_PEER_FAILED_VERIFICATION) {
    return MarkRequestNotSent(absl::UnauthenticatedError(
        fmt::format("{}: server certificate refused: {}", subject, refusal.empty() ? "unknown reason" : refusal)));
  }
  const unsigned long tls_code = OpenSslCodeIn(failure.words);
  const bool refused_in_handshake =
      !failure.sent && IsTlsError(tls_code) && !IsUnexpectedEnd(tls_code) && !IsVerificationFailure(tls_code);
  if (refused_in_handshake || IsCertificateAlert(tls_code)) {
    return MarkRequestNotSent(
        absl::UnauthenticatedError(fmt::format("{}: TLS handshake failed: {}", subject, TlsReason(tls_code))));
  }
  if (failure.code == CURLE_OUT_OF_MEMORY) return absl::InternalError(fmt::format("{}: out of memory", subject));
  absl::Status status = absl::UnavailableError(fmt::format("{}: {}", subject, WhatFailed(failure)));
  return failure.sent ? status : MarkRequestNotSent(std::move(status));
}

}  // namespace driverupgrade
