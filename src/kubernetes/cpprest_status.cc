#include "kubernetes/cpprest_status.h"

#include <cerrno>
#include <system_error>

#include "driverupgrade/kubernetes/http_transport.h"
#include "fmt/format.h"
#include "kubernetes/tls_error.h"

namespace driverupgrade {
namespace {

// The library drops the category of its error codes. OpenSSL codes are recognizable by their size, because the upper
// bits of such a code identify the originating component.
unsigned long AsOpenSsl(int code) { return code > 0 ? static_cast<unsigned long>(code) : 0; }

std::string ReasonOf(int code) {
  if (IsTlsError(AsOpenSsl(code))) return TlsReason(AsOpenSsl(code));
  switch (code) {
    case 0:
    case 1:  // asio's "stream truncated" or netdb's "not found"; the message shows which.
      return {};
    case 2:  // asio's "end of file"; as an errno, this code would be ENOENT.
      return "connection closed by the server";
    case EHOSTUNREACH:  // The library replaces ECONNREFUSED with this code.
      return "connection refused, or host unreachable";
    default: return std::generic_category().message(code);
  }
}

bool IsBeforeRequest(std::string_view text) {
  for (std::string_view phase :
       {"Error resolving", "Failed to resolve", "Failed to connect", "Error in SSL handshake",
        "Failed to send connect request", "Expected a 200 response from proxy", "Invalid HTTP status line during proxy",
        "Failed to read HTTP status line from proxy"}) {
    if (text.starts_with(phase)) return true;
  }
  return false;
}

std::string WhatFailed(std::string_view text, int code) {
  std::string_view what = text;
  if (text.starts_with("Error resolving address") || text.starts_with("Failed to resolve")) {
    what = "cannot resolve the server's name";
  } else if (text.starts_with("Failed to connect to any resolved endpoint")) {
    what = "cannot connect";
  } else if (text.starts_with("Error in SSL handshake")) {
    what = "TLS handshake failed";
  } else if (text.starts_with("Failed to read HTTP status line")) {
    what = "connection lost before the response";
  } else if (text.starts_with("Failed to write request")) {
    what = "connection lost while the request was being sent";
  } else if (text.starts_with("Failed to read") || text.starts_with("Retrieving message chunk")) {
    what = "connection lost in the middle of the response";
  } else if (text.starts_with("Invalid HTTP status line") || text.starts_with("Invalid chunked")) {
    what = "the response is not HTTP";
  }
  const std::string reason = ReasonOf(code);
  return reason.empty() ? std::string(what) : fmt::format("{}: {}", what, reason);
}

}  // namespace

absl::Status StatusOfCpprestFailure(std::string_view subject, int code, std::string_view text, bool sent,
                                    std::string_view refusal) {
  const unsigned long tls_code = AsOpenSsl(code);
  if (IsVerificationFailure(tls_code)) {
    return MarkRequestNotSent(absl::UnauthenticatedError(
        fmt::format("{}: server certificate refused: {}", subject, refusal.empty() ? "unknown reason" : refusal)));
  }
  const bool handshake = text.starts_with("Error in SSL handshake");
  if (IsTlsError(tls_code) && (handshake || IsCertificateAlert(tls_code))) {
    return MarkRequestNotSent(
        absl::UnauthenticatedError(fmt::format("{}: TLS handshake failed: {}", subject, ReasonOf(code))));
  }
  absl::Status status = absl::UnavailableError(fmt::format("{}: {}", subject, WhatFailed(text, code)));
  return !sent && IsBeforeRequest(text) ? MarkRequestNotSent(std::move(status)) : status;
}

}  // namespace driverupgrade
