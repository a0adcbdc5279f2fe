/// Invariants that every plan must satisfy, for any cluster.
///
/// Defines BrokenInvariant and IsEvacuated.
///
///     CHECK(BrokenInvariant(input, machine.Step(...)) == "");
#ifndef DRIVERUPGRADE_TESTS_PROPERTY_PLAN_INVARIANTS_H_
#define DRIVERUPGRADE_TESTS_PROPERTY_PLAN_INVARIANTS_H_

#include <string>

#include "property/random_cluster.h"

namespace driverupgrade::tests {

/// Returns the first broken invariant of a plan for `cluster`, with the node; empty if all invariants hold.
std::string BrokenInvariant(const RandomCluster& cluster, const Plan& plan);

/// Returns the node after the plan's patch.
Node After(const NodeView& view, const NodePlan& plan);

/// dep-F8: returns whether the node's pods have been read since the cordon, and all pods that the policy requires to
/// leave have left.
bool IsEvacuated(const RandomCluster& cluster, const NodeView& view);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_PROPERTY_PLAN_INVARIANTS_H_
