/// Invariants of every plan, for any cluster.
///
/// Defines BrokenInvariant and IsEvacuated.
///
///     CHECK(BrokenInvariant(input, machine.Step(...)) == "");
#ifndef DRIVERUPGRADE_TESTS_PROPERTY_PLAN_INVARIANTS_H_
#define DRIVERUPGRADE_TESTS_PROPERTY_PLAN_INVARIANTS_H_

#include <string>

#include "property/random_cluster.h"

namespace driverupgrade::tests {

/// Returns the first broken invariant of a plan for `cluster`, with the node; empty if all hold.
std::string BrokenInvariant(const RandomCluster& cluster, const Plan& plan);

/// Returns the node as the plan's patch leaves it.
Node After(const NodeView& view, const NodePlan& plan);

/// dep-F8: returns whether the node's pods are known since the cordon, and all pods that must leave by the policy have
/// left.
bool IsEvacuated(const RandomCluster& cluster, const NodeView& view);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_PROPERTY_PLAN_INVARIANTS_H_
