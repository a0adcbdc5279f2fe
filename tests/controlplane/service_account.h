// Applies the rbac.yaml of an example, and creates a kubeconfig with a token of the example's ServiceAccount.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_SERVICE_ACCOUNT_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_SERVICE_ACCOUNT_H_

#include <filesystem>
#include <string>
#include <vector>

#include "control_plane.h"

namespace driverupgrade::e2e {

// Returns the directory of an example.
std::filesystem::path ExampleFolder(const std::string& example);

// Returns the command that runs a built program with the HTTP library to test. Throws std::runtime_error if the program
// does not exist.
std::vector<std::string> ExampleCommand(const std::string& program);

// Applies the manifest `rbac`, whose namespaces must exist.
void ApplyRights(const ControlPlane& control_plane, const std::filesystem::path& rbac);

// Returns a kubeconfig with a token of `service_account`, like the token that a pod receives.
std::filesystem::path KubeconfigOf(const ControlPlane& control_plane, const std::string& ns,
                                   const std::string& service_account);

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_SERVICE_ACCOUNT_H_
