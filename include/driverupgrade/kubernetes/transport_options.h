/// What the backends of HttpTransport have in common: their limits and times.
///
/// Defines TransportOptions, which MakeCpprestTransport and MakeCurlTransport take.
///
///     auto transport = MakeCurlTransport(*config, {.request_timeout = absl::Seconds(20)});
///
/// Example: tests/unit/kubernetes/http_transport_test.cc. A value.
#ifndef DRIVERUPGRADE_KUBERNETES_TRANSPORT_OPTIONS_H_
#define DRIVERUPGRADE_KUBERNETES_TRANSPORT_OPTIONS_H_

#include <cstddef>
#include <string>

#include "absl/time/time.h"
#include "driverupgrade/abseil_abi.h"

namespace driverupgrade {

struct TransportOptions {
  /// Longest time for one Send, from call to last byte, when the context's deadline is later. The API
  /// server's own limit is 60 s.
  absl::Duration request_timeout = absl::Seconds(60);
  /// A stream on which nothing has come for so long is taken for dead (Unavailable). Should be longer than
  /// the longest silence of a healthy watch: the minute between bookmarks. A shorter one costs a new watch each time.
  absl::Duration stream_idle_timeout = absl::Minutes(3);
  /// Bytes of one response body of Send. A body of another status than 2xx is bounded by the same number in
  /// Stream.
  std::size_t body_size_max = std::size_t{64} << 20;
  /// Bytes of one line of Stream.
  std::size_t line_size_max = std::size_t{4} << 20;
  /// Bytes of the names and values of one answer's headers. The API server sends less than one KiB.
  std::size_t header_size_max = std::size_t{64} << 10;
  /// How long a token from KubeConfig::token_file is used before the file is read again. After a 401
  /// it is read at once. When it cannot be used, the last good token is kept.
  absl::Duration token_refresh = absl::Seconds(50);
  /// How long a credential plugin (KubeConfig::exec) may run. Calls wait for it, also beyond their deadlines.
  absl::Duration exec_timeout = absl::Seconds(30);
  /// The library's own name and version when empty. Visible ASCII and spaces only.
  std::string user_agent = {};
  /// Trust the system's certificate authorities when KubeConfig::ca_pem is empty. Refused otherwise: a
  /// cluster has an authority of its own, and whoever else can sign for its name would get the token.
  bool trust_system_roots = false;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_KUBERNETES_TRANSPORT_OPTIONS_H_
