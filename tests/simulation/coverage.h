// What many simulations came by: how often each fault happened, which transitions were made, what nodes waited for.
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
/// As tables of Markdown.
void PrintCoverage(const Totals& totals);
/// Every fault is to have happened a hundred times, every mode is to have been come by, and every legal transition and
/// every gate is to have been reached; but for exceptions, each with its reason, in coverage.cc.
std::vector<std::string> MissingCoverage(const Totals& totals);
/// Modes that every seed is in by the options, and that none came by.
std::vector<testing::Mode> ModesNotMet(const testing::SimulationOptions& options, const Totals& totals);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_SIMULATION_COVERAGE_H_
