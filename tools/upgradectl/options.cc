#include "upgradectl/options.h"

#include <sstream>

#include "CLI/CLI.hpp"
#include "driverupgrade/version.h"

namespace upgradectl {
namespace {

void AddWhat(CLI::App& plan, Options& options) {
  plan.add_option("--cluster", options.cluster,
                  "what kubectl get nodes,pods,daemonsets,controllerrevisions,nodemaintenances -A "
                  "-o json printed; - is standard input")
      ->required();
  plan.add_option("--policy", options.policy, "YAML or JSON file: the upgradePolicy section")->required();
  plan.add_option("--defaults", options.defaults, "what the policy means where it is silent")
      ->check(CLI::IsMember({"plain", "gpu-operator", "network-operator"}))
      ->capture_default_str();
  plan.add_option("--driver", options.driver, "which driver: gpu, ofed, ...")->required();
  plan.add_option("--domain", options.domain, "domain of its labels and annotations")->capture_default_str();
  plan.add_option("--namespace", options.ns, "namespace of the driver's DaemonSets")->required();
  plan.add_option("--driver-labels", options.driver_labels, "selects the driver's DaemonSets and pods: app=driver")
      ->required();
  plan.add_option("--validation-selector", options.validation_selector,
                  "pods that must be ready before a node is given back; none if absent");
  plan.add_flag(
      "--gpu-pods", options.gpu_pods,
      "pods that ask for a GPU use the driver; without it the policy's podDeletion.podSelector alone chooses");
}

void AddWhen(CLI::App& plan, Options& options) {
  plan.add_option("--at", options.at, "the time of the pass; now if absent")->type_name("RFC3339");
  plan.add_option("--active-since", options.active_since,
                  "since when the engine has been at work without a break; long ago if absent")
      ->type_name("RFC3339");
}

}  // namespace

std::variant<Options, Ending> ParseOptions(int argc, const char* const* argv) {
  Options options;
  CLI::App app{
      "Shows what a driver upgrade would do, without a cluster. Changes nothing.\n"
      "Exit codes: 0 shown; 2 the command line, the dump or the policy is wrong."};
  app.name("upgradectl");
  app.set_version_flag("--version", DRIVERUPGRADE_VERSION_STRING);
  app.require_subcommand(1);
  CLI::App* plan = app.add_subcommand("plan", "What one pass over all nodes would do");
  AddWhat(*plan, options);
  AddWhen(*plan, options);
  examples::AddRequestorArguments(*plan, options.requestor);
  plan->add_option("-o,--output", options.output, "how to print it")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() != 0) return Ending{.failed = true, .text = error.what()};
    std::ostringstream text;
    app.exit(error, text, text);
    return Ending{.text = text.str()};
  }
  return options;
}

}  // namespace upgradectl
