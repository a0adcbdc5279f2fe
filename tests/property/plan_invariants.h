/// What holds for every plan, whatever the cluster looks like.
///
/// Defines BrokenInvariant and IsEvacuated.
///
///     CHECK(BrokenInvariant(input, machine.Step(...)) == "");
#ifndef DRIVERUPGRADE_TESTS_PROPERTY_PLAN_INVARIANTS_H_
#define DRIVERUPGRADE_TESTS_PROPERTY_PLAN_INVARIANTS_H_

#include <string>

#include "property/random_cluster.h"

namespace driverupgrade::tests {

/// The first broken invariant of a plan for `cluster`, with the node; empty if all hold.
std::string BrokenInvariant(const RandomCluster& cluster, const Plan& plan);

/// The node as the plan's patch leaves it.
Node After(const NodeView& view, const NodePlan& plan);

/// dep-F8: the node's pods are known since the cordon, and those that the policy wants gone are.
bool IsEvacuated(const RandomCluster& cluster, const NodeView& view);

}  // namespace driverupgrade::tests

#endif  // DRIVERUPGRADE_TESTS_PROPERTY_PLAN_INVARIANTS_H_
