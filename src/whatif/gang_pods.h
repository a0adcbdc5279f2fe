// Finds the gangs of a cluster, which are jobs whose pods run only together.
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

// Returns the running pods of gangs (docs/policy.md#gangs) on these nodes, by gang. Gangs on a single node are left
// out, because their pods need no special treatment.
std::map<std::string, std::vector<Pod>> PodsOfGangs(const Situation& situation,
                                                    const std::set<std::string, std::less<>>& nodes);

}  // namespace driverupgrade::whatif

#endif  // DRIVERUPGRADE_SRC_WHATIF_GANG_PODS_H_
