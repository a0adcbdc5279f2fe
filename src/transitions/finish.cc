// uncordon-required: giving the node back.
#include <string>
#include <utility>

#include "fmt/format.h"
#include "transitions/walk.h"

namespace driverupgrade::inline v1 {
namespace {

// One key of ours after the other; what another driver or an administrator wrote stays (dep-F6, I6).
void RemoveOurTraces(Walk& walk) {
  const DriverIdentity& identity = walk.in.identity;
  for (const std::string& key : {identity.InitiallyUnschedulableAnnotation(), identity.RestartPodAnnotation(),
                                 identity.FailedRevisionAnnotation(), identity.FailuresAnnotation()}) {
    walk.after.annotations.erase(key);
  }
}

// Takes our name off the cordon, and lifts it if no other upgrade relies on it (dep-F7).
void LeaveCordon(Walk& walk) {
  const bool administrators = WasInitiallyUnschedulable(walk.after, walk.in.identity);
  std::set<std::string> names = LiveCordonNames(walk.view.node, walk.in.identity);
  names.erase(walk.in.identity.Name());
  SetCordonNames(walk.after, names);
  if (names.empty() && !administrators) walk.after.unschedulable = false;
}

Progress EnterDone(Walk& walk, std::string reason) {
  LeaveCordon(walk);
  RemoveOurTraces(walk);
  return walk.Enter(UpgradeState::kDone, std::move(reason));
}

}  // namespace

// T48: an administrator's cordon is not ours to lift, so there is nothing to wait for.
Progress FinishUpgrade(Walk& walk, std::string reason) {
  if (WasInitiallyUnschedulable(walk.after, walk.in.identity)) return EnterDone(walk, std::move(reason));
  return walk.Enter(UpgradeState::kUncordonRequired, std::move(reason));
}

// T49 with dep-F8: uncordon-required -> upgrade-done.
Progress LeaveUncordon(Walk& walk) {
  if (const auto other = DriverThatNeedsCordon(walk.view.node, walk.in.identity)) {
    return walk.Wait(GateReason::kOtherDriver, fmt::format("{} needs the node to stay cordoned", *other));
  }
  return EnterDone(walk, "given back");
}

}  // namespace driverupgrade::inline v1
