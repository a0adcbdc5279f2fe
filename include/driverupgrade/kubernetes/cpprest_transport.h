/// The default HTTP backend, on cpprestsdk and OpenSSL.
///
/// Defines CpprestOptions and MakeCpprestTransport; link driverupgrade::transport_cpprest.
///
/// Example (tests/unit/kubernetes/http_transport_test.cc):
///
///     absl::StatusOr<std::shared_ptr<HttpTransport>> transport = MakeCpprestTransport(*config, {});
///     if (!transport.ok()) return Fail(transport.status());
///
/// *Effects on the whole process.* cpprestsdk has one thread pool per process. The first transport starts it
/// with ONE thread: with more, cancelling a request over TLS is a data race in that library and crashes. One
/// thread is enough (it moves bytes only; sinks and decoders run on the callers' threads) and faster than its
/// default of 40. If the process has started the pool before, MakeCpprestTransport refuses, unless
/// `accept_foreign_pool` says that it has one thread. OpenSSL is initialised first, so that its exit handler
/// runs after the pool's threads have ended.
///
/// *Ownership.* Destroy the transport with no call in flight, and before main returns; it waits, 2 s at most, until the
/// pool has let go of calls that were given up. Never call it from a continuation on cpprestsdk's own pool: that waits
/// for itself.
///
/// *Limits of cpprestsdk.* No IPv6 literal as server; only http:// proxies. One HTTP chunk and the block of headers are
/// buffered by the library before our limits see them, so these limits bound what is kept, not what a server that
/// holds the cluster's own certificate could make us buffer. For each new TLS connection the library reads the system's
/// certificate bundle, if OpenSSL's default or $SSL_CERT_FILE names one, and we throw it away: some 40 ms.
#ifndef DRIVERUPGRADE_KUBERNETES_CPPREST_TRANSPORT_H_
#define DRIVERUPGRADE_KUBERNETES_CPPREST_TRANSPORT_H_

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/kube_config.h"

namespace driverupgrade::inline v1 {

struct CpprestOptions {
  /// Longest time for one Send, from call to last byte, when the context's deadline is later. The API
  /// server's own limit is 60 s.
  absl::Duration request_timeout = absl::Seconds(60);
  /// A stream on which nothing has come for so long is taken for dead (Unavailable, A19). Should be longer than the
  /// longest silence of a healthy watch: the minute between bookmarks. A shorter one costs a new watch each time.
  absl::Duration stream_idle_timeout = absl::Minutes(3);
  /// Bytes of one response body of Send. A body of another status than 2xx is bounded by the same number in
  /// Stream.
  std::size_t body_size_max = std::size_t{64} << 20;
  /// Bytes of one line of Stream.
  std::size_t line_size_max = std::size_t{4} << 20;
  /// How long a token from KubeConfig::token_file is used before the file is read again (api-A66). A 401
  /// shortens it to one second. When the file cannot be used then, the last good token is kept.
  absl::Duration token_refresh = absl::Seconds(50);
  /// The library's own name and version when empty. Visible ASCII and spaces only.
  std::string user_agent = {};
  /// Trust the system's certificate authorities when KubeConfig::ca_pem is empty. Refused otherwise: a
  /// cluster has an authority of its own, and whoever else can sign for its name would get the token.
  bool trust_system_roots = false;
  /// The process has started cpprestsdk's pool itself, with one thread (see the head of this file).
  bool accept_foreign_pool = false;
};

/// A transport for the server and the identity of `config`. Opens no connection, but reads `token_file`.
///
/// Errors:
///  - InvalidArgument: malformed server or proxy, unparsable CA, client certificate or key, a key that does
///  not match
///    its certificate, a token that is empty or has control characters or spaces, a token for an http://
///    server that is not on the loopback interface, an option out of range;
///  - Unauthenticated: there is only `token_file`, and it cannot be read;
///  - FailedPrecondition: https without a CA (see trust_system_roots), or the pool is not ours (see
///    accept_foreign_pool);
///  - Unimplemented: an IPv6 literal as server, a proxy other than http://, a proxy with user information.
[[nodiscard]] absl::StatusOr<std::shared_ptr<HttpTransport>> MakeCpprestTransport(const KubeConfig& config,
                                                                                  const CpprestOptions& options);

}  // namespace driverupgrade::inline v1

#endif  // DRIVERUPGRADE_KUBERNETES_CPPREST_TRANSPORT_H_
