#include "safe_load_init/options.h"

#include "CLI/CLI.hpp"
#include "driverupgrade/version.h"
#include "fmt/format.h"
#include "support/parse_arguments.h"

namespace safe_load_init {
namespace {

absl::Duration TimeoutOf(const std::string& text) {
  absl::Duration timeout;
  if (!absl::ParseDuration(text, &timeout) || timeout < absl::ZeroDuration()) {
    throw CLI::ValidationError(fmt::format("--timeout: `{}` is no duration like 90s, 10m or 1h", text));
  }
  return timeout == absl::ZeroDuration() ? absl::InfiniteDuration() : timeout;
}

}  // namespace

std::variant<Options, int> ParseOptions(int argc, const char* const* argv) {
  Options options;
  SafeLoadOptions& safe_load = options.safe_load;
  bool skip_preflight = true;
  CLI::App app{
      "Init container of a driver pod: asks for its node to be evacuated, and ends when the driver may be loaded.\n"
      "Exit codes: 0 load the driver; 1 stopped, or the time ran out; 2 usage or configuration; 3 the cluster refused; "
      "4 the node is gone."};
  app.name("safe_load_init");
  app.set_version_flag("--version", DRIVERUPGRADE_VERSION_STRING);
  examples::AddClusterArguments(app, options.cluster);
  app.add_option("--node-name", safe_load.node_name, "the node that this pod is on")->required();
  app.add_option("--configmap-name", safe_load.configmap_name, "the ConfigMap that says what to do")->required();
  app.add_option("--configmap-namespace", safe_load.configmap_ns, "its namespace")->required();
  app.add_option("--configmap-key", safe_load.configmap_key, "the key of the JSON in it")->capture_default_str();
  app.add_option_function<std::string>(
         "--timeout", [&](const std::string& text) { safe_load.timeout = TimeoutOf(text); },
         "give up after: 10m; 0 or absent: never")
      ->type_name("DURATION");
  app.add_option("--skip-preflight-checks", skip_preflight,
                 "there are no module checks here: anything but true is refused")
      ->envname("SKIP_PREFLIGHT_CHECKS")
      ->capture_default_str();
  try {
    examples::ParseArguments(app, argc, argv);
    if (!skip_preflight) {
      throw CLI::ValidationError("SKIP_PREFLIGHT_CHECKS is false, but this init container has no module checks");
    }
    if (safe_load.node_name.empty()) throw CLI::ValidationError("--node-name is empty");
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitLoad : kExitUsage;
  }
  return options;
}

}  // namespace safe_load_init
