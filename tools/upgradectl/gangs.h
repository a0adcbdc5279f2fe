// The jobs of a cluster whose pods only run together.
#ifndef DRIVERUPGRADE_TOOLS_UPGRADECTL_GANGS_H_
#define DRIVERUPGRADE_TOOLS_UPGRADECTL_GANGS_H_

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driverupgrade/cluster_types.h"
#include "upgradectl/request.h"

namespace upgradectl {

/// Returns the running pods of gangs (docs/policy.md#gangs) on these nodes, by gang. Gangs on one node are not among them: they are
/// like any other pods.
std::map<std::string, std::vector<driverupgrade::Pod>> PodsOfGangs(const Request& request,
                                                                   const std::set<std::string, std::less<>>& nodes);

}  // namespace upgradectl

#endif  // DRIVERUPGRADE_TOOLS_UPGRADECTL_GANGS_H_
