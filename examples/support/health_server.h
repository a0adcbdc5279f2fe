// Answers the probes of a kubelet: GET /healthz and /readyz.
#ifndef DRIVERUPGRADE_EXAMPLES_SUPPORT_HEALTH_SERVER_H_
#define DRIVERUPGRADE_EXAMPLES_SUPPORT_HEALTH_SERVER_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace examples {

using Probe = std::function<absl::Status()>;

/// Serves until it is destroyed. 200 `ok`, or 503 with the error's text.
class HealthServer {
 public:
  /// `address` is `host:port`. Errors: InvalidArgument for what is no address; Unavailable if it cannot be listened on.
  static absl::StatusOr<std::unique_ptr<HealthServer>> Start(const std::string& address, Probe healthy, Probe ready);
  ~HealthServer();

 private:
  class Impl;
  explicit HealthServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_SUPPORT_HEALTH_SERVER_H_
