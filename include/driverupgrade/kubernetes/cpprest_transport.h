/// The default HTTP backend, based on cpprestsdk and OpenSSL.
///
/// Defines CpprestPool and MakeCpprestTransport; link driverupgrade::transport_cpprest.
///
/// Example (tests/unit/kubernetes/http_transport_test.cc):
///
///     absl::StatusOr<std::shared_ptr<HttpTransport>> transport = MakeCpprestTransport(*config, {});
///     if (!transport.ok()) return Fail(transport.status());
///
/// *Effects on the whole process.* cpprestsdk has one thread pool per process. The first transport starts it with ONE
/// thread: with more threads, canceling a request over TLS causes a data race in that library, and a crash. One thread
/// is enough, because it only transfers bytes (sinks and decoders run on the callers' threads), and it is faster than
/// the default of 40 threads. If the process has already started the pool, MakeCpprestTransport returns an error unless
/// CpprestPool::kForeign asserts that the pool has one thread. OpenSSL is initialized first, so that its exit handler
/// runs after the pool's threads have ended.
///
/// *Ownership.* Destroy the transport before main returns, and only while no call is in flight. The destructor waits up
/// to 2 s for the pool to release abandoned calls. Never run it in a continuation on cpprestsdk's own pool, where it
/// would wait for itself.
///
/// *Limits of cpprestsdk.* The server's address cannot be an IPv6 literal, and the scheme of a proxy must be http.
/// cpprestsdk buffers one HTTP chunk and the block of headers before our limits apply. The limits therefore cover only
/// the data that is kept: a server with the cluster's own certificate can make cpprestsdk buffer more. For each new TLS
/// connection, cpprestsdk reads the system's certificate bundle if OpenSSL's default or $SSL_CERT_FILE names one. The
/// bundle is not used, but reading it takes 25 to 40 ms. A program that does not need the bundle itself should set
/// $SSL_CERT_FILE to /dev/null before it starts threads; connections are then as cheap as with libcurl.
#ifndef DRIVERUPGRADE_KUBERNETES_CPPREST_TRANSPORT_H_
#define DRIVERUPGRADE_KUBERNETES_CPPREST_TRANSPORT_H_

#include <memory>

#include "absl/status/statusor.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/kube_config.h"

namespace driverupgrade {

/// Defines who starts cpprestsdk's pool (see the top of this file).
enum class CpprestPool {
  kOurs,     ///< The first transport starts the pool.
  kForeign,  ///< The process may already have started the pool, with one thread.
};

/// Creates a transport for the server and the identity in `config`. Opens no connection, but reads `token_file`.
///
/// Errors:
///  - InvalidArgument: malformed server or proxy; unparsable CA, client certificate or key; a key that does not match
///    its certificate; a token that is empty or contains control characters or spaces; a token for an http:// server
///    that is not on the loopback interface; an option out of range;
///  - Unauthenticated: `token_file` is the only credential, and it cannot be read;
///  - FailedPrecondition: https without a CA (see trust_system_roots), or the pool is not ours (see CpprestPool);
///  - Unimplemented: an IPv6 literal as the server, a proxy other than http://, a proxy with user information.
[[nodiscard]] absl::StatusOr<std::shared_ptr<HttpTransport>> MakeCpprestTransport(
    const KubeConfig& config, const TransportOptions& options, CpprestPool pool = CpprestPool::kOurs);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_KUBERNETES_CPPREST_TRANSPORT_H_
