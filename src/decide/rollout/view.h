// Defines the input of a rollout: the nodes, the target revision and the approvals.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_VIEW_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_VIEW_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_types.h"
#include "driverupgrade/gate.h"

namespace driverupgrade::internal {

// The progress of a node towards the target revision.
enum class NodeProgress : std::uint8_t {
  kWaiting,   // Not started.
  kUnderWay,  // Started but not finished, or possibly started by a write with an unknown outcome.
  kDone,
  kFailed,   // Failed in the current rollout, and will not be retried. The node may hold a slot.
  kLeftOut,  // Left out because of its own gate (GateTraits::left_out or is_wish). No other node waits for this node.
};

struct RolloutNode {
  // Not null.
  const Node* node = nullptr;
  // The labels that decide the node's stage and group (internal::RolloutLabels); nullopt if they are the labels of `node`.
  std::optional<StringMap> rollout_labels = std::nullopt;
  NodeProgress progress = NodeProgress::kWaiting;
  // True if only the limits keep the node waiting. Also true if the node counts as in progress only because the outcome
  // of its admission is unknown, or because its NodeMaintenance still occupies a slot of the maintenance operator.
  bool may_start = false;
  // Reason of the gate that leaves the node out; set if `progress` is kLeftOut.
  std::optional<GateReason> left_out_by = std::nullopt;
  // Time from which the node is not expected to free its share of maxUnavailable. InfinitePast: the node is
  // unavailable, and no upgrade in progress will make it available. InfiniteFuture: the node is available, or an
  // upgrade in progress will make it available.
  absl::Time lasts_from = absl::InfiniteFuture();
  // True if the operator runs on this node. The node then starts last, unless it belongs to a group that has started.
  bool own_node = false;
  // True if an earlier upgrade, or the maintenance operator on its behalf, has cordoned the node and has not returned
  // it to service. Such a node does not wait for its stage, because earlier stages could in turn wait for the node's
  // share of maxUnavailable, or for its slot with the maintenance operator.
  bool out_of_service = false;
  // True if the node may start, and its driver waits to be loaded (SafeLoadManager), for example after a reboot, or an
  // earlier attempt to load it has failed. Such a node has no driver, so it does not wait for the rollout: if a window,
  // a stage, a group, a gang or a halt keeps it from being upgraded, it loads the driver that it has.
  bool reloads = false;
  // True if the node `reloads`, and an earlier attempt to load its driver has failed.
  bool reload_failed = false;
  // True if the node is in progress only to load the driver that it has, or if it has a grant and `reloads`. It does not
  // count as in progress in its stage and its group. A grant does not show what it was given for, so a granted node must
  // pass the limits of its stage and its group again before its upgrade starts.
  bool reloading = false;
  // True if the node is cordoned, or if its devices are isolated and the evictions may start.
  bool is_isolated = false;
  // Message for users: why the node counts as sick with its new driver. Empty if the node is healthy or has the old
  // driver.
  std::string sick = {};
  // Message for users that names the object, such as a pod, that is not ready yet on a node with its new driver. Empty
  // if everything is ready; until then, the stage is not done.
  std::string unwell = {};
  // True if the node is unwell only because its pods have not been read, for example after a restart of the operator.
  bool is_unread = false;
  // True if the node is done, but it or its driver pod is not Ready, or the driver pod is missing. `unwell` contains
  // the details.
  bool out_of_use = false;
  // Time since which the node has been out of use; nullopt if unknown, or if the driver pod is still starting.
  std::optional<absl::Time> out_of_use_since = std::nullopt;
  // Used by matches.h. `conditions`: conditions of the policy that the node has. `has_chosen_pod`: whether the node has
  // a pod that the podSelector of the policy selects; nullopt if the pods were not checked.
  std::uint64_t conditions = 0;
  std::optional<bool> has_chosen_pod = std::nullopt;
  // Number of pods that the upgrade of the node would evict, delete or wait for (pods_in_the_way.h); nullopt if
  // unknown.
  std::optional<int> pods = std::nullopt;
  // True if the node has a grant, but the patch that starts its upgrade may not have been applied yet.
  bool is_granted_only = false;
  // Used by gangs.h. `gangs`: gangs of the node's pods. `unit`: unit with which the node has started or will start.
  // `turn`: sort key that has priority over the policy's order.
  std::vector<std::string> gangs = {};
  bool may_stop = false;  // every pod of a gang allows an interruption now
  std::string unit = {};
  std::string turn = {};
};

// Returns the labels that decide the node's stage and group.
inline const StringMap& LabelsOf(const RolloutNode& node) {
  return node.rollout_labels ? *node.rollout_labels : node.node->labels;
}

// Returns true if the node is left out because of its condition, such as NotReady, and not at the request of an
// administrator. The rollout reports such nodes.
inline bool IsUnfit(const RolloutNode& node) { return node.left_out_by && !TraitsOf(*node.left_out_by).is_wish; }

struct RolloutView {
  // The target revision; nullopt if it cannot be determined.
  std::optional<std::string> revision = std::nullopt;
  // Target revisions of the driver's DaemonSets. `revision` combines them if there are several revisions.
  std::set<std::string> revisions = {};
  std::vector<RolloutNode> nodes = {};
  // Approvals on the driver's DaemonSets, each in the form `<stage>@<revision>`.
  std::set<std::string> approvals = {};
  // Reason why the embedding operator's callback considers the rollout sick; empty if the callback reports no problem.
  std::string sick = {};
  // Durations of the upgrades that were completed since the previous view.
  std::vector<absl::Duration> took = {};
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_VIEW_H_
