// What the operator of a driver has to be allowed, and whether it is: the API server is asked.
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
  /// Empty: in all namespaces.
  std::string ns = {};
  std::string group = {};
  std::string resource = {};
  std::string subresource = {};
  std::string verb = {};
  /// Of the one object that it is about; empty: of all.
  std::string name = {};
  /// "patch nodes", "get configmaps/nvidia-gpu-driver-upgrade in gpu-operator".
  std::string ToString() const;
};

/// What the roles of deploy/rbac give to the operator of this driver, for this policy and this mode: base, and for `gpu` and
/// `ofed` of nvidia.com what their operators need beside that.
std::vector<NeededRight> RightsNeeded(const Request& request);

/// Whose rights: of whoever asks ("self"), or of a ServiceAccount ("NAMESPACE/NAME").
struct Account {
  std::string ns = {};
  std::string name = {};
  bool IsSelf() const { return name.empty(); }
};
/// Errors: InvalidArgument, a line that begins with the option.
[[nodiscard]] absl::StatusOr<Account> ParseAccount(std::string_view text);

/// Those of `needed` that the account does not have, as text, by one review each. Errors: those of the transport;
/// PermissionDenied if the server answers no such question.
[[nodiscard]] absl::StatusOr<std::vector<std::string>> RightsMissing(driverupgrade::HttpTransport& transport,
                                                                     const std::vector<NeededRight>& needed,
                                                                     const Account& account);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_RIGHTS_H_
