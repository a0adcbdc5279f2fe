// Checks whether the policy limits leave room for units of a rollout. The nodes of a unit start together.
//
//     LimitsRoom room(Limits::Of(budgets, paused), {.unavailable_max = 3}, candidate_of);
//     AdmitNodes(rules, view, census, step, start, room);
#ifndef DRIVERUPGRADE_SRC_DECIDE_ADMISSION_LIMITS_ROOM_H_
#define DRIVERUPGRADE_SRC_DECIDE_ADMISSION_LIMITS_ROOM_H_

#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "decide/admission/limits.h"
#include "decide/rollout/room.h"
#include "decide/verdict.h"
#include "driverupgrade/gate.h"

namespace driverupgrade::internal {

// Limits on the size of a unit, whose nodes start together; nullopt if there is no limit. The other two members are the
// numbers of nodes that take up part of a limit and will not free it on their own (RolloutNode::lasts_from).
struct RoomOfGroups {
  std::optional<int> unavailable_max = std::nullopt;
  std::optional<std::size_t> grants_max = std::nullopt;
  int unavailable_for_long = 0;
  std::size_t granted_for_long = 0;
};

class LimitsRoom final : public RolloutRoom {
 public:
  // Returns the candidate for a node, given the node's index in the view of the rollout.
  using CandidateOf = std::function<const Candidate&(std::size_t)>;
  LimitsRoom(Limits limits, RoomOfGroups groups, CandidateOf candidate_of);

  std::optional<Gate> Closed() const override { return closed_; }
  std::optional<Gate> NeverFits(const std::vector<std::size_t>& nodes) const override;
  bool FitsLater(const std::vector<std::size_t>& nodes) const override;
  std::optional<std::size_t> KindOf(std::size_t node) const override;
  std::optional<Gate> Refusal(const std::vector<std::size_t>& nodes, bool takes_slot) const override;
  bool MayReload(std::size_t node) const override;
  void Take(const std::vector<std::size_t>& nodes, bool takes_slot) override;

 private:
  Candidate Asked(std::size_t node, bool takes_slot) const;
  int Takes(const std::vector<std::size_t>& nodes) const;

  Limits limits_;
  const RoomOfGroups groups_;
  const CandidateOf candidate_of_;
  std::optional<Gate> closed_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_DECIDE_ADMISSION_LIMITS_ROOM_H_
