// RBAC permissions that manifests grant, and permissions that facade calls require.
#ifndef DRIVERUPGRADE_TESTS_DEPLOY_RIGHTS_H_
#define DRIVERUPGRADE_TESTS_DEPLOY_RIGHTS_H_

#include <compare>
#include <filesystem>
#include <memory>
#include <ostream>
#include <set>
#include <string>

#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/kubernetes/http_transport.h"

namespace driverupgrade::tests {

struct Right {
  // Namespace in which the permission applies. Empty: the whole cluster.
  std::string ns = {};
  std::string group = {};
  // Resource, including its subresource if there is one.
  std::string resource = {};
  std::string verb = {};
  friend auto operator<=>(const Right&, const Right&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Right& right) {
    return out << right.verb << " " << right.group << "/" << right.resource << " in "
               << (right.ns.empty() ? "all namespaces" : right.ns);
  }
};
using Rights = std::set<Right>;

// Returns the permissions that the Roles and ClusterRoles in the files of `folder` grant. The test fails if a rule has
// a wildcard or a nonResourceURL, or names an object that is not in `names`.
Rights RightsOf(const std::filesystem::path& folder, const std::set<std::string>& names);
// Same as RightsOf for one file, or for one role in this file.
Rights RightsOfFile(const std::filesystem::path& file, const std::set<std::string>& names,
                    const std::string& role = "");

// Checks that exactly the required permissions are granted. A permission for the whole cluster counts for every
// namespace.
void CheckBothWays(const Rights& given, const Rights& needed);

// Returns `rights` with the permissions for `resources` extended to the whole cluster, because workloads can be in any
// namespace.
Rights Everywhere(const Rights& rights, const std::set<std::string>& resources);

// Records the permissions that each request requires, and forwards the request to `next`. If `next` is null, list
// requests return an empty list, watch requests return 200, and all other requests return 404.
std::shared_ptr<HttpTransport> MakeNotingTransport(std::shared_ptr<Rights> rights,
                                                   std::shared_ptr<HttpTransport> next = nullptr);

// Forwards every call to `next`, and records in `rights` the permissions that RestCluster would need for the call.
std::shared_ptr<ClusterFacade> NoteRights(std::shared_ptr<ClusterFacade> next, std::shared_ptr<Rights> rights);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_DEPLOY_RIGHTS_H_
