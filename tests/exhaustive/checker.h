// Looks at every state that the abstract cluster can reach.
//
// Defines Check and CheckResult.
//
//     CheckResult result = Check({.nodes = 3, .controllers = 1, .faults = 2, .ledger = true});
//     CHECK(result.broken == "");
//
// Breadth first, so that the path to a violation is a shortest one. Safety is checked in each state and at each step,
// liveness from each state: once nothing goes wrong any more, the cluster gets done (L1), with the controllers' turns
// in either order.
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
  // Different states of one node; different nodes and views that were judged.
  std::size_t node_states = 0;
  std::size_t contents = 0;
  std::size_t views = 0;
  // Of the processor.
  double seconds = 0;
  // The longest way from a state to the end, without faults.
  int longest_calm = 0;
  // The first violation; empty: none.
  std::string broken = {};
  // How to get there, a step on each line.
  std::string path = {};
  // `states_max` was reached, so that nothing is proved.
  bool cut = false;
};

CheckResult Check(const ModelOptions& options, std::size_t states_max = 1'000'000'000);

// One line of figures, and the violation if there is one.
std::string Describe(const ModelOptions& options, const CheckResult& result);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_EXHAUSTIVE_CHECKER_H_
