// The node label by which device plugins wait for the OFED driver (upstream-behaviour.md §2.5).
//
// Defines WaitsForDriver and WaitLabelPatch. Pure.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DRIVER_WAIT_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DRIVER_WAIT_H_

#include <optional>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "driverupgrade/cluster_writes.h"
#include "driverupgrade/driver_identity.h"

namespace ofed_operator {

/// `true` while the driver of the node is not ready, `false` when it is.
inline constexpr char kDriverWaitLabel[] = "network.nvidia.com/operator.mofed.wait";
/// The container of the driver pod whose readiness counts.
inline constexpr char kDriverContainer[] = "mofed-container";

/// Whether the node has to wait for its driver: none of its driver pods, those on their way out not counted, has a
/// ready driver container. nullopt: it has no driver pod at all, so nothing is known, and the label stays.
std::optional<bool> WaitsForDriver(const std::vector<driverupgrade::Pod>& driver_pods);

/// Node label of node feature discovery: there is a NIC of NVIDIA.
inline constexpr char kNicLabel[] = "feature.node.kubernetes.io/pci-15b3.present";

/// What makes the label true; nullopt if it is already. Without a driver pod on the node:
/// - some policy has a driver (`driver_wanted`): the label is what a dead pod has left, and goes, unless an upgrade is on
///   its way, which will bring the next pod;
/// - none has: nobody waits for a driver, and the label is `false` where there is a NIC, and goes elsewhere.
std::optional<driverupgrade::PatchNodeParams> WaitLabelPatch(const driverupgrade::Node& node,
                                                             const std::vector<driverupgrade::Pod>& driver_pods,
                                                             bool driver_wanted,
                                                             const driverupgrade::DriverIdentity& identity);

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DRIVER_WAIT_H_
