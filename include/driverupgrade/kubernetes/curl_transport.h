/// An HTTP backend on libcurl and OpenSSL.
///
/// Defines MakeCurlTransport; link driverupgrade::transport_curl.
///
/// Example (tests/unit/kubernetes/http_transport_test.cc):
///
///     absl::StatusOr<std::shared_ptr<HttpTransport>> transport = MakeCurlTransport(*config, {});
///     if (!transport.ok()) return Fail(transport.status());
///
/// *What differs from cpprest_transport.h.* No thread of its own, and nothing for the whole process but
/// curl_global_init: each call does its work on the thread that makes it. A write is sent once: where the server has
/// closed an idle connection while a request other than GET was on its way, the call fails instead of sending it again.
/// A name look-up ends with the call's deadline or stop. IPv6 literals work. A new TLS connection reads no file.
///
/// *Connections.* HTTP/1.1, kept alive, as many as there are calls at once. Those that nobody has used for a minute are
/// closed at the next call, and more than 32 idle ones are not kept.
///
/// *What is not read.* No environment variable (proxies, SSL_CERT_FILE, SSLKEYLOGFILE), no .netrc, no cookie.
///
/// *Ownership.* Destroy the transport with no call in flight. libcurl must be 7.87 or newer, with the OpenSSL backend:
/// MakeCurlTransport says FailedPrecondition with another.
#ifndef DRIVERUPGRADE_KUBERNETES_CURL_TRANSPORT_H_
#define DRIVERUPGRADE_KUBERNETES_CURL_TRANSPORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/kube_config.h"

namespace driverupgrade {

/// A transport for the server and the identity of `config`. Opens no connection, but reads `token_file`.
///
/// Errors:
///  - InvalidArgument: malformed server or proxy, unparsable CA, client certificate or key, a key that does not match
///    its certificate, a token that is empty or has control characters or spaces, a token for an http:// server that is
///    not on the loopback interface, an option out of range;
///  - Unauthenticated: there is only `token_file`, and it cannot be read;
///  - FailedPrecondition: https without a CA (see trust_system_roots), or this libcurl will not do;
///  - Unimplemented: a proxy other than http://, a proxy with user information.
[[nodiscard]] absl::StatusOr<std::shared_ptr<HttpTransport>> MakeCurlTransport(const KubeConfig& config,
                                                                               const TransportOptions& options);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_KUBERNETES_CURL_TRANSPORT_H_
