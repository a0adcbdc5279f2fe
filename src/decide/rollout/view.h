// What a rollout looks at: the nodes, the target revision, the approvals; and how it says why a node waits.
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
  kWaiting,   // Not begun.
  kUnderWay,  // Begun and not ended. So is one of which that is not known because a write is unsettled.
  kDone,
  kFailed,   // Of what is rolled out now, and not to be tried again at once; it may hold a slot.
  kLeftOut,  // Left out by its own gate (GateTraits::left_out or is_wish): no other node waits for it.
};

struct RolloutNode {
  // Not null.
  const Node* node = nullptr;
  NodeProgress progress = NodeProgress::kWaiting;
  // It waits for nothing but the limits. One that is under way all the same has been admitted before, and what came of
  // it is not known; or it has kept its NodeMaintenance, for whose slot of the maintenance operator others would wait.
  bool may_start = false;
  // Gate that leaves the node out; set with kLeftOut.
  std::optional<GateReason> left_out_by = std::nullopt;
  // From when on nobody waits for what it takes of maxUnavailable to come back. Infinite past: it is unavailable, and by
  // no upgrade that will give that back. Infinite future: it is available, or such an upgrade is under way.
  absl::Time lasts_from = absl::InfiniteFuture();
  // The operator runs on it: last of all, but for the rest of groups that have begun.
  bool own_node = false;
  // An upgrade before this one has cordoned it, or had the maintenance operator do so, and not given it back: it waits
  // for no stage, as the stages before would wait for what it takes of maxUnavailable, or of that operator's slots.
  bool out_of_service = false;
  // It is cordoned, or its devices are isolated and the evictions may begin.
  bool is_isolated = false;
  // Why the node counts as sick with its new driver, for a person; empty: it is well, or has the old one.
  std::string sick = {};
  // What the node with its new driver is not ready with yet, for a person: its stage is not done before. Empty: all is
  // ready.
  std::string unwell = {};
  // It is done, but the node or its driver pod is not Ready; `unwell` says so.
  bool out_of_use = false;
  // Since when it has been so; nullopt: it is not known, or the driver pod is still starting.
  std::optional<absl::Time> out_of_use_since = std::nullopt;
  // For matches.h: the conditions on the node that the policy names, and whether the node has a pod that its podSelector
  // selects; nullopt: not checked.
  std::uint64_t conditions = 0;
  std::optional<bool> has_chosen_pod = std::nullopt;
  // Number of pods that its upgrade would evict, delete or wait for (pods_in_the_way.h); nullopt: not known.
  std::optional<int> pods = std::nullopt;
  // It has a grant, and its start is not known to have been written.
  bool is_granted_only = false;
  // With gangs (gangs.h): the gangs of the node's pods. The unit as whose part the node has started or will start, empty without a unit. A text
  // that goes before the policy's order.
  std::vector<std::string> gangs = {};
  bool may_stop = false;  // each pod of a gang says so
  std::string unit = {};
  std::string turn = {};
};

// Whether it is left out because of its own condition, such as NotReady, and not by a wish: the rollout reports it.
inline bool IsUnfit(const RolloutNode& node) { return node.left_out_by && !TraitsOf(*node.left_out_by).is_wish; }

struct RolloutView {
  // What is to be rolled out; nullopt: it cannot be told.
  std::optional<std::string> revision = std::nullopt;
  // The revisions of the driver's DaemonSets, of which `revision` is made if they are several.
  std::set<std::string> revisions = {};
  std::vector<RolloutNode> nodes = {};
  // The annotation with approvals: `<stage>@<revision>`, separated by commas.
  std::string approvals = {};
  // Why the embedding operator's callback takes the rollout for sick; empty: it does not.
  std::string sick = {};
  // Of nodes that were done since the view before.
  std::vector<absl::Duration> took = {};
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_VIEW_H_
