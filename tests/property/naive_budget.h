/// A second implementation of the budgets. It is slow and is written from the rules instead of from src/.
///
/// Defines NaiveAdmissions and AdmitNaively.
///
/// Rules: upstream-behaviour.md §5.3 with dep-F2, dep-F7, dep-F8, dep-F14, dep-F18, dep-F19, arch-A6 and arch-A9. All
/// nodes are counted again after each admission. This implementation shares no code with src/decide/admission/ or
/// src/model/cordon.cc.
#ifndef DRIVERUPGRADE_TESTS_PROPERTY_NAIVE_BUDGET_H_
#define DRIVERUPGRADE_TESTS_PROPERTY_NAIVE_BUDGET_H_

#include <map>
#include <optional>
#include <string>

#include "property/random_cluster.h"

namespace driverupgrade::tests {

struct NaiveAdmissions {
  Tally totals = {};
  /// Decisions by node, for nodes that request a slot. nullopt means that the node is admitted.
  std::map<std::string, std::optional<GateReason>> decisions = {};
  /// Number of nodes that hold a slot, and number of unavailable nodes, after all admissions.
  int slots_after = 0;
  int unavailable_after = 0;
};

NaiveAdmissions AdmitNaively(const RandomCluster& cluster);

/// dep-F7: returns true if the node has a cordon that was not set by an upgrade.
bool IsAdministratorsCordon(const NodeView& view, const DriverIdentity& identity);

/// §5.3: returns a count unchanged, and a percentage of `total` rounded up.
int NaiveLimit(const CountOrPercent& limit, int total);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_PROPERTY_NAIVE_BUDGET_H_
