// Compares gpu_operator with the minimum that the cluster allows, on a real control plane.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "controlplane/support.h"
#include "fmt/format.h"
#include "rollout/arena.h"
#include "rollout/program.h"
#include "rollout/report.h"

namespace {

using driverupgrade::bench::Arena;
using driverupgrade::bench::FormatTargets;
using driverupgrade::bench::InGo;
using driverupgrade::bench::Limit;
using driverupgrade::bench::NotDone;
using driverupgrade::bench::Operator;
using driverupgrade::bench::Program;
using driverupgrade::bench::Rollout;
using driverupgrade::bench::Run;
using driverupgrade::bench::Task;

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

struct Options {
  std::vector<int> nodes = {50, 200};
  std::vector<int> parallel = {10, 0};
  std::vector<std::string> events = {"none", "all"};
  int runs = 5;
  int timeout_minutes = 10;
  bool quick = false;
  std::string output = "text";
  std::string limit = DRIVERUPGRADE_ROLLOUT_LIMIT;
  std::string gpu_operator = DRIVERUPGRADE_GPU_OPERATOR;
  std::string go_operator;
  std::string go_library;
};

void Declare(CLI::App& app, Options& options) {
  app.add_option("--nodes", options.nodes, "numbers of nodes to measure")
      ->delimiter(',')
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--parallel", options.parallel, "number of nodes upgraded at the same time; 0: all")
      ->delimiter(',')
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--runs", options.runs, "number of runs of each program")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--timeout-minutes", options.timeout_minutes, "timeout of a program; exceeding it is a valid result")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--events", options.events, "Event settings with which gpu_operator runs: none, all")
      ->delimiter(',')
      ->check(CLI::IsMember({"none", "all"}))
      ->capture_default_str();
  app.add_flag("--quick", options.quick, "50 nodes, 10 at a time, one run");
  app.add_option("-o,--output", options.output, "output format")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  app.add_option("--gpu-operator", options.gpu_operator, "gpu_operator program (default: the one from this build)")
      ->check(CLI::ExistingFile);
  app.add_option("--go-operator", options.go_operator, "program go/examples/operator (default: not measured)")
      ->check(CLI::ExistingFile);
  app.add_option("--go-library", options.go_library, "program bench/peer (default: not measured)")
      ->check(CLI::ExistingFile);
}

Run MeasureOne(Arena& arena, const Program& program, const std::string& what) {
  const Run run = arena.Measure(program);
  fmt::print(stderr, "{}: {}: {:.2f} s\n", what, program.name, run.seconds);
  return run;
}

// Alternates between the programs, so that all of them are affected if the machine is temporarily slow.
Rollout MeasureRollout(Arena& arena, int nodes, const Task& task, const Options& options) {
  std::vector<Program> programs = {Limit(options.limit, task)};
  for (const std::string& events : options.events) programs.push_back(Operator(options.gpu_operator, task, events));
  if (!options.go_operator.empty()) programs.push_back(InGo("Go module, Events", options.go_operator, task));
  if (!options.go_library.empty()) programs.push_back(InGo("Go library, Events", options.go_library, task));
  Rollout rollout{.nodes = nodes, .parallel = task.parallel, .series = {}, .not_done = {}};
  for (const Program& program : programs) rollout.series.push_back({.program = program.name, .runs = {}});
  for (int run = 1; run <= options.runs; ++run) {
    const std::string what =
        fmt::format("{} nodes, parallel {}, run {} of {}", nodes, task.parallel, run, options.runs);
    for (std::size_t i = 0; i < programs.size(); ++i) {
      try {
        rollout.series[i].runs.push_back(MeasureOne(arena, programs[i], what));
      } catch (const NotDone& error) {
        // The next program would start in the middle of a rollout. Earlier measurements are kept.
        rollout.not_done = fmt::format("{}: {}", what, error.what());
        return rollout;
      }
    }
  }
  return rollout;
}

// Prints text output after each rollout, so that hours of measurements are not lost if a later rollout fails.
std::vector<Rollout> MeasureAll(const Options& options) {
  const driverupgrade::e2e::TemporaryFolder folder;
  std::vector<Rollout> rollouts;
  if (options.output == "text") fmt::print("{}", FormatTargets());
  for (const int nodes : options.nodes) {
    Arena arena(nodes);
    Task task{.parallel = 0, .timeout = std::chrono::minutes(options.timeout_minutes), .folder = folder.path()};
    // Discards the first rollout in a cluster, because it is the slowest, and it always runs the limit program.
    MeasureOne(arena, Limit(options.limit, task), fmt::format("{} nodes, not counted", nodes));
    for (const int parallel : options.parallel) {
      task.parallel = parallel;
      rollouts.push_back(MeasureRollout(arena, nodes, task, options));
      if (options.output == "text") {
        fmt::print("{}", FormatText(rollouts.back()));
        std::fflush(stdout);
      }
      if (!rollouts.back().not_done.empty()) break;
    }
  }
  return rollouts;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{
      "Compares rollouts of gpu_operator with the minimum that the cluster allows (rollout_limit).\n"
      "Needs DRIVERUPGRADE_CONTROLPLANE_BINARY; scripts/bench.sh does it all."};
  Declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  // For each connection of rollout_limit and gpu_operator, cpprestsdk makes OpenSSL read the files that these variables
  // name. The comparison would then measure how fast certificates are read.
  for (const char* name : {"SSL_CERT_FILE", "SSL_CERT_DIR"}) unsetenv(name);
  if (options.quick) {
    options.nodes = {50};
    options.parallel = {10};
    options.runs = 1;
  }
  try {
    const std::vector<Rollout> rollouts = MeasureAll(options);
    if (options.output == "json") fmt::print("{}", FormatJson(rollouts));
  } catch (const std::exception& error) {
    fmt::print(stderr, "rollout_bench: {}\n", error.what());
    return kExitFailed;
  }
  return 0;
}
