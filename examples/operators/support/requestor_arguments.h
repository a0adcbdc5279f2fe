// Parses the command-line options for requestor mode.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_REQUESTOR_ARGUMENTS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_REQUESTOR_ARGUMENTS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "driverupgrade/engine_options.h"

namespace CLI {
class App;
}

namespace examples {

/// The arguments as typed.
struct RequestorArguments {
  /// nullopt: requestor mode is off. An empty id is an error, because the user has set it.
  std::optional<std::string> id = {};
  std::string ns = "default";
  std::string name_prefix = "nvidia-operator";
};

/// Adds `--requestor-id`, `--requestor-namespace` and `--requestor-prefix`, which set `arguments`. `arguments` must
/// outlive the parsing.
void AddRequestorArguments(CLI::App& app, RequestorArguments& arguments);

/// Returns the requestor's options; nullopt if there is no id. Errors start with the name of the option.
[[nodiscard]] absl::StatusOr<std::optional<driverupgrade::RequestorOptions>> ReadRequestorArguments(
    const RequestorArguments& arguments);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_REQUESTOR_ARGUMENTS_H_
