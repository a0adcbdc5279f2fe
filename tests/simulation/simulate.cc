// Runs many simulations, or repeats a single one.
//
//     simulate --first-seed 1 --seeds 20000 --jobs 2 [--nodes 100]
//     simulate --seed 4711 --trace
#include <sys/resource.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "coverage.h"
#include "fmt/format.h"
#include "simulate_arguments.h"
#include "simulation/simulation.h"
#ifdef DRIVERUPGRADE_SIMULATE_WIRE
#include "simulation/wire/wire_factory.h"
#endif
#ifdef DRIVERUPGRADE_SIMULATE_HOST
#include "simulation/host/host_factory.h"
#endif

namespace {

using driverupgrade::testing::Mode;
using driverupgrade::testing::SimulationOptions;
using driverupgrade::testing::SimulationResult;
using driverupgrade::tests::Add;
using driverupgrade::tests::MissingCoverage;
using driverupgrade::tests::ModesNotMet;
using driverupgrade::tests::PrintCoverage;
using driverupgrade::tests::ReplayCommand;
using driverupgrade::tests::SimulateArguments;
using driverupgrade::tests::Totals;

constexpr int kFailuresShown = 10;

// Runs the seed a second time and compares the two runs.
void CheckTwin(const SimulationOptions& options, SimulationResult& result) {
  const SimulationResult twin = driverupgrade::testing::Simulate(result.seed, options);
  if (twin.hash == result.hash && twin.calls == result.calls) return;
  result.violation = {.invariant = "deterministic", .text = "the second run was another one than the first"};
}

// Runs the same world with native engines. The paths may differ, but the final state must be the same.
void CheckNative(SimulationOptions options, SimulationResult& result) {
  options.host = nullptr;
  options.as_hosted = true;
  const SimulationResult native = driverupgrade::testing::Simulate(result.seed, options);
  if (native.violation) {
    result.violation = native.violation;
    result.violation->text += " (natively)";
    result.trace = native.trace;
    return;
  }
  for (const auto& [node, end] : native.end) {
    const auto found = result.end.find(node);
    if (found == result.end.end() || found->second == end) continue;
    result.violation = {.invariant = "as-native", .text = fmt::format("{}: {}; natively {}", node, found->second, end)};
    return;
  }
}

// Prints how much time the engine adds to a rollout, and how much time and memory the simulation uses.
void PrintRollout(const SimulationResult& result) {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(
      "{} nodes: {:.0f} s of virtual time, {:.0f} s if only pods were waited for: {:.2f} % more; {} MB at most\n",
      result.nodes, absl::ToDoubleSeconds(result.makespan), absl::ToDoubleSeconds(result.ideal),
      100 * (absl::FDivDuration(result.makespan, result.ideal) - 1), usage.ru_maxrss / 1024);
}

// Returns whether the defect changes bytes. Such a defect has an effect only if requests and responses are sent as
// bytes.
bool IsOfBytes(const std::string& mutant) { return mutant.starts_with("bytes:"); }

// Runs the seeds with each planted defect until one of them finds the defect. Returns the exit code: 0 if every defect
// was found.
int FindMutants(const SimulateArguments& arguments) {
  const std::vector<std::string> names = driverupgrade::testing::MutantNames();
  std::vector<SimulationResult> found(names.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i = next++; i < names.size(); i = next++) {
      SimulationOptions options = arguments.options;
      options.mutant = static_cast<int>(i) + 1;
      if (IsOfBytes(names[i]) && !options.wire) continue;
      for (std::uint64_t n = 0; n < arguments.seeds && !found[i].violation; ++n) {
        found[i] = driverupgrade::testing::Simulate(arguments.first_seed + n, options);
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < arguments.jobs; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  int missed = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (IsOfBytes(names[i]) && !arguments.options.wire) continue;
    missed += !found[i].violation;
    fmt::print(
        "{:>3} {:<55} {}\n", i + 1, names[i],
        found[i].violation ? fmt::format("{} at seed {}", found[i].violation->invariant, found[i].seed) : "MISSED");
  }
  fmt::print("{} of {} mutants found\n", names.size() - static_cast<std::size_t>(missed), names.size());
  return missed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  auto parsed = driverupgrade::tests::ParseSimulateArguments(argc, argv);
  if (const int* exit_code = std::get_if<int>(&parsed)) return *exit_code;
  SimulateArguments arguments = std::get<SimulateArguments>(std::move(parsed));
#ifdef DRIVERUPGRADE_SIMULATE_WIRE
  arguments.options.wire = driverupgrade::tests::MakeWireFactory();
#endif
#ifdef DRIVERUPGRADE_SIMULATE_HOST
  if (arguments.c_interface) arguments.options.host = driverupgrade::tests::MakeHostFactory();
#else
  if (arguments.c_interface) {
    fmt::print(stderr, "simulate: this build has no C interface\n");
    return 2;
  }
#endif
  if (arguments.mutants) return FindMutants(arguments);
  Totals totals;
  std::mutex mutex;
  std::atomic<std::uint64_t> next = 0;
  std::atomic<bool> over = false;
  const auto work = [&] {
    for (std::uint64_t i = next++; i < arguments.seeds && !over; i = next++) {
      const std::uint64_t seed = arguments.first_seed + i;
      SimulationResult result = driverupgrade::testing::Simulate(seed, arguments.options);
      if (arguments.twice && !result.violation) CheckTwin(arguments.options, result);
      if (arguments.beside_native && !result.violation) CheckNative(arguments.options, result);
      const std::lock_guard lock(mutex);
      Add(result, totals);
      if (result.violation && arguments.until_failure) over = true;
      const bool shown = static_cast<int>(totals.failed.size()) <= kFailuresShown;
      if (arguments.options.trace || (result.violation && shown)) fmt::print("{}\n", result.Describe());
      if (arguments.options.light) PrintRollout(result);
      if (result.violation) fmt::print("  replay: {}\n", ReplayCommand(arguments, seed));
      if (result.violation && arguments.shrink) {
        SimulateArguments smaller = arguments;
        smaller.options = driverupgrade::testing::Shrink(seed, arguments.options);
        fmt::print("  smaller: {}\n", ReplayCommand(smaller, seed));
      }
      std::fflush(stdout);
    }
  };
  const auto began = std::chrono::steady_clock::now();
  std::vector<std::thread> threads;
  for (int i = 0; i < arguments.jobs; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const double cpu = static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
  if (arguments.coverage) PrintCoverage(totals);
  fmt::print("{} node upgrades, {} passes, {} calls, {:.0f} virtual hours\n", totals.upgrades, totals.passes,
             totals.calls, totals.virtual_hours);
  const auto rates = [&](const char* of, double time) {
    fmt::print("{:.1f} s {}: {:.1f} seeds/s, {:.0f} node upgrades/s\n", time, of,
               static_cast<double>(arguments.seeds) / time, static_cast<double>(totals.upgrades) / time);
  };
  rates("on the clock", seconds);
  rates("of one core", cpu);
  std::vector<std::string> missing;
  if (arguments.require_coverage) missing = MissingCoverage(totals);
  for (const Mode mode : arguments.require_modes ? ModesNotMet(arguments.options, totals) : std::vector<Mode>()) {
    missing.push_back(fmt::format("mode {}", ToString(mode)));
  }
  for (const std::string& what : missing) fmt::print("not covered: {}\n", what);
  fmt::print("{} passed, {} failed\n", totals.passed, totals.failed.size());
  return totals.failed.empty() && missing.empty() ? 0 : 1;
}
