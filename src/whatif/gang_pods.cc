#include "whatif/gang_pods.h"

#include <algorithm>
#include <utility>

#include "decide/rollout/gangs.h"

namespace driverupgrade::whatif {

std::map<std::string, std::vector<Pod>> PodsOfGangs(const Situation& situation,
                                                    const std::set<std::string, std::less<>>& nodes) {
  std::map<std::string, std::vector<Pod>> gangs;
  for (const Pod& pod : situation.question.cluster.pods) {
    const bool counts = nodes.contains(pod.node_name) && pod.unreadable.empty() && !pod.deletion_timestamp &&
                        !IsFinished(pod) && !IsDaemonSetPod(pod);
    if (std::string gang = counts ? internal::GangOf(pod) : ""; !gang.empty()) gangs[gang].push_back(pod);
  }
  std::erase_if(gangs, [](const auto& gang) {
    return std::all_of(gang.second.begin(), gang.second.end(),
                       [&](const Pod& pod) { return pod.node_name == gang.second.front().node_name; });
  });
  return gangs;
}

}  // namespace driverupgrade::whatif
