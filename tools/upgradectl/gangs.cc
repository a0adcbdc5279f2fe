#include "upgradectl/gangs.h"

#include <algorithm>
#include <utility>

#include "decide/rollout/gangs.h"

namespace upgradectl {

using driverupgrade::Pod;

std::map<std::string, std::vector<Pod>> PodsOfGangs(const Request& request,
                                                    const std::set<std::string, std::less<>>& nodes) {
  std::map<std::string, std::vector<Pod>> gangs;
  for (const Pod& pod : request.question.cluster.pods) {
    const bool counts = nodes.contains(pod.node_name) && pod.unreadable.empty() && !pod.deletion_timestamp &&
                        !driverupgrade::IsFinished(pod) && !driverupgrade::IsDaemonSetPod(pod);
    if (std::string gang = counts ? driverupgrade::internal::GangOf(pod) : ""; !gang.empty())
      gangs[gang].push_back(pod);
  }
  std::erase_if(gangs, [](const auto& gang) {
    return std::all_of(gang.second.begin(), gang.second.end(),
                       [&](const Pod& pod) { return pod.node_name == gang.second.front().node_name; });
  });
  return gangs;
}

}  // namespace upgradectl
