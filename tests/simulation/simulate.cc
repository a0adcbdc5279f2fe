// Runs simulations: many, or one again.
//
//   simulate --first-seed 1 --seeds 20000 --jobs 2 [--nodes 100]
//   simulate --seed 4711 --trace
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "driverupgrade/testing/simulation.h"
#include "fmt/format.h"
#ifdef DRIVERUPGRADE_SIMULATE_WIRE
#include "simulation/wire/wire_factory.h"
#endif

namespace {

using driverupgrade::GateReason;
using driverupgrade::UpgradeState;
using driverupgrade::testing::Fault;
using driverupgrade::testing::kFaultCount;
using driverupgrade::testing::SimulationOptions;
using driverupgrade::testing::SimulationResult;

struct Arguments {
  std::uint64_t first_seed = 1;
  std::uint64_t seeds = 1;
  int jobs = 1;
  bool trace = false;
  bool coverage = false;
  bool twice = false;
  bool shrink = false;
  bool mutants = false;
  int failures_shown = 10;
  std::string commit;
  SimulationOptions options;
};

struct Totals {
  std::uint64_t passed = 0;
  std::vector<std::uint64_t> failed;
  std::array<std::int64_t, kFaultCount> faults = {};
  std::map<std::pair<UpgradeState, UpgradeState>, std::int64_t> edges;
  std::map<GateReason, std::int64_t> gates;
  std::int64_t upgrades = 0;
  std::int64_t passes = 0;
  std::int64_t calls = 0;
  double virtual_hours = 0;
};

void Add(const SimulationResult& result, Totals& totals) {
  if (result.violation) {
    totals.failed.push_back(result.seed);
  } else {
    ++totals.passed;
  }
  for (std::size_t i = 0; i < totals.faults.size(); ++i) totals.faults[i] += result.faults[i];
  for (const auto& [edge, count] : result.edges) totals.edges[edge] += count;
  for (const auto& [gate, count] : result.gates) totals.gates[gate] += count;
  totals.upgrades += result.upgrades;
  totals.passes += result.passes;
  totals.calls += result.calls;
  totals.virtual_hours += absl::ToDoubleHours(result.virtual_time);
}

[[noreturn]] void Usage(const char* problem) {
  fmt::print(stderr,
             "{}\nusage: simulate [--first-seed S] [--seeds N] [--jobs J] [--seed X] [--trace] [--coverage] [--twice]\n"
             "                [--nodes N] [--nodes-max N] [--wire PERCENT] [--requestor PERCENT] [--restart-only "
             "PERCENT] [--rolling PERCENT] [--faults PERCENT] [--without F1,F2] "
             "[--chaos-minutes N]\n"
             "                [--shrink] [--mutant M] [--mutants] [--commit HASH]\n",
             problem);
  std::exit(2);
}

// `F3,F17`.
std::set<Fault> ParseFaults(const char* text) {
  std::set<Fault> faults;
  for (const char* at = text; *at != '\0';) {
    if (*at < '0' || *at > '9') {
      ++at;
      continue;
    }
    char* end = nullptr;
    const long number = std::strtol(at, &end, 10);
    if (number < 1 || number > kFaultCount) Usage("there is no such fault");
    faults.insert(static_cast<Fault>(number - 1));
    at = end;
  }
  return faults;
}

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
#ifdef DRIVERUPGRADE_SIMULATE_WIRE
  arguments.options.wire = driverupgrade::tests::MakeWireFactory();
#endif
  const std::map<std::string, std::function<void(const char*)>> valued = {
      {"--first-seed", [&](const char* v) { arguments.first_seed = std::strtoull(v, nullptr, 10); }},
      {"--seed", [&](const char* v) { arguments.first_seed = std::strtoull(v, nullptr, 10); }},
      {"--seeds", [&](const char* v) { arguments.seeds = std::strtoull(v, nullptr, 10); }},
      {"--jobs", [&](const char* v) { arguments.jobs = std::max(1, std::atoi(v)); }},
      {"--nodes", [&](const char* v) { arguments.options.nodes = std::atoi(v); }},
      {"--nodes-max", [&](const char* v) { arguments.options.nodes_max = std::atoi(v); }},
      {"--wire", [&](const char* v) { arguments.options.wire_percent = std::atoi(v); }},
      {"--requestor", [&](const char* v) { arguments.options.requestor_percent = std::atoi(v); }},
      {"--restart-only", [&](const char* v) { arguments.options.restart_only_percent = std::atoi(v); }},
      {"--rolling", [&](const char* v) { arguments.options.rolling_percent = std::atoi(v); }},
      {"--faults", [&](const char* v) { arguments.options.fault_percent = std::atoi(v); }},
      {"--mutant", [&](const char* v) { arguments.options.mutant = std::atoi(v); }},
      {"--chaos-minutes", [&](const char* v) { arguments.options.chaos_max = absl::Minutes(std::atoi(v)); }},
      {"--without", [&](const char* v) { arguments.options.without = ParseFaults(v); }},
      {"--commit", [&](const char* v) { arguments.commit = v; }},
  };
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--trace") {
      arguments.trace = arguments.options.trace = true;
      arguments.options.trace_lines_max = 1'000'000;
    } else if (name == "--coverage") {
      arguments.coverage = true;
    } else if (name == "--twice") {
      arguments.twice = true;
    } else if (name == "--shrink") {
      arguments.shrink = true;
    } else if (name == "--mutants") {
      arguments.mutants = true;
    } else if (const auto found = valued.find(name); found == valued.end()) {
      Usage(("unknown argument " + name).c_str());
    } else if (++i == argc) {
      Usage((name + " needs a value").c_str());
    } else {
      found->second(argv[i]);
    }
  }
  return arguments;
}

