// The input of a rollout: the nodes, the target revision and the approvals. Also explains why a node waits.
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
  kUnderWay,  // Started and not finished. Also used if this is unknown because of a write with an unknown outcome.
  kDone,
  kFailed,   // Failed in the current rollout, and will not be retried; it may hold a slot.
  kLeftOut,  // Left out by its own gate (GateTraits::left_out or is_wish): no other node waits for it.
};

struct RolloutNode {
  // Not null.
  const Node* node = nullptr;
  NodeProgress progress = NodeProgress::kWaiting;
  // The node waits only for the limits. It may also be in progress in two cases: it was admitted earlier with an
  // unknown result, or it still has its NodeMaintenance, which uses a slot of the maintenance operator that other nodes
  // would wait for.
  bool may_start = false;
  // The gate because of which the node is left out; set with kLeftOut.
  std::optional<GateReason> left_out_by = std::nullopt;
  // The time from which the node's part of maxUnavailable is not expected to be freed. Infinite past: the node is
  // unavailable, and no upgrade in progress will make it available. Infinite future: it is available, or such an
  // upgrade is in progress.
  absl::Time lasts_from = absl::InfiniteFuture();
  // The operator runs on this node, so it goes last, except for the rest of groups that have started.
  bool own_node = false;
  // An earlier upgrade has cordoned the node, itself or through the maintenance operator, and has not returned it to
  // service. Such a node does not wait for a stage, because earlier stages would wait until it no longer counts against
  // maxUnavailable, or until it frees its slot of that operator.
  bool out_of_service = false;
  // True if the node is cordoned, or if its devices are isolated and the evictions may start.
  bool is_isolated = false;
  // The reason, for users, why the node counts as sick with its new driver. Empty if it is healthy, or has the old
  // driver.
  std::string sick = {};
  // Text for users: the part of a node with its new driver that is not ready yet. The stage is not done until this part
  // is ready. Empty if all parts are ready.
  std::string unwell = {};
  // The node is done, but the node or its driver pod is not Ready; `unwell` contains the details.
  bool out_of_use = false;
  // Time since which `out_of_use` has been set; nullopt: unknown, or the driver pod is still starting.
  std::optional<absl::Time> out_of_use_since = std::nullopt;
  // For matches.h: the conditions on the node that the policy names, and whether the node has a pod that its
  // podSelector selects; nullopt: not checked.
  std::uint64_t conditions = 0;
  std::optional<bool> has_chosen_pod = std::nullopt;
  // Number of pods that its upgrade would evict, delete or wait for (pods_in_the_way.h); nullopt: unknown.
  std::optional<int> pods = std::nullopt;
  // True if the node has a grant, but its start may not have been written.
  bool is_granted_only = false;
  // With gangs (gangs.h): the gangs of the node's pods; the unit with which the node has started or will start, empty
  // without a unit; and a text that takes precedence over the policy's order.
  std::vector<std::string> gangs = {};
  bool may_stop = false;  // each pod of a gang allows it
  std::string unit = {};
  std::string turn = {};
};

// Returns true if the node is left out because of its own condition, such as NotReady, and not on request. The rollout
// reports such nodes.
inline bool IsUnfit(const RolloutNode& node) { return node.left_out_by && !TraitsOf(*node.left_out_by).is_wish; }

struct RolloutView {
  // The target revision; nullopt if it cannot be determined.
  std::optional<std::string> revision = std::nullopt;
  // The revisions of the driver's DaemonSets; if there are several, `revision` combines them.
  std::set<std::string> revisions = {};
  std::vector<RolloutNode> nodes = {};
  // The annotation with approvals: `<stage>@<revision>`, separated by commas.
  std::string approvals = {};
  // The reason why the embedding operator's callback considers the rollout sick; empty if it does not.
  std::string sick = {};
  // Upgrade durations of nodes that were done since the previous view.
  std::vector<absl::Duration> took = {};
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_VIEW_H_
