#include "support/requestor_arguments.h"

#include <string_view>

#include "CLI/CLI.hpp"
#include "fmt/format.h"

namespace examples {
namespace {

using driverupgrade::RequestorOptions;

absl::Status Check(std::string_view option, const RequestorOptions& requestor) {
  const absl::Status status = driverupgrade::Validate(requestor);
  if (status.ok()) return status;
  const std::string_view message(status.message().data(), status.message().size());
  return absl::Status(status.code(), fmt::format("{}: {}", option, message));
}

}  // namespace

void AddRequestorArguments(CLI::App& app, RequestorArguments& arguments) {
  CLI::Option* id = app.add_option_function<std::string>(
      "--requestor-id", [&arguments](const std::string& text) { arguments.id = text; },
      "ID of the requestor that requests node evacuation from the maintenance operator; turns requestor mode on");
  app.add_option("--requestor-namespace", arguments.ns, "namespace of the NodeMaintenance objects")
      ->needs(id)
      ->capture_default_str();
  app.add_option("--requestor-prefix", arguments.name_prefix, "prefix of the names of the NodeMaintenance objects")
      ->needs(id)
      ->capture_default_str();
}

absl::StatusOr<std::optional<RequestorOptions>> ReadRequestorArguments(const RequestorArguments& arguments) {
  if (!arguments.id) return std::optional<RequestorOptions>();
  // Adds the values one at a time to an otherwise valid requestor, so that an error refers to the value added last.
  RequestorOptions requestor{.id = *arguments.id, .ns = "default"};
  if (const absl::Status status = Check("--requestor-id", requestor); !status.ok()) return status;
  requestor.ns = arguments.ns;
  if (const absl::Status status = Check("--requestor-namespace", requestor); !status.ok()) return status;
  requestor.name_prefix = arguments.name_prefix;
  if (const absl::Status status = Check("--requestor-prefix", requestor); !status.ok()) return status;
  return std::optional(requestor);
}

}  // namespace examples
