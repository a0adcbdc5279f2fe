// Computes the node label through which device plugins wait for the OFED driver (upstream-behaviour.md §2.5).
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

/// `true` while the node's driver is not ready, `false` when it is ready.
inline constexpr char kDriverWaitLabel[] = "network.nvidia.com/operator.mofed.wait";
/// The driver pod's container whose readiness counts.
inline constexpr char kDriverContainer[] = "mofed-container";

/// Returns true if the node must wait for its driver: none of its driver pods has a ready driver container. Terminating
/// pods do not count. Returns nullopt if the node has no driver pod at all, because the state is then unknown and the
/// label must stay.
std::optional<bool> WaitsForDriver(const std::vector<driverupgrade::Pod>& driver_pods);

/// Node label of Node Feature Discovery: the node has a NIC from NVIDIA.
inline constexpr char kNicLabel[] = "feature.node.kubernetes.io/pci-15b3.present";

/// Returns the patch that corrects the label; nullopt if the label is correct. Without a driver pod on the node:
/// - If a policy has a driver (`driver_wanted`), a deleted pod left the label. The label is removed unless an upgrade
///   is in progress, which will create the next pod.
/// - If no policy has a driver, plugins must not wait for one. The label is `false` if the node has a NIC;
///   otherwise, it is removed.
std::optional<driverupgrade::PatchNodeParams> WaitLabelPatch(const driverupgrade::Node& node,
                                                             const std::vector<driverupgrade::Pod>& driver_pods,
                                                             bool driver_wanted,
                                                             const driverupgrade::DriverIdentity& identity);

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DRIVER_WAIT_H_
