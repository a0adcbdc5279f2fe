// Gangs: pods that run only together, and the nodes that a rollout therefore starts together.
//
//     std::vector<std::string> gangs = GangsOn(node, pods_in_the_way);
//     AssignUnits(nodes, stages, {.too_big = TooBig::kWait});
//
// Pure.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_GANGS_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_GANGS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "decide/rollout/view.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/rollout_policy.h"

namespace driverupgrade::internal {

// The annotation of a pod that names its gang, or has the value `none`.
inline constexpr std::string_view kGangAnnotation = "driverupgrade/gang";

// Returns the gang of the pod, such as `JobSet/team/train`; empty if the pod runs on its own. The result is the widest
// group of pods that restarts together. The pod's own annotation has priority.
std::string GangOf(const Pod& pod);

// The annotation by which a pod allows its gang to be interrupted now, for example after a checkpoint.
inline constexpr std::string_view kMayStopAnnotation = "driverupgrade/may-stop";

// Returns true if each of these pods that belongs to a gang has the annotation. If the node is in a ComputeDomain, all
// of them belong to a gang.
bool MayStop(const Node& node, const std::vector<const Pod*>& pods);

// Returns the gangs of these pods of the node, sorted. Includes the gang of the node itself if it belongs to a
// ComputeDomain.
std::vector<std::string> GangsOn(const Node& node, const std::vector<const Pod*>& pods);

// Returns true if nodes with pods of one gang start together.
bool GangsStartTogether(const RolloutPolicy& policy);

// Returns true if the node waits and is not known to have started. A node that cannot start yet delays its unit,
// because another part would interrupt the gang again.
bool AwaitsStart(const RolloutNode& node);

// Returns the gang of a unit; the name of a unit may end with a number.
std::string GangOfUnit(const std::string& unit);

// The time since which each gang has been given the chance to finish before it is interrupted.
using GangWaits = std::map<std::string, absl::Time>;

// Returns the time until which these nodes, which start together, wait for their gangs; nullopt if they do not wait.
// `began`: start of the wait. Infinite future: no limit.
std::optional<absl::Time> GangWaitEnds(const NodeGangs& gangs, const std::vector<const RolloutNode*>& nodes,
                                       absl::Time began);

struct UnitOptions {
  TooBig too_big = TooBig::kWait;
  // Number of nodes that can be unavailable at the same time; nullopt: any number.
  std::optional<int> unavailable_max = std::nullopt;
  // True if the policy defines an order for nodes without a gang.
  bool has_order = false;
};

// Returns, for each unit with nodes in progress, a node that is not cordoned. Units whose nodes are all cordoned are
// left out.
std::map<std::string, std::string> UncordonedOf(const std::vector<RolloutNode>& nodes);

// Counts the remaining interruptions, based on the units of the nodes. `at_once`: number of nodes that can be in
// progress at the same time; nullopt: any number.
RolloutGangs CountGangs(const std::vector<RolloutNode>& nodes, std::optional<int> at_once);

// Assigns a unit and a turn to each waiting node. A unit consists of all nodes of one stage on which a gang has pods
// and that are not in a unit yet; the largest gangs come first. Nodes that were granted together before a crash or a
// conflict, and have not started, belong to the started unit of their gang. Units that share a node are never joined:
// on shared nodes, all units would become one. O(N log N).
void AssignUnits(std::vector<RolloutNode>& nodes, const std::vector<int>& stages, const UnitOptions& options);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_GANGS_H_
