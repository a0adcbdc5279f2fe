// Coverage of many simulations: how often each fault occurred, which state transitions the nodes made, and at which
// gates they waited.
#ifndef DRIVERUPGRADE_TESTS_SIMULATION_COVERAGE_H_
#define DRIVERUPGRADE_TESTS_SIMULATION_COVERAGE_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simulation/simulation.h"

namespace driverupgrade::tests {

struct Totals {
  std::uint64_t passed = 0;
  std::vector<std::uint64_t> failed = {};
  std::array<std::int64_t, testing::kFaultCount> faults = {};
  std::array<std::int64_t, testing::kModeCount> modes = {};
  std::map<std::pair<UpgradeState, UpgradeState>, std::int64_t> edges = {};
  std::map<GateReason, std::int64_t> gates = {};
  std::int64_t checks_of_gates = 0;
  std::int64_t bad_nodes = 0;
  std::int64_t interruptions_excused = 0;
  std::int64_t upgrades = 0;
  std::int64_t passes = 0;
  std::int64_t calls = 0;
  double virtual_hours = 0;
};

void Add(const testing::SimulationResult& result, Totals& totals);
/// Prints the counts as Markdown tables.
void PrintCoverage(const Totals& totals);
/// Returns what the seeds did not cover. Every fault must have occurred at least a hundred times, and every mode, legal
/// transition and gate must have been reached. coverage.cc lists the exceptions, each with its reason.
std::vector<std::string> MissingCoverage(const Totals& totals);
/// Returns the modes that the options require for every seed but that did not take effect in any seed.
std::vector<testing::Mode> ModesNotMet(const testing::SimulationOptions& options, const Totals& totals);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_COVERAGE_H_
