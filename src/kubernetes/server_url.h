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
  // The default is the default port of the scheme: 443 or 80.
  int port = 0;
  // Path prefix: empty, or "/..." without a "/" at the end.
  std::string path = {};

  // Returns true for 127.0.0.0/8, ::1 and "localhost".
  bool IsLoopback() const;
  // Returns "host:port", with brackets around an IPv6 address.
  std::string Authority() const;
  // Returns "https://host:port/prefix".
  std::string ToString() const;
};

// Drops the query and the fragment (api-A72). Errors: InvalidArgument, with a message that does not repeat the URL,
// which may contain a password.
absl::StatusOr<ServerUrl> ParseServerUrl(std::string_view url);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_SERVER_URL_H_
