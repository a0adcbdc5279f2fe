// Computes how many nodes may be in progress or unavailable, and how many are.
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

// Returns the share of one node; each count is 0 or 1. If the outcome of the node's last patch is unknown, the node
// counts for `slots` and `unavailable` if it would count in its old state or in any state to which it may have been
// patched.
Tally TallyOf(const NodeView& view, const DriverIdentity& identity, const NodeRules& rules);
// Returns the share of a node that has been sent `patch`: it counts towards `slots` and `unavailable` if it does so in
// `tally`, or would do so after the patch.
Tally WithPatch(Tally tally, const NodeView& view, const PatchNodeParams& patch, const DriverIdentity& identity,
                const NodeRules& rules);

UpgradeBudget ComputeBudget(const Tally& tally, const AdmissionLimits& limits,
                            const std::optional<SharedSlots>& shared = std::nullopt);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ADMISSION_UPGRADE_BUDGET_H_
