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
    throw CLI::ValidationError(fmt::format("--timeout: `{}` is not a duration such as 90s, 10m or 1h", text));
  }
  return timeout == absl::ZeroDuration() ? absl::InfiniteDuration() : timeout;
}

}  // namespace

std::variant<Options, int> ParseOptions(int argc, const char* const* argv) {
  Options options;
  SafeLoadOptions& safe_load = options.safe_load;
  bool skip_preflight = true;
  CLI::App app{
      "Init container of a driver pod: requests the evacuation of its node, and exits when the driver may be loaded.\n"
      "Exit codes: 0 the driver may be loaded; 1 stopped, or the timeout expired; 2 usage or configuration; 3 the "
      "cluster refused a request; 4 the node no longer exists."};
  app.name("safe_load_init");
  app.set_version_flag("--version", DRIVERUPGRADE_VERSION_STRING);
  examples::AddClusterArguments(app, options.cluster);
  app.add_option("--node-name", safe_load.node_name, "name of the node on which this pod runs")->required();
  app.add_option("--configmap-name", safe_load.configmap_name, "name of the ConfigMap with the configuration")
      ->required();
  app.add_option("--configmap-namespace", safe_load.configmap_ns, "namespace of the ConfigMap")->required();
  app.add_option("--configmap-key", safe_load.configmap_key, "key of the JSON document in the ConfigMap")
      ->capture_default_str();
  app.add_option_function<std::string>(
         "--timeout", [&](const std::string& text) { safe_load.timeout = TimeoutOf(text); },
         "timeout, such as 10m; 0: none (default: 0)")
      ->type_name("DURATION");
  app.add_option("--skip-preflight-checks", skip_preflight, "must be true, because this program has no module checks")
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
