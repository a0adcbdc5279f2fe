// The DaemonSets of the OFED driver that the policies ask for by a version. Pure.
#ifndef DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DRIVER_SETS_H_
#define DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DRIVER_SETS_H_

#include <string>
#include <vector>

#include "ofed/nic_cluster_policy.h"
#include "support/driver_maker.h"

namespace ofed_operator {

/// `mofed` in `ns` of the NicClusterPolicy, or else `mofed-nnp-<name>` of each NicNodePolicy on the nodes that it selects;
/// only with spec.ofedDriver.version. `init_image`: of the init container that loads safely; empty: none.
std::vector<examples::DriverDaemonSet> DriverSets(const NicClusterPolicy& cluster,
                                                  const std::vector<NicNodePolicy>& nodes, const std::string& ns,
                                                  const std::string& init_image);

}  // namespace ofed_operator

#endif  // DRIVERUPGRADE_EXAMPLES_OPERATORS_OFED_DRIVER_SETS_H_
