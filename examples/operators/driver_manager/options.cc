#include "driver_manager/options.h"

#include <algorithm>
#include <string_view>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "driver_manager/environment.h"
#include "driverupgrade/version.h"
#include "fmt/format.h"
#include "support/chosen_transport.h"
#include "support/parse_arguments.h"

namespace driver_manager {
namespace {

// Returns the flag for a variable: --node-name for NODE_NAME.
std::string FlagOf(std::string variable) {
  std::transform(variable.begin(), variable.end(), variable.begin(),
                 [](char c) { return c == '_' ? '-' : absl::ascii_tolower(static_cast<unsigned char>(c)); });
  return "--" + variable;
}

bool IsSwitch(const Variable& variable) {
  const std::string_view value = variable.default_value;
  return value == "true" || value == "false";
}

// Adds a flag for each variable. A flag without a value switches the setting on.
void AddVariables(CLI::App& app, std::map<std::string, std::string>& values) {
  for (const Variable& variable : Variables()) {
    std::string& value = values[variable.name];
    const std::string flag = FlagOf(variable.name);
    const std::string meaning = "same as " + std::string(variable.name);
    if (IsSwitch(variable)) {
      app.add_flag(flag, value, meaning)->group("Flags before variables");
    } else {
      app.add_option(flag, value, meaning)->group("Flags before variables");
    }
  }
}

std::string EnvironmentHelp() {
  std::string text = "Environment variables, each also available as a flag:\n";
  for (const Variable& variable : Variables()) {
    const std::string value = *variable.default_value == '\0' ? "" : fmt::format(" [{}]", variable.default_value);
    text += fmt::format("  {}{}\n      {}\n", variable.name, value, variable.meaning);
  }
  return text;
}

}  // namespace

std::variant<Options, int> ParseOptions(int argc, char** argv) {
  Options options;
  CLI::App app{
      "Init container of a driver pod: removes the old driver before the pod installs its driver.\n"
      "Exit codes: 0 the driver may be installed; 1 the driver must not be installed yet, or the host has its own "
      "driver; 2 usage or configuration."};
  app.set_version_flag("--version", DRIVERUPGRADE_VERSION_STRING);
  app.footer(EnvironmentHelp());
  options.transport = examples::TransportNames().front();
  app.add_option("--transport", options.transport, "HTTP library")
      ->check(CLI::IsMember(examples::TransportNames()))
      ->capture_default_str();
  AddVariables(app, options.variables);
  app.add_option("--host-root", options.host_root)->group("");
  app.fallthrough();  // flags may also follow the command
  app.add_subcommand("uninstall_driver", "stop all users of the loaded driver, and unload it")->callback([&] {
    options.command = Command::kUninstallDriver;
  });
  app.add_subcommand("preflight_check", "does nothing yet")->callback([&] {
    options.command = Command::kPreflightCheck;
  });
  app.require_subcommand(1);
  try {
    examples::ParseArguments(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitDone : kExitUsage;
  }
  std::erase_if(options.variables, [&](const auto& variable) { return app.count(FlagOf(variable.first)) == 0; });
  return options;
}

}  // namespace driver_manager
