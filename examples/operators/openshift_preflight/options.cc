#include "openshift_preflight/options.h"

#include "CLI/CLI.hpp"
#include "driverupgrade/version.h"
#include "support/parse_arguments.h"

namespace openshift_preflight {

std::variant<Options, int> ParseOptions(int argc, const char* const* argv) {
  Options options;
  CLI::App app{
      "Checks an OpenShift cluster before the GPU Operator is installed or upgraded. Changes nothing.\n"
      "Exit codes: 0 nothing above a note; 1 warnings or errors; 2 usage or configuration; "
      "3 the cluster refused a request or cannot be reached."};
  app.name("openshift_preflight");
  app.set_version_flag("--version", DRIVERUPGRADE_VERSION_STRING);
  examples::AddClusterArguments(app, options.cluster);
  app.add_option("--namespace", options.collect.ns, "namespace of the GPU Operator")->capture_default_str();
  app.add_option("-o,--output", options.output, "output format")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  try {
    examples::ParseArguments(app, argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitGood : kExitUsage;
  }
  return options;
}

}  // namespace openshift_preflight
