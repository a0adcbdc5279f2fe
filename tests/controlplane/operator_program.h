// Runs an operator of examples/operators/ as a service, or as its options say, with the rights of its ServiceAccount.
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

// What CMake built, unless the environment names another folder. Throws std::runtime_error if there is none.
std::filesystem::path FindProgram(const std::string& name);

// The HTTP library to be tested; the program's own choice if the environment names none.
std::vector<std::string> TransportOptions();

// Runs from its construction to its destruction.
class OperatorProgram {
 public:
  // `name`: of a program that CMake built, or the path of another. `kubeconfig`: whose rights it has.
  OperatorProgram(const ControlPlane& control_plane, const std::string& name, const std::filesystem::path& kubeconfig,
                  const std::vector<std::string>& options);

  bool IsRunning() { return process_->IsRunning(); }
  // Of one that has ended by itself.
  int ExitCode() { return process_->Wait(std::chrono::seconds(0)).value_or(-1); }
  // What it has said until now.
  std::string Log() const;
  // The port that it serves its pages at; it was asked for any. Throws std::runtime_error if it does not say.
  int Port() const;

 private:
  std::filesystem::path log_;
  std::unique_ptr<Process> process_;
};

}  // namespace driverupgrade::e2e

#endif  // DRIVERUPGRADE_TESTS_CONTROLPLANE_OPERATOR_PROGRAM_H_
