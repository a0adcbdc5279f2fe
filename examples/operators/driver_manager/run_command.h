/// Runs another program until it exits.
///
/// Defines CommandResult and RunCommand.
///
///     absl::StatusOr<CommandResult> result = RunCommand({"rmmod", "nvidia"}, absl::Seconds(60));
///
/// Blocks. A command that exceeds its timeout is killed together with its process group.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_RUN_COMMAND_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_RUN_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace driver_manager {

struct CommandResult {
  /// Exit code of the command, or 128 plus the signal number if a signal terminated the command.
  int exit_code = 0;
  /// Standard output and standard error, up to 64 KiB, without the final newline.
  std::string output = {};
};

/// `command[0]` is looked up in PATH unless it contains a slash. Errors: NotFound (no such program), DeadlineExceeded,
/// Unavailable.
absl::StatusOr<CommandResult> RunCommand(const std::vector<std::string>& command, absl::Duration timeout);

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_RUN_COMMAND_H_
