// Decides which waiting nodes may start now, given the whole rollout policy.
//
//     RolloutAnswers answers = AdmitNodes(rules, view, census, step, start, room);
//
// Pure.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ROOM_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ROOM_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "decide/rollout/census.h"
#include "decide/rollout/gangs.h"
#include "decide/rollout/stages.h"
#include "decide/rollout/view.h"
#include "policy/windows.h"

namespace driverupgrade::internal {

// The policy limits for nodes that start together. Updated while nodes are admitted.
class RolloutRoom {
 public:
  virtual ~RolloutRoom() = default;
  // Returns why no node can start during the lifetime of this object; nullopt if the limits allow nodes to start.
  virtual std::optional<Gate> Closed() const = 0;
  // Returns the kind of the node, a number below kKinds; nullopt if the node has no kind. Between two calls to Take,
  // all single nodes of a kind get the same result from Refusal.
  virtual std::optional<std::size_t> KindOf(std::size_t /*node*/) const { return std::nullopt; }
  static constexpr std::size_t kKinds = 16;
  // Returns why the nodes can never start together, even if no other node is in progress; nullopt if they can start
  // together.
  virtual std::optional<Gate> NeverFits(const std::vector<std::size_t>& nodes) const = 0;
  // Returns true if all of `nodes` can start when the nodes in progress have freed their room, provided that no other
  // node starts first.
  virtual bool FitsLater(const std::vector<std::size_t>& nodes) const = 0;
  // Returns why the nodes cannot all start now; nullopt if they may start. `nodes`: indexes in the view. `takes_slot`:
  // false if the nodes belong to a group with GroupMode::kTogether that has already started, because such a group holds
  // one slot for all of its nodes.
  virtual std::optional<Gate> Refusal(const std::vector<std::size_t>& nodes, bool takes_slot) const = 0;
  // Returns true if the node may start now to load the driver that it has.
  virtual bool MayReload(std::size_t node) const = 0;
  // Records the start of the nodes.
  virtual void Take(const std::vector<std::size_t>& nodes, bool takes_slot) = 0;
};

struct RolloutAnswer {
  // Index in the view.
  std::size_t index = 0;
  // One of RolloutAnswers::gates; null if the node starts.
  const Gate* gate = nullptr;
  // True if the node starts only to load the driver that it has (RolloutNode::reloads).
  bool reload_only = false;
};
// Decisions on all waiting nodes.
struct RolloutAnswers {
  // Most nodes share one of a few gates. The gates are stored in a deque, because moving a deque does not move its
  // elements.
  std::deque<Gate> gates = {};
  std::vector<RolloutAnswer> nodes = {};
  GangWaits gang_waits = {};  // recorded waits that have not ended, and new waits
};

// Decides which of the nodes with `may_start` start, in admission order. The remaining nodes of groups that have
// started come first. If a group does not fit because other nodes are in progress, the group reserves the room that
// those nodes will free. Once a group has reserved room, only remaining nodes of started groups may start. If no node
// is in progress and no node starts, one node that is out of service starts alone. `census`: census of the nodes in the
// view.
RolloutAnswers AdmitNodes(const RolloutRules& rules, const RolloutView& view, RolloutCensus& census,
                          const RolloutStep& step, const StartTime& start, absl::Time now, RolloutRoom& room);

// Returns the gate of nodes that must not start because no window is open.
Gate WindowGate(const StartTime& start, const RolloutRecord& record, const RolloutPolicy& policy);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ROOM_H_
