// The DaemonSets of the OFED driver that the policies ask for by a version. Pure.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DRIVER_SETS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DRIVER_SETS_H_

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ofed/nic_cluster_policy.h"
#include "support/driver_daemon_set.h"
#include "support/node_system.h"

namespace ofed_operator {

/// `mofed` in `ns` of the NicClusterPolicy, or else `mofed-nnp-<name>` of each NicNodePolicy on the nodes that it selects;
/// only with spec.ofedDriver.version. OnSystems completes them. `init_image`: image of the init container for the safe
/// load; empty: no such container.
std::vector<examples::DriverDaemonSet> DriverSets(const NicClusterPolicy& cluster,
                                                  const std::vector<NicNodePolicy>& nodes, const std::string& ns,
                                                  const std::string& init_image);

/// Returns a DaemonSet for each operating system and architecture of the nodes: `mofed-ubuntu22.04-amd64`, with the label
/// `app=mofed-ubuntu22.04` and the image `doca-driver:24.01-0.3.3.1.3-ubuntu22.04-amd64`. A version that ends in an
/// operating system stays as it is, and is for nodes with this system only. `set` is refused if no node has a system that
/// is possible. Empty: the nodes have not been read yet (nullopt).
std::vector<examples::DriverDaemonSet> OnSystems(const examples::DriverDaemonSet& set,
                                                 const std::optional<std::set<examples::NodeSystem>>& systems);

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DRIVER_SETS_H_
