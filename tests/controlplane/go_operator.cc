#include "go_operator.h"

#include <cstdlib>
#include <stdexcept>

#include "support.h"

namespace driverupgrade::e2e {
namespace {

std::filesystem::path Program() {
  const char* path = std::getenv("DRIVERUPGRADE_GO_OPERATOR");
  if (path == nullptr || *path == '\0' || !std::filesystem::exists(path)) {
    throw std::runtime_error(
        "DRIVERUPGRADE_GO_OPERATOR names no program: run scripts/e2e.sh, or build go/examples/operator");
  }
  return path;
}

}  // namespace

GoOperator::GoOperator(const World& world, std::string_view policy) : world_(world), program_(Program()) {
  static int count = 0;
  folder_ = world.control_plane().folder() / ("go-operator-" + std::to_string(++count));
  std::filesystem::create_directories(folder_);
  WriteFile(folder_ / "policy.yaml", policy);
}

std::unique_ptr<Process> GoOperator::Start() const {
  ProcessOptions options;
  options.out = folder_ / "log";
  const std::string kubeconfig = world_.control_plane().operator_kubeconfig().string();
  return std::make_unique<Process>(
      std::vector<std::string>{program_.string(), "--kubeconfig", kubeconfig, "--namespace", world_.driver_ns(),
                               "--driver-labels", "app=driver", "--policy", (folder_ / "policy.yaml").string(),
                               "--until-done", "--timeout", "150s"},
      options);
}

std::string GoOperator::Log() const { return ReadFile(folder_ / "log"); }

}  // namespace driverupgrade::e2e
