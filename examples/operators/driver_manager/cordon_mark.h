/// Creates the patches that cordon a node, and that lift only this program's own cordon.
///
/// Defines CordonPatch and UncordonPatch.
///
///     PatchNodeParams patch = CordonPatch(node);    // unschedulable, and our name in driverupgrade/cordoned-by
///     PatchNodeParams back = UncordonPatch(later);  // lifts our cordon, but never an administrator's
///
/// Pure. Uses the names in `driverupgrade/cordoned-by` as the upgrade engine does (dep-F7), so an engine that upgrades
/// another driver on the node joins our cordon, and we join its cordon. As with drivers, a state label shows the engine
/// that we are still active: `nvidia.com/gpu-manager-driver-upgrade-state`.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_CORDON_MARK_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_CORDON_MARK_H_

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/cluster_writes.h"

namespace driver_manager {

/// Our name in the list of drivers that rely on a cordon.
inline constexpr char kCordonName[] = "nvidia.com/gpu-manager";

/// Returns the patch that cordons the node, or joins the cordon of an upgrade. The patch is empty if the node already
/// has our name, or if an administrator has cordoned the node, because that cordon suffices.
driverupgrade::PatchNodeParams CordonPatch(const driverupgrade::Node& node);

/// Returns the patch that removes our name, and lifts the cordon unless another driver's upgrade needs it. The patch is
/// empty if our name is not set.
driverupgrade::PatchNodeParams UncordonPatch(const driverupgrade::Node& node);

}  // namespace driver_manager

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_DRIVER_MANAGER_CORDON_MARK_H_
