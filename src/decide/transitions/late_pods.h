// Evicts pods that are on a node after its evacuation, before its driver is replaced or loaded.
#ifndef DRIVERUPGRADE_SRC_DECIDE_TRANSITIONS_LATE_PODS_H_
#define DRIVERUPGRADE_SRC_DECIDE_TRANSITIONS_LATE_PODS_H_

#include <string>
#include <vector>

#include "decide/transitions/walk.h"

namespace driverupgrade {

// The progress of a node's evacuation, and the treatment of pods that must still leave.
struct Evacuation {
  enum class Status { kDone, kEvicting, kUnread, kStuck };
  Status status = Status::kDone;
  std::vector<const Pod*> pods = {};
  EvictionRound round = {};
  OnTimeout on_timeout = OnTimeout::kFail;
  OnFailure on_failure = OnFailure::kFail;
  // Set if `status` is kStuck: the obstacle that the engine cannot remove itself.
  Gate stuck = {};
  bool done() const { return status == Status::kDone; }
  std::string Remaining(const Walk& walk) const {
    return status == Status::kStuck ? stuck.detail : walk.drains.Remaining(pods, walk.view, walk.in.now);
  }
};

// Selects the pods that must leave before the driver is replaced, under the same rules as in the evacuation: pod
// deletion, or the drain as its fallback (T25). `spares_pending`: leaves pods in the phase Pending on the node.
Evacuation Evacuate(Walk& walk, bool spares_pending = false);

// Evicts pods that arrived on the node after the evacuation. The evacuation timeout applies (dep-F8), but starts when
// the pods arrive, because the node may have entered pod-restart-required long ago.
Progress EvictNewcomers(Walk& walk, Evacuation evacuation);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_DECIDE_TRANSITIONS_LATE_PODS_H_
