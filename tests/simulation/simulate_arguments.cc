#include "simulate_arguments.h"

#include <set>

#include "CLI/CLI.hpp"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "driverupgrade/version.h"
#include "fmt/format.h"

namespace driverupgrade::tests {
namespace {

using testing::Fault;
using testing::kFaultCount;
using testing::kModeCount;
using testing::Mode;
using testing::SimulationOptions;

constexpr std::size_t kWholeTrace = 1'000'000;

// Parses a list of faults such as `F3,F17`.
std::set<Fault> ParseFaults(const std::string& text) {
  std::set<Fault> faults;
  for (absl::string_view name : absl::StrSplit(text, ',')) {
    int number = 0;
    if (name.empty() || name[0] != 'F' || !absl::SimpleAtoi(name.substr(1), &number) || number < 1 ||
        number > kFaultCount) {
      throw CLI::ValidationError(
          fmt::format("--without: `{}` is not a fault; faults are F1 to F{}", std::string(name), kFaultCount));
    }
    faults.insert(static_cast<Fault>(number - 1));
  }
  return faults;
}

// Parses a list of modes such as `release,two-drivers`. Every seed has these modes and draws the other modes as usual.
// With `none`, no seed has any mode.
void ForceModes(const std::string& text, SimulationOptions& options) {
  if (text == "none") return options.mode_per_mille.fill(0);
  for (absl::string_view name : absl::StrSplit(text, ',')) {
    bool known = false;
    for (int i = 0; i < kModeCount; ++i) {
      if (std::string_view(name.data(), name.size()) != ToString(static_cast<Mode>(i))) continue;
      options.mode_per_mille[static_cast<std::size_t>(i)] = 1000;
      known = true;
    }
    if (!known) throw CLI::ValidationError(fmt::format("--mode: there is no mode `{}`", std::string(name)));
  }
}

void AddRuns(CLI::App& app, SimulateArguments& arguments) {
  app.add_option("--first-seed,--seed", arguments.first_seed, "the first seed")->capture_default_str();
  app.add_option("--seeds", arguments.seeds, "number of seeds")->capture_default_str();
  app.add_option("--jobs", arguments.jobs, "number of seeds that run at the same time")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_flag("--twice", arguments.twice, "run each seed twice; fail if the two runs differ");
  app.add_flag("--coverage", arguments.coverage, "print how often each fault, transition and gate was reached");
  app.add_flag_callback(
      "--require-coverage", [&] { arguments.coverage = arguments.require_coverage = true; },
      "same as --coverage; fail if one of them was not reached");
  app.add_flag_callback(
      "--trace",
      [&] {
        arguments.options.trace = true;
        arguments.options.trace_lines_max = kWholeTrace;
      },
      "print every event");
  app.add_flag("--shrink", arguments.shrink, "search for a smaller simulation with which a failing seed still fails");
  app.add_flag("--mutants", arguments.mutants, "plant each known defect in turn; fail if one is not found");
  app.add_option_function<std::string>(
         "--mode",
         [&](const std::string& text) {
           ForceModes(text, arguments.options);
           arguments.modes = text;
         },
         "modes of every seed, or `none`")
      ->type_name("MODE,MODE");
  app.add_flag("--require-modes", arguments.require_modes, "fail if no seed uses one of these modes")->needs("--mode");
  app.add_flag("--c-interface", arguments.c_interface, "replicas are hosts of the C interface, which exchange bytes");
  app.add_flag("--beside-native", arguments.beside_native,
               "also run each seed natively; fail if the nodes do not end in the same state")
      ->needs("--c-interface");
  app.add_flag("--until-failure", arguments.until_failure, "start no further seed after one has failed");
  app.add_option("--commit", arguments.commit, "commit to write into the commands that replay a seed");
}

void AddWorld(CLI::App& app, SimulationOptions& options) {
  const auto percent = [&](const char* name, int& value, const char* what) {
    app.add_option(name, value, what)->type_name("PERCENT")->check(CLI::Range(0, 100))->capture_default_str();
  };
  app.add_option("--nodes", options.nodes, "number of nodes of each cluster (default: drawn by the seed)")
      ->check(CLI::PositiveNumber);
  app.add_option("--nodes-max", options.nodes_max, "maximum number of nodes that a seed draws")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  percent("--wire", options.wire_percent, "share of seeds whose requests go through bytes");
  percent("--requestor", options.requestor_percent, "share of seeds in requestor mode");
  percent("--restart-only", options.restart_only_percent, "share of seeds that ask whether a restart is enough");
  percent("--rolling", options.rolling_percent, "share of seeds whose DaemonSet is not OnDelete");
  percent("--faults", options.fault_percent, "share of the faults that are drawn");
  app.add_option_function<std::string>(
         "--without", [&](const std::string& text) { options.without = ParseFaults(text); },
         "faults that are not drawn")
      ->type_name("F1,F2");
  app.add_option_function<int>(
         "--chaos-minutes", [&](int minutes) { options.chaos_max = absl::Minutes(minutes); },
         "duration of the phase with faults")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--light", options.light, "few faults: shows what they and the engine add to a rollout");
  app.add_option("--mutant", options.mutant, "plant the defect with this number")->check(CLI::NonNegativeNumber);
}

}  // namespace

std::variant<SimulateArguments, int> ParseSimulateArguments(int argc, const char* const* argv) {
  SimulateArguments arguments;
  if (argc > 0) arguments.program = argv[0];
  CLI::App app{
      "Simulates upgrades of clusters with faults, each determined by its seed, and checks the invariants.\n"
      "Exit codes: 0 nothing was broken; 1 something was, or --require-... or --mutants found a gap; 2 usage."};
  app.name("simulate");
  app.set_version_flag("--version", DRIVERUPGRADE_VERSION_STRING);
  // The last value of a repeated option counts, because scripts/soak.sh appends the user's arguments to its defaults.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  AddRuns(app, arguments);
  AddWorld(app, arguments.options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return arguments;
}

std::string ReplayCommand(const SimulateArguments& arguments, std::uint64_t seed) {
  std::string command = fmt::format("{} --seed {} --trace", arguments.program, seed);
  if (arguments.options.nodes) command += fmt::format(" --nodes {}", *arguments.options.nodes);
  if (arguments.options.nodes_max != SimulationOptions{}.nodes_max) {
    command += fmt::format(" --nodes-max {}", arguments.options.nodes_max);
  }
  if (arguments.options.chaos_max != SimulationOptions{}.chaos_max) {
    command += fmt::format(" --chaos-minutes {}", absl::ToInt64Minutes(arguments.options.chaos_max));
  }
  const SimulationOptions usual{};
  const auto percent = [&](const char* name, int value, int usually) {
    if (value != usually) command += fmt::format(" {} {}", name, value);
  };
  percent("--wire", arguments.options.wire_percent, usual.wire_percent);
  percent("--requestor", arguments.options.requestor_percent, usual.requestor_percent);
  percent("--restart-only", arguments.options.restart_only_percent, usual.restart_only_percent);
  percent("--rolling", arguments.options.rolling_percent, usual.rolling_percent);
  if (!arguments.modes.empty()) command += " --mode " + arguments.modes;
  if (arguments.options.mutant != 0) command += fmt::format(" --mutant {}", arguments.options.mutant);
  std::string without;
  for (const Fault fault : arguments.options.without) {
    without += fmt::format("{}F{}", without.empty() ? "" : ",", static_cast<int>(fault) + 1);
  }
  if (!without.empty()) command += " --without " + without;
  if (arguments.options.fault_percent != SimulationOptions{}.fault_percent) {
    command += fmt::format(" --faults {}", arguments.options.fault_percent);
  }
  if (arguments.options.light) command += " --light";
  if (arguments.c_interface) command += " --c-interface";
  if (!arguments.commit.empty()) command += fmt::format("  # at {}", arguments.commit);
  return command;
}

}  // namespace driverupgrade::tests
