// The bearer token of a transport, kept fresh. Private to src/kubernetes; shared by the backends.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_TOKEN_SOURCE_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_TOKEN_SOURCE_H_

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/kubernetes/kube_config.h"

namespace driverupgrade::inline v1 {

// Thread-safe.
class TokenSource {
 public:
  using Now = std::chrono::steady_clock::time_point;

  // Reads the file, if there is one. Errors: InvalidArgument for a malformed token; Unauthenticated when
  // there is only a file and it cannot be used.
  static absl::StatusOr<std::unique_ptr<TokenSource>> Create(const KubeConfig& config, absl::Duration refresh, Now now);

  // The token to send; empty when the configuration has none. Reads the file again when the last reading is
  // older than `refresh`; keeps the last good token when that fails (api-A66).
  Secret Get(Now now);

  // The server said 401: read the file at the next Get, though not more than once a second.
  void OnUnauthorized();

 private:
  TokenSource(Secret token, std::string file, absl::Duration refresh);

  const std::string file_;
  const std::chrono::nanoseconds refresh_;
  std::mutex mutex_;
  Secret token_;
  Now read_at_ = {};
  bool suspect_ = false;
};

}  // namespace driverupgrade::inline v1

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_TOKEN_SOURCE_H_
