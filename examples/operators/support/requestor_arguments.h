// The options of requestor mode on a command line.
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

/// As they were typed.
struct RequestorArguments {
  /// nullopt: no requestor mode. An empty one was typed, and is an error.
  std::optional<std::string> id = {};
  std::string ns = "default";
  std::string name_prefix = "nvidia-operator";
};

/// `--requestor-id`, `--requestor-namespace` and `--requestor-prefix`, into `arguments`, which must outlive the
/// parsing.
void AddRequestorArguments(CLI::App& app, RequestorArguments& arguments);

/// nullopt without an id. Errors begin with the option that they are about.
[[nodiscard]] absl::StatusOr<std::optional<driverupgrade::RequestorOptions>> ReadRequestorArguments(
    const RequestorArguments& arguments);

}  // namespace examples

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_SUPPORT_REQUESTOR_ARGUMENTS_H_
