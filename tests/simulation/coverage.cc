#include "coverage.h"

#include <set>

#include "fmt/format.h"
#include "testing/transition_table.h"

namespace driverupgrade::tests {
namespace {

using testing::Fault;
using testing::kFaultCount;
using testing::kModeCount;
using testing::Mode;

constexpr std::int64_t kFaultTimesMin = 100;

/// Gates that no seed reaches, with the reasons.
const std::map<GateReason, std::string>& UnreachableGates() {
  static const std::map<GateReason, std::string> gates = {
      {GateReason::kUnhandledState,
       "only for an operator without requestor mode that finds a node in requestor mode; a seed has one mode"},
      {GateReason::kUnreadable, "the objects of the simulation are whole; unreadable_object_test has others"},
  };
  return gates;
}

/// Returns whether no seed can make this transition.
bool IsUnreachable(UpgradeState from, UpgradeState to) {
  // This transition is possible only if the operator switches requestor mode off during a rollout, but a seed keeps its
  // mode. tests/scenarios covers the transition (T34).
  return from == UpgradeState::kNodeMaintenanceRequired && to == UpgradeState::kUpgradeRequired;
}

constexpr GateReason kLastGate = GateReason::kFailed;

std::string NameOf(UpgradeState from, UpgradeState to) { return fmt::format("{} -> {}", ToString(from), ToString(to)); }

}  // namespace

void Add(const testing::SimulationResult& result, Totals& totals) {
  if (result.violation) {
    totals.failed.push_back(result.seed);
  } else {
    ++totals.passed;
  }
  for (std::size_t i = 0; i < totals.faults.size(); ++i) totals.faults[i] += result.faults[i];
  for (std::size_t i = 0; i < totals.modes.size(); ++i) totals.modes[i] += result.modes[i];
  for (const auto& [edge, count] : result.edges) totals.edges[edge] += count;
  for (const auto& [gate, count] : result.gates) totals.gates[gate] += count;
  totals.checks_of_gates += result.checks_of_gates;
  totals.bad_nodes += result.bad_node;
  totals.interruptions_excused += result.interruptions_excused;
  totals.upgrades += result.upgrades;
  totals.passes += result.passes;
  totals.calls += result.calls;
  totals.virtual_hours += absl::ToDoubleHours(result.virtual_time);
}

void PrintCoverage(const Totals& totals) {
  fmt::print("\n| fault | times |\n|---|---|\n");
  for (int i = 0; i < kFaultCount; ++i) {
    fmt::print("| {} | {} |\n", ToString(static_cast<Fault>(i)), totals.faults[static_cast<std::size_t>(i)]);
  }
  fmt::print("\n| mode | times |\n|---|---|\n");
  for (int i = 0; i < kModeCount; ++i) {
    fmt::print("| {} | {} |\n", ToString(static_cast<Mode>(i)), totals.modes[static_cast<std::size_t>(i)]);
  }
  fmt::print("\n| transition | times |\n|---|---|\n");
  for (const auto& [edge, count] : totals.edges) fmt::print("| {} | {} |\n", NameOf(edge.first, edge.second), count);
  fmt::print("\n| gate | times |\n|---|---|\n");
  for (const auto& [gate, count] : totals.gates) fmt::print("| {} | {} |\n", ToString(gate), count);
  fmt::print(
      "\nall gates and totals were compared with the cluster {} times (L5, L6); {} bad nodes (L4); another "
      "interruption of a "
      "job was allowed {} times (I23)\n\n",
      totals.checks_of_gates, totals.bad_nodes, totals.interruptions_excused);
}

std::vector<std::string> MissingCoverage(const Totals& totals) {
  std::vector<std::string> missing;
  for (int i = 0; i < kFaultCount; ++i) {
    const std::int64_t times = totals.faults[static_cast<std::size_t>(i)];
    if (times >= kFaultTimesMin) continue;
    missing.push_back(fmt::format("fault {}: {} times", ToString(static_cast<Fault>(i)), times));
  }
  for (int i = 0; i < kModeCount; ++i) {
    // Modes that no seed draws have separate tests.
    if (testing::SimulationOptions{}.mode_per_mille[static_cast<std::size_t>(i)] == 0) continue;
    if (totals.modes[static_cast<std::size_t>(i)] > 0) continue;
    missing.push_back(fmt::format("mode {}", ToString(static_cast<Mode>(i))));
  }
  std::set<std::pair<UpgradeState, UpgradeState>> edges;
  for (const Transition& transition : kTransitions) edges.emplace(transition.from, transition.to);
  for (const auto& edge : edges) {
    if (totals.edges.contains(edge) || IsUnreachable(edge.first, edge.second)) continue;
    missing.push_back("transition " + NameOf(edge.first, edge.second));
  }
  for (int i = 0; i <= static_cast<int>(kLastGate); ++i) {
    const auto gate = static_cast<GateReason>(i);
    if (totals.gates.contains(gate) || UnreachableGates().contains(gate)) continue;
    missing.push_back(fmt::format("gate {}", ToString(gate)));
  }
  if (totals.checks_of_gates == 0) missing.emplace_back("L5, L6: no replica was asked what it says");
  if (totals.bad_nodes == 0) missing.emplace_back("L4: there was no bad node");
  return missing;
}

std::vector<Mode> ModesNotMet(const testing::SimulationOptions& options, const Totals& totals) {
  std::vector<Mode> not_met;
  for (std::size_t i = 0; i < totals.modes.size(); ++i) {
    if (options.mode_per_mille[i] == 1000 && totals.modes[i] == 0) not_met.push_back(static_cast<Mode>(i));
  }
  return not_met;
}

}  // namespace driverupgrade::tests
