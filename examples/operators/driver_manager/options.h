// The command line of driver_manager.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_OPTIONS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_OPTIONS_H_

#include <map>
#include <string>
#include <variant>

namespace driver_manager {

/// Exit codes of the program.
inline constexpr int kExitDone = 0;
inline constexpr int kExitNotDone = 1;  // the kubelet restarts the container
inline constexpr int kExitUsage = 2;    // usage or configuration error

enum class Command { kUninstallDriver, kPreflightCheck };

struct Options {
  Command command = Command::kPreflightCheck;
  /// One of examples::TransportNames.
  std::string transport = {};
  /// Variables that were set by flags, and that override the environment: `--drain-use-force` sets DRAIN_USE_FORCE.
  std::map<std::string, std::string> variables = {};
  /// Root directory of the host's files; only tests change it.
  std::string host_root = "/";
};

/// Returns the options, or the exit code if the program must exit immediately after printing help or an error.
std::variant<Options, int> ParseOptions(int argc, char** argv);

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_OPTIONS_H_
