// Computes how many nodes may be in progress or unavailable, and how many nodes currently are.
//
//     Tally tally = TallyOf(view, identity, rules) + TallyOf(other, identity, rules);
//     UpgradeBudget budget = ComputeBudget(tally, limits);
//     if (budget.ParallelFree() > 0 && budget.Headroom() > 0) { /* one more available node may start */ }
#ifndef DRIVERUPGRADE_SRC_DECIDE_ADMISSION_UPGRADE_BUDGET_H_
#define DRIVERUPGRADE_SRC_DECIDE_ADMISSION_UPGRADE_BUDGET_H_

#include <optional>

#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade::internal {

// Returns the tally of one node; each count is 0 or 1. If the outcome of the last patch is unknown, the node counts
// towards `slots` and `unavailable` if it counts in at least one of its possible states.
Tally TallyOf(const NodeView& view, const DriverIdentity& identity, const NodeRules& rules);
// Returns the tally of a node for which `patch` was sent. The node counts towards `slots` and `unavailable` if it
// counts in `tally`, or would count after the patch.
Tally WithPatch(Tally tally, const NodeView& view, const PatchNodeParams& patch, const DriverIdentity& identity,
                const NodeRules& rules);

UpgradeBudget ComputeBudget(const Tally& tally, const AdmissionLimits& limits,
                            const std::optional<SharedSlots>& shared = std::nullopt);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ADMISSION_UPGRADE_BUDGET_H_
