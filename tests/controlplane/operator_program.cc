#include "operator_program.h"

#include <chrono>
#include <cstdlib>
#include <regex>
#include <stdexcept>

#include "support.h"

namespace driverupgrade::e2e {

std::filesystem::path FindProgram(const std::string& name) {
  std::filesystem::path program;
#ifdef DRIVERUPGRADE_OPERATORS_DIR
  program = std::filesystem::path(DRIVERUPGRADE_OPERATORS_DIR) / name;
#endif
  const char* folder = std::getenv("DRIVERUPGRADE_BIN_DIR");
  if (folder != nullptr && *folder != '\0') program = std::filesystem::path(folder) / name;
  if (program.empty() || !std::filesystem::exists(program)) {
    throw std::runtime_error("no " + name + ": build the examples, or set DRIVERUPGRADE_BIN_DIR (looked for \"" +
                             program.string() + "\")");
  }
  return program;
}

std::vector<std::string> TransportOptions() {
  const char* name = std::getenv("DRIVERUPGRADE_TRANSPORT");
  if (name == nullptr || *name == '\0') return {};
  return {"--transport", name};
}

OperatorProgram::OperatorProgram(const ControlPlane& control_plane, const std::string& name,
                                 const std::filesystem::path& kubeconfig, const std::vector<std::string>& options) {
  static int count = 0;
  log_ = control_plane.folder() /
         (std::filesystem::path(name).filename().string() + "-" + std::to_string(++count) + ".log");
  std::vector<std::string> command = {FindProgram(name).string(), "--kubeconfig", kubeconfig.string()};
  const std::vector<std::string> transport = TransportOptions();
  command.insert(command.end(), transport.begin(), transport.end());
  command.insert(command.end(), options.begin(), options.end());
  ProcessOptions process_options;
  process_options.out = log_;
  process_ = std::make_unique<Process>(command, process_options);
}

std::string OperatorProgram::Log() const { return ReadFile(log_); }

int OperatorProgram::Port() const {
  std::smatch match;
  std::string log;
  const bool told = Eventually(std::chrono::seconds(30), [&] {
    log = Log();
    return std::regex_search(log, match, std::regex(R"(msg=listening .*port=(\d+))"));
  });
  if (!told) throw std::runtime_error("the operator does not report its address\n" + Log());
  return std::stoi(match[1]);
}

}  // namespace driverupgrade::e2e
