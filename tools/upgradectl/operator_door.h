// Reads the rollout page from the leading operator replica, through the API server.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_OPERATOR_DOOR_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_OPERATOR_DOOR_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "upgradectl/facts.h"

namespace upgradectl {

/// The API server forwards requests to the operator's pod, but removes the user's credentials. The requests therefore
/// contain a token of the ServiceAccount `LEASE-viewer` (deploy/rbac/viewer), which may only read the page. Not
/// thread-safe.
class OperatorDoor {
 public:
  explicit OperatorDoor(std::shared_ptr<driverupgrade::HttpTransport> transport) : transport_(std::move(transport)) {}

  /// Returns the Lease holder's response to GET `path`, such as `/rollout`. Error messages have one line. Returns
  /// NotFound if the Lease has no holder, or if the operator does not report a port. Returns PermissionDenied if the
  /// user is not allowed to reach the operator in this way, and Unavailable for any other failure.
  [[nodiscard]] absl::StatusOr<driverupgrade::HttpResponse> Get(const driverupgrade::DriverIdentity& identity,
                                                                const LeaseFact& lease, const std::string& path);

 private:
  [[nodiscard]] absl::StatusOr<std::string> TokenFor(const LeaseFact& lease);

  const std::shared_ptr<driverupgrade::HttpTransport> transport_;
  struct Token {
    std::string account = {};
    std::string text = {};
    absl::Time renew_at = {};
  };
  std::optional<Token> token_ = std::nullopt;
};

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_OPERATOR_DOOR_H_
