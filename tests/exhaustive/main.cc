// Runs exhaustive checks of any size: `exhaustive --nodes 4 --controllers 1 --faults 2`. --help lists the other
// options.
#include <cstddef>
#include <iostream>

#include "CLI/CLI.hpp"
#include "driverupgrade/version.h"
#include "exhaustive/checker.h"

namespace driverupgrade::tests {
namespace {

int Run(int argc, const char* const* argv) {
  ModelOptions options;
  std::size_t states_max = 1'000'000'000;
  bool every_state = false;
  int kinds = 0;
  int defect = 0;
  CLI::App app{
      "Checks every state of an abstract cluster.\n"
      "Exit codes: 0 no violation; 1 a violation, or too many states; 2 usage."};
  app.name("exhaustive");
  app.set_version_flag("--version", DRIVERUPGRADE_VERSION_STRING);
  app.option_defaults()->always_capture_default();
  app.add_option("--nodes", options.nodes, "number of nodes")->check(CLI::Range(1, kNodesMax));
  app.add_option("--controllers", options.controllers, "number of replicas of the operator, all of which lead")
      ->check(CLI::Range(1, kControllersMax));
  app.add_option("--faults", options.faults, "number of crashes, lost answers, late writes and cordons in total")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--kinds", kinds, "kinds of faults: 0 all, 1 no administrator, 2 lost answers only")
      ->check(CLI::Range(0, 2));
  app.add_option("--budget", options.budget, "maxParallelUpgrades")->check(CLI::NonNegativeNumber);
  app.add_option("--unavailable", options.budget_of_unavailable, "use the budget as maxUnavailable");
  app.add_option("--ledger", options.ledger, "an admission ledger grants the starts");
  app.add_option("--every-state", every_state, "write each state in a patch of its own");
  app.add_option("--at-once", options.sees_all_at_once, "a controller sees a node and its pods at the same time");
  app.add_option("--defect", defect, "plant the defect with this number");
  app.add_option("--states-max", states_max, "give up after this number of states");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  options.kinds = static_cast<FaultKinds>(kinds);
  options.defect = static_cast<Defect>(defect);
  if (every_state) options.pacing = Pacing::kEveryState;
  const CheckResult result = Check(options, states_max);
  std::cout << Describe(options, result);
  return result.broken.empty() && !result.cut ? 0 : 1;
}

}  // namespace
}  // namespace driverupgrade::tests

int main(int argc, char** argv) { return driverupgrade::tests::Run(argc, argv); }
