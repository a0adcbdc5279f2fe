// Checks every reachable state of the abstract cluster.
//
// Defines Check and CheckResult.
//
//     CheckResult result = Check({.nodes = 3, .controllers = 1, .faults = 2, .ledger = true});
//     CHECK(result.broken == "");
//
// The search is breadth-first, so it finds a shortest path to a violation. Safety is checked in each state and at each
// step. Liveness is checked from each state: once no more faults happen, all upgrades must complete (L1), whichever
// controller takes the first turn.
#ifndef DRIVERUPGRADE_TESTS_EXHAUSTIVE_CHECKER_H_
#define DRIVERUPGRADE_TESTS_EXHAUSTIVE_CHECKER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "exhaustive/model_options.h"

namespace driverupgrade::tests {

struct CheckResult {
  std::size_t states = 0;
  std::uint64_t edges = 0;
  int depth = 0;
  // Number of distinct states of a node, and number of distinct node contents and views that were evaluated.
  std::size_t node_states = 0;
  std::size_t contents = 0;
  std::size_t views = 0;
  // Processor time in seconds.
  double seconds = 0;
  // Length of the longest fault-free path from a state to the final state.
  int longest_calm = 0;
  // The first violation; empty if there is no violation.
  std::string broken = {};
  // The path to the violation, one step per line.
  std::string path = {};
  // True if `states_max` was reached, in which case the check proves nothing.
  bool cut = false;
};

CheckResult Check(const ModelOptions& options, std::size_t states_max = 1'000'000'000);

// Returns one line of statistics, and the violation if there is one.
std::string Describe(const ModelOptions& options, const CheckResult& result);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_EXHAUSTIVE_CHECKER_H_
