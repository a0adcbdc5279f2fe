// Another program's output, within limits. Private to src/kubernetes.
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
  // "NAME=value"; set over what this process has.
  std::vector<std::string> environment = {};
  absl::Duration timeout = absl::Seconds(30);
  std::size_t output_size_max = std::size_t{1} << 20;
  std::stop_token stop = {};
};

// What it prints, once it has ended with code 0, or with one that another part of this process has taken. Its standard
// input is empty, its standard error thrown away, and no
// other file of this process is open in it. It leads a process group of its own, which is killed when the time is over
// or the output too long, or a stop requested. Errors: NotFound, PermissionDenied, DeadlineExceeded, Cancelled,
// OutOfRange, Unavailable (it failed).
absl::StatusOr<std::string> RunProgram(const ProgramParams& params);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_KUBERNETES_RUN_PROGRAM_H_