std::string ReplayCommand(const Arguments& arguments, std::uint64_t seed) {
  std::string command = fmt::format("simulate --seed {} --trace", seed);
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
  if (arguments.options.mutant != 0) command += fmt::format(" --mutant {}", arguments.options.mutant);
  std::string without;
  for (const Fault fault : arguments.options.without) {
    without += fmt::format("{}F{}", without.empty() ? "" : ",", static_cast<int>(fault) + 1);
  }
  if (!without.empty()) command += " --without " + without;
  if (arguments.options.fault_percent != SimulationOptions{}.fault_percent) {
    command += fmt::format(" --faults {}", arguments.options.fault_percent);
  }
  if (!arguments.commit.empty()) command += fmt::format("  # at {}", arguments.commit);
  return command;
}

// The same run once more.
void CheckTwin(const SimulationOptions& options, SimulationResult& result) {
  const SimulationResult twin = driverupgrade::testing::Simulate(result.seed, options);
  if (twin.hash == result.hash && twin.calls == result.calls) return;
  result.violation = {.invariant = "deterministic", .text = "the second run was another one than the first"};
}

void PrintCoverage(const Totals& totals) {
  fmt::print("\n{:<28} {:>12}\n", "fault", "times");
  for (int i = 0; i < kFaultCount; ++i) {
    fmt::print("{:<28} {:>12}\n", ToString(static_cast<Fault>(i)), totals.faults[static_cast<std::size_t>(i)]);
  }
  fmt::print("\n{:<52} {:>12}\n", "transition", "times");
  for (const auto& [edge, count] : totals.edges) {
    fmt::print("{:<52} {:>12}\n", fmt::format("{} -> {}", ToString(edge.first), ToString(edge.second)), count);
  }
  fmt::print("\n{:<28} {:>12}\n", "gate", "times");
  for (const auto& [gate, count] : totals.gates) fmt::print("{:<28} {:>12}\n", ToString(gate), count);
  fmt::print("\n");
}

// Without the client there are no bytes to be wrong.
bool IsOfBytes(const std::string& mutant) { return mutant.starts_with("bytes:"); }

// Whether each planted defect is found within the seeds.
int FindMutants(const Arguments& arguments) {
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
  const Arguments arguments = Parse(argc, argv);
  if (arguments.mutants) return FindMutants(arguments);
  Totals totals;
  std::mutex mutex;
  std::atomic<std::uint64_t> next = 0;
  const auto work = [&] {
    for (std::uint64_t i = next++; i < arguments.seeds; i = next++) {
      const std::uint64_t seed = arguments.first_seed + i;
      SimulationResult result = driverupgrade::testing::Simulate(seed, arguments.options);
      if (arguments.twice && !result.violation) CheckTwin(arguments.options, result);
      const std::lock_guard lock(mutex);
      Add(result, totals);
      const bool shown = static_cast<int>(totals.failed.size()) <= arguments.failures_shown;
      if (arguments.trace || (result.violation && shown)) fmt::print("{}\n", result.Describe());
      if (result.violation) fmt::print("  replay: {}\n", ReplayCommand(arguments, seed));
      if (result.violation && arguments.shrink) {
        Arguments smaller = arguments;
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
  fmt::print("{} passed, {} failed\n", totals.passed, totals.failed.size());
  return totals.failed.empty() ? 0 : 1;
}
