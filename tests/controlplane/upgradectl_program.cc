#include "upgradectl_program.h"

#include <chrono>

#include "process.h"
#include "support.h"

namespace driverupgrade::e2e {

KubectlResult RunUpgradectl(const ControlPlane& control_plane, const std::vector<std::string>& arguments) {
  const std::filesystem::path out = control_plane.folder() / "upgradectl.out";
  const std::filesystem::path err = control_plane.folder() / "upgradectl.err";
  std::vector<std::string> command = {DRIVERUPGRADE_UPGRADECTL};
  command.insert(command.end(), arguments.begin(), arguments.end());
  ProcessOptions options;
  options.out = out;
  options.err = err;
  Process process(command, options);
  const std::optional<int> code = process.Wait(std::chrono::seconds(60));
  if (!code) process.Kill();
  return {.exit_code = code.value_or(137), .out = ReadFile(out), .err = ReadFile(err)};
}

}  // namespace driverupgrade::e2e
