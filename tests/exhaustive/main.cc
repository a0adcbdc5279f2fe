// Exhaustive checks of any size: `exhaustive --nodes 4 --controllers 1 --faults 2`; --help says what else.
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include "exhaustive/checker.h"

namespace driverupgrade::tests {
namespace {

constexpr const char* kUsage =
    "exhaustive [--nodes N] [--controllers 1|2] [--faults F] [--budget P] [--ledger 0|1] [--every-state 0|1]\n"
    "           [--at-once 0|1] [--unavailable 0|1] [--kinds 0|1|2] [--defect D] [--states-max S]\n"
    "Looks at every state of an abstract cluster. Exit code: 0 nothing is broken, 1 something is, 2 usage.\n";

int Run(int argc, char** argv) {
  std::map<std::string, long> values = {{"--nodes", 2},
                                        {"--controllers", 1},
                                        {"--faults", 1},
                                        {"--budget", 1},
                                        {"--ledger", 0},
                                        {"--every-state", 0},
                                        {"--at-once", 0},
                                        {"--unavailable", 0},
                                        {"--kinds", 0},
                                        {"--defect", 0},
                                        {"--states-max", 1'000'000'000}};
  for (int i = 1; i < argc; i += 2) {
    const auto value = values.find(argv[i]);
    if (value == values.end() || i + 1 == argc) {
      std::cerr << kUsage;
      return 2;
    }
    value->second = std::strtol(argv[i + 1], nullptr, 10);
  }
  const auto number = [&](const char* name) { return static_cast<int>(values.at(name)); };
  const ModelOptions options{.nodes = number("--nodes"),
                             .controllers = number("--controllers"),
                             .faults = number("--faults"),
                             .kinds = static_cast<FaultKinds>(number("--kinds")),
                             .budget = number("--budget"),
                             .budget_of_unavailable = number("--unavailable") != 0,
                             .ledger = number("--ledger") != 0,
                             .sees_all_at_once = number("--at-once") != 0,
                             .pacing = number("--every-state") != 0 ? Pacing::kEveryState : Pacing::kChained,
                             .defect = static_cast<Defect>(number("--defect"))};
  if (options.nodes < 1 || options.nodes > kNodesMax || options.controllers < 1 ||
      options.controllers > kControllersMax || options.faults < 0) {
    std::cerr << kUsage;
    return 2;
  }
  const CheckResult result = Check(options, static_cast<std::size_t>(values.at("--states-max")));
  std::cout << Describe(options, result);
  return result.broken.empty() && !result.cut ? 0 : 1;
}

}  // namespace
}  // namespace driverupgrade::tests

int main(int argc, char** argv) { return driverupgrade::tests::Run(argc, argv); }
