// Who of the nodes that wait starts now, by all parts of a rollout.
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

// What the limits of the policy say of nodes that start as one, while nodes start.
class RolloutRoom {
 public:
  virtual ~RolloutRoom() = default;
  // Why nobody starts, as long as this lives; nullopt: the limits do not say so.
  virtual std::optional<Gate> Closed() const = 0;
  // Below kKinds. Between two calls of Take nodes of one kind are refused alike, each by itself; nullopt: it is of no
  // kind.
  virtual std::optional<std::size_t> KindOf(std::size_t /*node*/) const { return std::nullopt; }
  static constexpr std::size_t kKinds = 16;
  // Why they never can, however few others are under way.
  virtual std::optional<Gate> NeverFits(const std::vector<std::size_t>& nodes) const = 0;
  // Whether they may all start once those under way have ended that will give room, if nobody else starts before.
  virtual bool FitsLater(const std::vector<std::size_t>& nodes) const = 0;
  // Why they may not all start now; nullopt: they may. `nodes`: indexes in the view. With GroupMode::kTogether a group
  // takes one slot, and one that has begun has it: `takes_slot` is false.
  virtual std::optional<Gate> Refusal(const std::vector<std::size_t>& nodes, bool takes_slot) const = 0;
  // They start.
  virtual void Take(const std::vector<std::size_t>& nodes, bool takes_slot) = 0;
};

struct RolloutAnswer {
  static constexpr int kStarts = -1;
  // In the view.
  std::size_t index = 0;
  // In RolloutAnswers::gates, or kStarts.
  int gate = kStarts;
};
// Most of those that wait do so for one of a few reasons.
struct RolloutAnswers {
  std::vector<Gate> gates = {};
  std::vector<RolloutAnswer> nodes = {};
  GangWaits gang_waits = {};  // waits of the step's record that have not ended, and new waits
};

// The nodes with `may_start`, in the order in which they are asked: the rest of a group that has begun goes first. A group
// that finds no room because others are under way keeps it free, if their ends will bring it: of those behind it only
// such rests start. If nobody is under way and nobody starts, one node that is out of service does so by itself.
// `census`: of the nodes of the view.
RolloutAnswers AdmitNodes(const RolloutRules& rules, const RolloutView& view, RolloutCensus& census,
                          const RolloutStep& step, const StartTime& start, absl::Time now, RolloutRoom& room);

// Why nobody starts at a time that is not open.
Gate WindowGate(const StartTime& start, const RolloutRecord& record, const RolloutPolicy& policy);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ROOM_H_
