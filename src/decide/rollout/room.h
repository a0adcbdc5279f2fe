// Who of the nodes that wait starts now, by all parts of a rollout.
//
//     std::vector<RolloutVerdict> verdicts = AdmitNodes(rules, view, stages, step, start, room);
//
// Pure.
#ifndef DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ROOM_H_
#define DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ROOM_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "decide/rollout/stages.h"
#include "decide/rollout/view.h"
#include "decide/rollout/windows.h"

namespace driverupgrade::internal {

// What the limits of the policy say of nodes that start as one, while nodes start.
class RolloutRoom {
 public:
  virtual ~RolloutRoom() = default;
  // Why nobody starts; nullopt: the limits do not say so.
  virtual std::optional<Gate> Closed() const = 0;
  // Why they never can, however few others are under way.
  virtual std::optional<Gate> NeverFits(const std::vector<std::size_t>& nodes) const = 0;
  // Why they may not all start now; nullopt: they may. `nodes`: indexes in the view. With GroupMode::kTogether a group
  // takes one slot, and one that has begun has it: `takes_slot` is false.
  virtual std::optional<Gate> Refusal(const std::vector<std::size_t>& nodes, bool takes_slot) const = 0;
  // They start.
  virtual void Take(const std::vector<std::size_t>& nodes, bool takes_slot) = 0;
};

struct RolloutVerdict {
  std::string node = {};
  // In the view.
  std::size_t index = 0;
  // nullopt: it starts.
  std::optional<Gate> gate = std::nullopt;
  friend bool operator==(const RolloutVerdict&, const RolloutVerdict&) = default;
};

// The nodes with `may_start`, in the order in which they are asked. A group that finds no room because others are under
// way keeps it free: nobody behind it starts.
std::vector<RolloutVerdict> AdmitNodes(const RolloutRules& rules, const RolloutView& view,
                                       const std::vector<int>& stages, const RolloutStep& step, const StartTime& start,
                                       RolloutRoom& room);

// Why nobody starts at a time that is not open.
Gate WindowGate(const StartTime& start);

// How many of maxParallelUpgrades are taken by the nodes under way: nodes, or groups that start together. By stage.
std::vector<int> SlotsUsed(const RolloutRules& rules, const RolloutView& view, const std::vector<int>& stages);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ROLLOUT_ROOM_H_
