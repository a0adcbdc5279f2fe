#include "go_operator.h"

#include <cstdlib>
#include <stdexcept>

#include "support.h"

namespace driverupgrade::e2e {
namespace {

std::filesystem::path Program(const char* variable) {
  const char* path = std::getenv(variable);
  if (path == nullptr || *path == '\0' || !std::filesystem::exists(path)) {
    throw std::runtime_error(std::string(variable) +
                             " does not name a program: run scripts/e2e.sh, or scripts/build-go.sh");
  }
  return path;
}

const char* VariableOf(GoOperator::Of of) {
  switch (of) {
    case GoOperator::Of::kModule: return "DRIVERUPGRADE_GO_OPERATOR";
    case GoOperator::Of::kLibrary: return "DRIVERUPGRADE_GO_LIBRARY";
    case GoOperator::Of::kVendor: return "DRIVERUPGRADE_GO_VENDOR";
  }
  return "";
}

}  // namespace

GoOperator::GoOperator(const World& world, std::string_view policy, Of of)
    : world_(world), of_(of), program_(Program(VariableOf(of))) {
  static int count = 0;
  folder_ = world.control_plane().folder() / ("go-operator-" + std::to_string(++count));
  std::filesystem::create_directories(folder_);
  WriteFile(policy_file(), policy);
}

std::unique_ptr<Process> GoOperator::Start(const std::vector<std::string>& more_flags) const {
  ProcessOptions options;
  options.out = log_file();
  const std::string kubeconfig = world_.control_plane().operator_kubeconfig().string();
  std::vector<std::string> command = {program_.string(), "--kubeconfig",     kubeconfig,
                                      "--namespace",     world_.driver_ns(), "--driver-labels",
                                      "app=driver",      "--policy",         policy_file().string()};
  const std::vector<std::string> usual = of_ == Of::kVendor
                                             ? std::vector<std::string>{"--interval",   "5s",
                                                                        "--domain",     "nvidia.com",
                                                                        "--driver",     "gpu",
                                                                        "--lease-name", "nvidia-gpu-driver-upgrade",
                                                                        "--ledger",     "nvidia-gpu-driver-upgrade"}
                                             : std::vector<std::string>{"--until-done", "--timeout", "150s"};
  command.insert(command.end(), usual.begin(), usual.end());
  command.insert(command.end(), more_flags.begin(), more_flags.end());
  return std::make_unique<Process>(command, options);
}

}  // namespace driverupgrade::e2e
