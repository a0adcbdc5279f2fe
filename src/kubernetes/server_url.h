// The parts of a server's URL. Private to src/kubernetes.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_SERVER_URL_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_SERVER_URL_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace driverupgrade {

struct ServerUrl {
  bool https = false;
  // In lower case; an IPv6 literal without its brackets.
  std::string host = {};
  bool is_ipv4 = false;
  bool is_ipv6 = false;
  // The default of the scheme (443, 80) if the URL has no port.
  int port = 0;
  // Path prefix: empty, or "/..." without a "/" at its end.
  std::string path = {};

  // 127.0.0.0/8, ::1 or "localhost".
  bool IsLoopback() const;
  // "host:port", with brackets where needed.
  std::string Authority() const;
  // "https://host:port/prefix".
  std::string ToString() const;
};

// Query and fragment are dropped (api-A72). Errors: InvalidArgument, with a text that does not repeat the URL, because
// it may contain a password.
absl::StatusOr<ServerUrl> ParseServerUrl(std::string_view url);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_SERVER_URL_H_
