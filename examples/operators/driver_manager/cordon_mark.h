/// Cordons that are taken back only by whom they belong to.
///
/// Defines CordonPatch and UncordonPatch.
///
///     PatchNodeParams patch = CordonPatch(node);    // unschedulable, and our name in driverupgrade/cordoned-by
///     PatchNodeParams back = UncordonPatch(later);  // undoes that, and never an administrator's cordon
///
/// Pure. The names in `driverupgrade/cordoned-by` and what they mean are those of the upgrade engine (dep-F7), so that
/// an engine that upgrades another driver of the node joins our cordon, and we join its. For it to see that we are
/// still at work, we have a state label, as drivers have: `nvidia.com/gpu-manager-driver-upgrade-state`.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_CORDON_MARK_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_CORDON_MARK_H_

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/cluster_writes.h"

namespace driver_manager {

/// Our name among those that rely on a cordon.
inline constexpr char kCordonName[] = "nvidia.com/gpu-manager";

/// Cordons the node, or joins the cordon of an upgrade. Empty if the node has our name already, or is cordoned by an
/// administrator, which serves as well.
driverupgrade::PatchNodeParams CordonPatch(const driverupgrade::Node& node);

/// Takes our name away, and the cordon with it unless an upgrade of another driver needs it. Empty if our name is not
/// there.
driverupgrade::PatchNodeParams UncordonPatch(const driverupgrade::Node& node);

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_CORDON_MARK_H_
