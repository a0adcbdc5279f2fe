// Rights of RBAC: those that manifests give, and those that calls of the seam need.
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
  // Empty: in the whole cluster.
  std::string ns = {};
  std::string group = {};
  // With its subresource.
  std::string resource = {};
  std::string verb = {};
  friend auto operator<=>(const Right&, const Right&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Right& right) {
    return out << right.verb << " " << right.group << "/" << right.resource << " in "
               << (right.ns.empty() ? "all namespaces" : right.ns);
  }
};
using Rights = std::set<Right>;

// What the Roles and ClusterRoles in the files of `folder` give. A rule with a wildcard, a nonResourceURL or a name
// that is not among `names` fails the test.
Rights RightsOf(const std::filesystem::path& folder, const std::set<std::string>& names);
// The same of one file, or of the one role in it.
Rights RightsOfFile(const std::filesystem::path& file, const std::set<std::string>& names,
                    const std::string& role = "");

// All that is needed is given, and nothing else. What is given in the whole cluster is given in each namespace.
void CheckBothWays(const Rights& given, const Rights& needed);

// As many of the rights as are about `resources` are needed in the whole cluster: those about workloads, which may be
// in any namespace.
Rights Everywhere(const Rights& rights, const std::set<std::string>& resources);

// Notes what each request needs, and lets `next` answer. Null `next`: lists are empty, nothing else is found.
std::shared_ptr<HttpTransport> MakeNotingTransport(std::shared_ptr<Rights> rights,
                                                   std::shared_ptr<HttpTransport> next = nullptr);

// Passes every call on to `next`, and notes in `rights` what RestCluster would need for it.
std::shared_ptr<ClusterFacade> NoteRights(std::shared_ptr<ClusterFacade> next, std::shared_ptr<Rights> rights);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_DEPLOY_RIGHTS_H_
