// Runs an operator of examples/operators/, usually as a service, with the permissions of its ServiceAccount.
#ifndef DRIVERUPGRADE_TESTS_CONTROLPLANE_OPERATOR_PROGRAM_H_
#define DRIVERUPGRADE_TESTS_CONTROLPLANE_OPERATOR_PROGRAM_H_

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "control_plane.h"
#include "process.h"

namespace driverupgrade::e2e {

// Returns the path of the program that CMake built, or of the program with this name in DRIVERUPGRADE_BIN_DIR if that
// variable is set. Throws std::runtime_error if the program does not exist.
std::filesystem::path FindProgram(const std::string& name);

// Returns options that select the HTTP library to test. The list is empty if DRIVERUPGRADE_TRANSPORT is not set; the
// program then uses its default library.
std::vector<std::string> TransportOptions();

// A program that runs from the construction to the destruction of this object.
class OperatorProgram {
 public:
  // `name` is a program that CMake built, or the path of another program. `kubeconfig` determines the program's
  // permissions.
  OperatorProgram(const ControlPlane& control_plane, const std::string& name, const std::filesystem::path& kubeconfig,
                  const std::vector<std::string>& options);

  bool IsRunning() { return process_->IsRunning(); }
  // Returns the exit code if the program has exited on its own, otherwise -1.
  int ExitCode() { return process_->Wait(std::chrono::seconds(0)).value_or(-1); }
  // Returns the program's output so far.
  std::string Log() const;
  // Returns the port that the program chose for its pages. Throws std::runtime_error if the program does not report a
  // port.
  int Port() const;

 private:
  std::filesystem::path log_;
  std::unique_ptr<Process> process_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_OPERATOR_PROGRAM_H_
