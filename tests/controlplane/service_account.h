// The rights of an example: its rbac.yaml, and a kubeconfig with the token of the ServiceAccount in it.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_SERVICE_ACCOUNT_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_SERVICE_ACCOUNT_H_

#include <filesystem>
#include <string>
#include <vector>

#include "control_plane.h"

namespace driverupgrade::e2e {

// The folder of an example.
std::filesystem::path ExampleFolder(const std::string& example);

// The program of that name that was built, with the HTTP library to be tested. Throws std::runtime_error if there is
// none.
std::vector<std::string> ExampleCommand(const std::string& program);

// Applies the file, whose namespaces must exist.
void ApplyRights(const ControlPlane& control_plane, const std::filesystem::path& rbac);

// For who has a token of `service_account`, as a pod has one.
std::filesystem::path KubeconfigOf(const ControlPlane& control_plane, const std::string& ns,
                                   const std::string& service_account);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_SERVICE_ACCOUNT_H_
