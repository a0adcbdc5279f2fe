#include "service_account.h"

#include <cstdlib>
#include <stdexcept>

#include "support.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::string_view kKubeconfig = R"(apiVersion: v1
kind: Config
current-context: e2e
clusters: [{name: e2e, cluster: {server: "$URL", certificate-authority: "$CA"}}]
users: [{name: pod, user: {token: $TOKEN}}]
contexts: [{name: e2e, context: {cluster: e2e, user: pod}}]
)";

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

std::filesystem::path ExampleFolder(const std::string& example) {
  return RbacFolder().parent_path().parent_path() / "examples/operators" / example;
}

std::vector<std::string> ExampleCommand(const std::string& program) {
  std::string folder = Environment("DRIVERUPGRADE_BIN_DIR");
#ifdef DRIVERUPGRADE_EXAMPLES_BIN_DIR
  if (folder.empty()) folder = DRIVERUPGRADE_EXAMPLES_BIN_DIR;
#endif
  const std::filesystem::path path = std::filesystem::path(folder) / program;
  if (!std::filesystem::exists(path)) {
    throw std::runtime_error("no " + path.string() + ": build the examples, or set DRIVERUPGRADE_BIN_DIR");
  }
  std::vector<std::string> command = {path.string()};
  const std::string transport = Environment("DRIVERUPGRADE_TRANSPORT");
  if (!transport.empty()) command.insert(command.end(), {"--transport", transport});
  return command;
}

void ApplyRights(const ControlPlane& control_plane, const std::filesystem::path& rbac) {
  control_plane.admin().Must({"apply", "-f", rbac.string()});
}

std::filesystem::path KubeconfigOf(const ControlPlane& control_plane, const std::string& ns,
                                   const std::string& service_account) {
  std::string token = control_plane.admin().Must({"create", "token", service_account, "--namespace=" + ns});
  token.erase(token.find_last_not_of(" \n") + 1);
  const std::filesystem::path file = control_plane.folder() / (ns + "-" + service_account + ".kubeconfig");
  WriteFile(file,
            Substitute(std::string(kKubeconfig),
                       {{"$URL", control_plane.url()}, {"$CA", control_plane.ca_file().string()}, {"$TOKEN", token}}));
  return file;
}

}  // namespace driverupgrade::e2e
