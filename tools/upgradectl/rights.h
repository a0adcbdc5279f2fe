// Determines the permissions that a driver's operator needs, and asks the API server to check them.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_RIGHTS_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_RIGHTS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "upgradectl/request.h"

namespace upgradectl {

struct NeededRight {
  /// Empty for all namespaces.
  std::string ns = {};
  std::string group = {};
  std::string resource = {};
  std::string subresource = {};
  std::string verb = {};
  /// Name of the only object that the permission covers; empty for all objects.
  std::string name = {};
  /// Returns a string such as "patch nodes" or "get configmaps/nvidia-gpu-driver-upgrade in gpu-operator".
  std::string ToString() const;
};

/// Returns the permissions in the roles of deploy/rbac for the operator of this driver, with this policy and mode. The
/// result always includes the permissions of deploy/rbac/base and, for `gpu` and `ofed` of nvidia.com, the additional
/// permissions of the operator for that driver.
std::vector<NeededRight> RightsNeeded(const Request& request);

/// The account whose permissions are checked: the user of the command ("self"), or a ServiceAccount ("NAMESPACE/NAME").
struct Account {
  std::string ns = {};
  std::string name = {};
  bool IsSelf() const { return name.empty(); }
};
/// Errors: InvalidArgument with a line that starts with the option.
[[nodiscard]] absl::StatusOr<Account> ParseAccount(std::string_view text);

/// Returns the permissions in `needed` that the account does not have, as text. Sends one review for each permission.
/// Errors: the errors of the transport, or PermissionDenied if the server refuses the reviews.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> RightsMissing(driverupgrade::HttpTransport& transport,
                                                                     const std::vector<NeededRight>& needed,
                                                                     const Account& account);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_RIGHTS_H_
