// The jobs of a cluster whose pods only run together.
#ifndef DRIVERUPGRADE_SRC_WHATIF_GANG_PODS_H_
#define DRIVERUPGRADE_SRC_WHATIF_GANG_PODS_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "whatif/situation.h"

namespace driverupgrade::whatif {

// Returns the running pods of gangs (docs/policy.md#gangs) on these nodes, by gang. Gangs on one node are not among
// them: they are like any other pods.
std::map<std::string, std::vector<Pod>> PodsOfGangs(const Situation& situation,
                                                    const std::set<std::string, std::less<>>& nodes);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_GANG_PODS_H_
