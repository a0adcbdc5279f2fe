// Creates the OFED driver's DaemonSets, which policies request by setting a driver version. Pure.
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

/// Returns the DaemonSet `mofed` in `ns` for a NicClusterPolicy with a driver. Otherwise returns a DaemonSet
/// `mofed-nnp-<name>` for each NicNodePolicy, on the nodes that the policy selects. Policies without
/// spec.ofedDriver.version have no DaemonSet. OnSystems completes the DaemonSets. `init_image` is the image of the init
/// container for the safe load; if it is empty, there is no such container.
std::vector<examples::DriverDaemonSet> DriverSets(const NicClusterPolicy& cluster,
                                                  const std::vector<NicNodePolicy>& nodes, const std::string& ns,
                                                  const std::string& init_image);

/// Returns a DaemonSet for each operating system and architecture of the nodes: `mofed-ubuntu22.04-amd64`, with the
/// label `app=mofed-ubuntu22.04` and the image `doca-driver:24.01-0.3.3.1.3-ubuntu22.04-amd64`. A version that ends in
/// an operating system stays unchanged, and applies only to nodes with this system. Refuses `set` if no node has a
/// suitable operating system. Returns an empty list if the nodes have not been read yet (nullopt).
std::vector<examples::DriverDaemonSet> OnSystems(const examples::DriverDaemonSet& set,
                                                 const std::optional<examples::NodeSystems>& systems);

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DRIVER_SETS_H_
