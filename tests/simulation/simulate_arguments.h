// The command line of simulate.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_SIMULATE_ARGUMENTS_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_SIMULATE_ARGUMENTS_H_

#include <cstdint>
#include <string>
#include <variant>

#include "simulation/simulation.h"

namespace driverupgrade::tests {

struct SimulateArguments {
  // Name under which the program was started, for the commands that replay a seed.
  std::string program = "simulate";
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1;
  int jobs = 1;
  bool coverage = false;
  bool require_coverage = false;
  bool twice = false;
  bool shrink = false;
  bool mutants = false;
  bool c_interface = false;
  bool beside_native = false;
  // The value of `--mode`, unparsed.
  std::string modes = {};
  bool require_modes = false;
  bool until_failure = false;
  // Commit, used only in the printed replay commands.
  std::string commit = {};
  testing::SimulationOptions options = {};
};

// Parses the command line. Returns an exit code if there is nothing to run: after --help, or after the function has
// printed an error.
std::variant<SimulateArguments, int> ParseSimulateArguments(int argc, const char* const* argv);

// Returns the command that replays `seed` with the same options.
std::string ReplayCommand(const SimulateArguments& arguments, std::uint64_t seed);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_SIMULATE_ARGUMENTS_H_
