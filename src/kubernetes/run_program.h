// Reads another program's output, within limits. Private to src/kubernetes.
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
  // The program, looked up in PATH unless it has a "/", and its arguments.
  std::vector<std::string> command = {};
  // "NAME=value"; overrides the environment of this process.
  std::vector<std::string> environment = {};
  absl::Duration timeout = absl::Seconds(30);
  std::size_t output_size_max = std::size_t{1} << 20;
  std::stop_token stop = {};
};

// Returns the output of the program once it has exited with code 0, or with a code that another part of this process
// has collected. Its standard input is empty, its standard error is discarded, and it inherits no other open file of
// this process. It leads its own process group, which is killed after the timeout, if the output is too long, or if a
// stop is requested. Errors: NotFound, PermissionDenied, DeadlineExceeded, Cancelled, OutOfRange, Unavailable (it
// failed).
absl::StatusOr<std::string> RunProgram(const ProgramParams& params);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_RUN_PROGRAM_H_
