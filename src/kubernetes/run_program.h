// Runs another program and reads its output, within limits. Private to src/kubernetes.
#ifndef DRIVERUPGRADE_SRC_KUBERNETES_RUN_PROGRAM_H_
#define DRIVERUPGRADE_SRC_KUBERNETES_RUN_PROGRAM_H_

#include <cstddef>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace driverupgrade {

struct ProgramParams {
  // The program, which is looked up in PATH unless it contains a "/", and its arguments.
  std::vector<std::string> command = {};
  // Variables of the form "NAME=value", which override the environment of this process.
  std::vector<std::string> environment = {};
  absl::Duration timeout = absl::Seconds(30);
  std::size_t output_size_max = std::size_t{1} << 20;
  std::stop_token stop = {};
};

// Returns the output of the program once it has exited with code 0. Also returns the output if other code in this
// process has collected the exit code. The standard input is empty, the standard error is discarded, and the program
// inherits no other open file. The program leads its own process group, which is killed after the timeout, if the
// output is too long, or if a stop is requested. Errors: NotFound, PermissionDenied, DeadlineExceeded, Cancelled,
// OutOfRange, Unavailable (the program failed).
absl::StatusOr<std::string> RunProgram(const ProgramParams& params);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_RUN_PROGRAM_H_
