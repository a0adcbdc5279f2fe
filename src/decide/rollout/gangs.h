// Finds gangs, which are pods that can run only together, and the nodes that a rollout therefore starts together.
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

// Annotation that names a pod's gang. The value `none` means that the pod does not belong to a gang.
inline constexpr std::string_view kGangAnnotation = "driverupgrade/gang";

// Returns the gang of the pod, such as `JobSet/team/train`; empty if the pod runs on its own. The gang is the widest
// group of pods that restart together. kGangAnnotation has priority.
std::string GangOf(const Pod& pod);

// Annotation with which a pod allows its gang to be interrupted now, for example after a checkpoint.
inline constexpr std::string_view kMayStopAnnotation = "driverupgrade/may-stop";

// Returns true if all of `pods` that belong to a gang have kMayStopAnnotation with the value `true`. If the node is in
// a ComputeDomain, all pods belong to a gang.
bool MayStop(const Node& node, const std::vector<const Pod*>& pods);

// Returns the gangs of `pods` on the node, sorted. Includes the gang of the node itself if the node is in a
// ComputeDomain.
std::vector<std::string> GangsOn(const Node& node, const std::vector<const Pod*>& pods);

// Returns true if, under the policy, nodes with pods of the same gang start together.
bool GangsStartTogether(const RolloutPolicy& policy);

// Returns true if the node waits and is not known to have started. Includes nodes that cannot start yet: they delay
// their unit, because starting them separately would interrupt the gang again.
bool AwaitsStart(const RolloutNode& node);

// Returns the gang of a unit. The name of a unit consists of the gang, and possibly a number.
std::string GangOfUnit(const std::string& unit);

// For each gang, the time since which its interruption has been delayed so that the gang can finish.
using GangWaits = std::map<std::string, absl::Time>;

// Returns the time until which `nodes`, which start together, wait for their gangs; nullopt if they do not wait.
// InfiniteFuture means that the wait has no limit. `began`: start of the wait.
std::optional<absl::Time> GangWaitEnds(const NodeGangs& gangs, const std::vector<const RolloutNode*>& nodes,
                                       absl::Time began);

struct UnitOptions {
  TooBig too_big = TooBig::kWait;
  // Number of nodes that can be unavailable at the same time; nullopt if there is no limit.
  std::optional<int> unavailable_max = std::nullopt;
  // True if the policy defines an order for nodes without a gang.
  bool has_order = false;
};

// Returns, for each unit with nodes in progress, one node that is not cordoned. Omits units whose nodes are all
// cordoned.
std::map<std::string, std::string> UncordonedOf(const std::vector<RolloutNode>& nodes);

// Counts the remaining interruptions, based on the units of the nodes. `at_once`: number of nodes that can be in
// progress at the same time; nullopt if there is no limit.
RolloutGangs CountGangs(const std::vector<RolloutNode>& nodes, std::optional<int> at_once);

// Assigns a unit and a turn to each waiting node. A unit consists of all nodes of one stage on which a gang has pods,
// except for nodes that already belong to a unit. Larger gangs come first. After a crash or a conflict, only some nodes
// of a unit may have started. The nodes that have a grant but did not start then join the started unit of their gang.
// Gangs that share a node are not merged into one unit, because all units would merge if many nodes were shared.
// O(N log N).
void AssignUnits(std::vector<RolloutNode>& nodes, const std::vector<int>& stages, const UnitOptions& options);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_GANGS_H_
