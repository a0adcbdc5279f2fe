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

// How far a node is with the target revision.
enum class NodeProgress : std::uint8_t {
  kWaiting,   // Not started.
  kUnderWay,  // Started and not finished. Also used while an unsettled write leaves that unknown.
  kDone,
  kFailed,   // Failed at the current rollout, and not about to be retried; it may hold a slot.
  kLeftOut,  // Left out by its own gate (GateTraits::left_out or is_wish): no other node waits for it.
};

struct RolloutNode {
  // Not null.
  const Node* node = nullptr;
  NodeProgress progress = NodeProgress::kWaiting;
  // The node waits only for the limits. If it is in progress nevertheless, it was admitted earlier with an unknown
  // result; or it has kept its NodeMaintenance, and other nodes would wait for the slot of the maintenance operator
  // that it uses.
  bool may_start = false;
  // Gate that leaves the node out; set with kLeftOut.
  std::optional<GateReason> left_out_by = std::nullopt;
  // The time from which the node's part of maxUnavailable is not expected to be freed. Infinite past: the node is
  // unavailable, and no upgrade in progress will make it available. Infinite future: it is available, or such an
  // upgrade is in progress.
  absl::Time lasts_from = absl::InfiniteFuture();
  // The operator runs on this node, so it goes last, except for the rest of groups that have started.
  bool own_node = false;
  // An earlier upgrade has cordoned the node, or had the maintenance operator do so, and has not returned it to
  // service. Such a node waits for no stage, because the earlier stages would wait for its part of maxUnavailable or
  // for its slot of that operator.
  bool out_of_service = false;
  // It is cordoned, or its devices are isolated and the evictions may start.
  bool is_isolated = false;
  // The reason, for users, why the node counts as sick with its new driver. Empty if it is healthy, or has the old
  // driver.
  std::string sick = {};
  // The part, for users, of a node with its new driver that is not ready yet: its stage is not done until it is ready.
  // Empty if all parts are ready.
  std::string unwell = {};
  // The node is done, but the node or its driver pod is not Ready; `unwell` has the details.
  bool out_of_use = false;
  // Since when `out_of_use` has been set; nullopt: unknown, or the driver pod is still starting.
  std::optional<absl::Time> out_of_use_since = std::nullopt;
  // For matches.h: the conditions on the node that the policy names, and whether the node has a pod that its
  // podSelector selects; nullopt: not checked.
  std::uint64_t conditions = 0;
  std::optional<bool> has_chosen_pod = std::nullopt;
  // Number of pods that its upgrade would evict, delete or wait for (pods_in_the_way.h); nullopt: not known.
  std::optional<int> pods = std::nullopt;
  // It has a grant, but its start may not have been written.
  bool is_granted_only = false;
  // With gangs (gangs.h): the gangs of the node's pods; the unit with which the node has started or will start, empty
  // without a unit; and a text that goes before the policy's order.
  std::vector<std::string> gangs = {};
  bool may_stop = false;  // each pod of a gang allows it
  std::string unit = {};
  std::string turn = {};
};

// Whether the node is left out because of its own condition, such as NotReady, and not on request: the rollout reports
// it.
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
