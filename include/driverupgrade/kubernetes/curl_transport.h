/// An HTTP backend based on libcurl and OpenSSL.
///
/// Defines MakeCurlTransport; link driverupgrade::transport_curl.
///
/// Example (tests/unit/kubernetes/http_transport_test.cc):
///
///     absl::StatusOr<std::shared_ptr<HttpTransport>> transport = MakeCurlTransport(*config, {});
///     if (!transport.ok()) return Fail(transport.status());
///
/// *Differences from cpprest_transport.h.* This backend has no threads and no process-wide effect except
/// curl_global_init: each call does its work on the calling thread. A write is sent only once: if the server closes an
/// idle connection while a request other than GET is in transit, the call fails. A name lookup ends at the call's
/// deadline, or when a stop is requested. IPv6 literals work. A new TLS connection reads no file.
///
/// *Connections.* HTTP/1.1, kept alive, one for each concurrent call. At most 32 idle connections are kept; a
/// connection that has been idle for a minute is closed at the next call.
///
/// *Ignored inputs.* Environment variables (proxies, SSL_CERT_FILE, SSLKEYLOGFILE), .netrc, and cookies.
///
/// *Ownership.* Destroy the transport only while no call is in flight. libcurl must be 7.87 or newer and use OpenSSL;
/// otherwise, MakeCurlTransport returns FailedPrecondition.
#ifndef DRIVERUPGRADE_KUBERNETES_CURL_TRANSPORT_H_
#define DRIVERUPGRADE_KUBERNETES_CURL_TRANSPORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/kube_config.h"

namespace driverupgrade {

/// Creates a transport for the server and the identity in `config`. Opens no connection, but reads `token_file`.
///
/// Errors:
///  - InvalidArgument: malformed server or proxy; unparsable CA, client certificate or key; a key that does not match
///    its certificate; a token that is empty or contains control characters or spaces; a token for an http:// server
///    that is not on the loopback interface; an option out of range;
///  - Unauthenticated: `token_file` is the only credential, and it cannot be read;
///  - FailedPrecondition: https without a CA (see trust_system_roots), or an unsuitable libcurl;
///  - Unimplemented: a proxy other than http://, a proxy with user information.
[[nodiscard]] absl::StatusOr<std::shared_ptr<HttpTransport>> MakeCurlTransport(const KubeConfig& config,
                                                                               const TransportOptions& options);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_KUBERNETES_CURL_TRANSPORT_H_
