// uncordon-required: giving the node back.
#include <optional>
#include <string>
#include <utility>

#include "decide/transitions/walk.h"
#include "driverupgrade/cordon_names.h"
#include "fmt/format.h"
#include "model/node_state.h"

namespace driverupgrade::inline v1 {
namespace {

// Whether the node's cordon is an upgrade's that nobody but us relies on (dep-F7).
bool IsOursToLift(const Node& node, const DriverIdentity& identity) {
  if (internal::WasInitiallyUnschedulable(node, identity) || !LiveCordonNames(node, identity.Name()).empty())
    return false;
  // In requestor mode the maintenance operator lifts its own cordon; ours is one that we put in its place (H13).
  if (node.annotations.contains(identity.RequestorModeAnnotation())) return internal::IsInCordonSet(node, identity);
  const std::optional<UpgradeState> state = internal::StateOf(node, identity);
  // The Go library keeps no set: a cordon on a node that is in progress and was schedulable before is its own, and
  // ours.
  if (state && IsInProgress(*state)) return true;
  const internal::Cordon cordon = internal::ReadCordon(node, identity);
  return cordon.kind == internal::CordonKind::kUpgrade && !cordon.rival;
}

// What another driver or an administrator wrote stays (dep-F6, I6).
void RemoveOurAnnotations(Node& node, const DriverIdentity& identity) {
  for (const std::string* key :
       {&identity.StageAnnotation(), &identity.PodCompletionStartAnnotation(), &identity.ValidationStartAnnotation(),
        &identity.InitiallyUnschedulableAnnotation(), &identity.RestartPodAnnotation(),
        &identity.FailedRevisionAnnotation(), &identity.FailuresAnnotation(), &identity.RestartOnlyAnnotation(),
        &identity.RequestorModeAnnotation()}) {
    node.annotations.erase(*key);
  }
}

}  // namespace

std::string GiveBack(Node& node, const DriverIdentity& identity) {
  std::string reason = "released";
  if (node.unschedulable && IsOursToLift(node, identity)) {
    const std::optional<std::string> other = internal::DriverThatNeedsCordon(node, identity);
    node.unschedulable = other.has_value();
    if (other) reason += fmt::format("; the cordon is left to {}, whose upgrade needs it", *other);
  }
  internal::SetCordonNames(node, LiveCordonNames(node, identity.Name()));
  RemoveOurAnnotations(node, identity);
  node.labels.erase(identity.StateLabel());
  return reason;
}

Progress EnterDone(Walk& walk, std::string reason) {
  // As it was read, but with what this walk has found out about the initial state. A node that was read as schedulable
  // carries no cordon but one of this very walk.
  const Node read = walk.WithAnnotationsAfter();
  const bool lifts = read.unschedulable && IsOursToLift(read, walk.in.identity);
  if (lifts) {
    if (const auto other = internal::DriverThatNeedsCordon(read, walk.in.identity)) {
      return walk.Wait(GateReason::kOtherDriver, fmt::format("{} needs the node to stay cordoned", *other));
    }
  }
  if (lifts || !read.unschedulable) walk.Edit().unschedulable = false;
  RemoveOurAnnotations(walk.Edit(), walk.in.identity);
  return walk.Enter(UpgradeState::kDone, std::move(reason));
}

// T48: an administrator's cordon is not ours to lift, so there is nothing to wait for but the maintenance operator.
Progress FinishUpgrade(Walk& walk, std::string reason) {
  if (walk.InRequestorMode()) {
    walk.Unannotate(walk.in.identity.InitiallyUnschedulableAnnotation());
    return walk.Enter(UpgradeState::kUncordonRequired, std::move(reason));
  }
  if (internal::WasInitiallyUnschedulable(walk.after(), walk.in.identity)) return EnterDone(walk, std::move(reason));
  return walk.Enter(UpgradeState::kUncordonRequired, std::move(reason));
}

// T49, T50 with dep-F8 and dep-F13: uncordon-required -> upgrade-done.
Progress LeaveUncordon(Walk& walk) {
  if (walk.InRequestorMode()) {
    if (const auto releasing = ReleaseMaintenance(walk)) return *releasing;
  }
  return EnterDone(walk, "given back");
}

}  // namespace driverupgrade::inline v1
