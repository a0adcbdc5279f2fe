// Decides which waiting nodes may start now, given the whole rollout policy.
//
//     RolloutAnswers answers = AdmitNodes(rules, view, census, step, start, room);
//
// Pure.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ROOM_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ROOM_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "decide/rollout/census.h"
#include "decide/rollout/gangs.h"
#include "decide/rollout/stages.h"
#include "decide/rollout/view.h"
#include "policy/windows.h"

namespace driverupgrade::internal {

// The limits of the policy for nodes that start together, updated while nodes are started.
class RolloutRoom {
 public:
  virtual ~RolloutRoom() = default;
  // Returns why no node can start as long as this object lives; nullopt if the limits do not prevent it.
  virtual std::optional<Gate> Closed() const = 0;
  // Returns a number below kKinds, or nullopt if the node has no kind. Between two calls of Take, all single nodes of
  // one kind get the same result.
  virtual std::optional<std::size_t> KindOf(std::size_t /*node*/) const { return std::nullopt; }
  static constexpr std::size_t kKinds = 16;
  // Returns why the nodes can never start, however few other nodes are in progress.
  virtual std::optional<Gate> NeverFits(const std::vector<std::size_t>& nodes) const = 0;
  // Returns true if all these nodes may start once the nodes in progress that will free room have finished, if no other
  // node starts first.
  virtual bool FitsLater(const std::vector<std::size_t>& nodes) const = 0;
  // Returns why the nodes may not all start now; nullopt if they may. `nodes`: indexes in the view. With
  // GroupMode::kTogether a group takes one slot. If it has already started, it has the slot: `takes_slot` is false.
  virtual std::optional<Gate> Refusal(const std::vector<std::size_t>& nodes, bool takes_slot) const = 0;
  // Notes that the nodes start.
  virtual void Take(const std::vector<std::size_t>& nodes, bool takes_slot) = 0;
};

struct RolloutAnswer {
  static constexpr int kStarts = -1;
  // Index in the view.
  std::size_t index = 0;
  // Index in RolloutAnswers::gates, or kStarts.
  int gate = kStarts;
};
// Most waiting nodes share one of a few reasons.
struct RolloutAnswers {
  std::vector<Gate> gates = {};
  std::vector<RolloutAnswer> nodes = {};
  GangWaits gang_waits = {};  // waits of the step's record that have not ended, and new waits
};

// Decides about the nodes with `may_start`, in the order of admission: the rest of a group that has started goes first.
// If a group finds no room because other nodes are in progress, it reserves the room that they will free. Behind such a
// group, only the rest of groups that have started may start. If no node is in progress and none starts, one node that
// is out of service starts alone. `census`: the census of the nodes in the view.
RolloutAnswers AdmitNodes(const RolloutRules& rules, const RolloutView& view, RolloutCensus& census,
                          const RolloutStep& step, const StartTime& start, absl::Time now, RolloutRoom& room);

// Describes why no node may start outside the open windows.
Gate WindowGate(const StartTime& start, const RolloutRecord& record, const RolloutPolicy& policy);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ROOM_H_
