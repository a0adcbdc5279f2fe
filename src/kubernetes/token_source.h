// Provides the current bearer token of a transport. Private to src/kubernetes; shared by the backends.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_TOKEN_SOURCE_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_TOKEN_SOURCE_H_

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/kube_config.h"

namespace driverupgrade {

// Thread-safe.
class TokenSource {
 public:
  using Now = std::chrono::steady_clock::time_point;

  // Reads the token file, if there is one. Does not run a plugin yet. Errors: InvalidArgument for a malformed token;
  // Unauthenticated if a file is the only credential and cannot be used.
  static absl::StatusOr<std::unique_ptr<TokenSource>> Create(const KubeConfig& config, const TransportOptions& options,
                                                             Now now);

  // Returns the token to send; empty if the configuration has no token. Reads the file again if the last read is older
  // than `token_refresh`, and runs the plugin if its token has expired. If the read or the run fails, keeps the last
  // good token (api-A66). If a plugin has failed and no token is known yet, returns Cancelled or Unauthenticated,
  // marked as not sent. Until `token_refresh` has passed, further calls return the same Unauthenticated without a run.
  absl::StatusOr<Secret> Get(Now now, const std::stop_token& stop = {});

  // Must be called after the server has returned 401 for `refused`. Reads the file or runs the plugin, at most once a
  // second (api-A66). Returns true if a different token is now available.
  bool Renew(const Secret& refused, Now now, const std::stop_token& stop = {});

 private:
  TokenSource(Secret token, const KubeConfig& config, const TransportOptions& options);
  bool IsRenewable() const { return !file_.empty() || exec_.has_value(); }
  absl::Status ReadAgain(Now now, const std::stop_token& stop);  // the caller holds the lock
  absl::Status RunPlugin(Now now, const std::stop_token& stop);

  const std::string file_;
  const std::optional<ExecPlugin> exec_;
  const absl::Duration exec_timeout_;
  const std::chrono::nanoseconds refresh_;
  std::mutex mutex_;
  Secret token_;
  absl::Status failure_;  // error of the last read or run
  Now renew_at_ = {};     // time of the next read or run
  std::optional<Now> renewed_at_ = {};
  Now ended_at_ = {};  // end of the last run
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_TOKEN_SOURCE_H_
