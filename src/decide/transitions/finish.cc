// Handles uncordon-required, in which the node returns to service.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "decide/shown_wait.h"
#include "decide/transitions/walk.h"
#include "fmt/format.h"
#include "model/cordon_names.h"

namespace driverupgrade {
namespace {

// Returns true if the node's cordon belongs to an upgrade and no other driver relies on the cordon (dep-F7). `read`:
// the marks that were read. `now`: the same marks with the changes of this walk.
bool IsOursToLift(const Node& node, const DriverIdentity& identity, const NodeMarks& read, const NodeMarks& now) {
  // If devices are isolated, the cordon belongs to another client, because the upgrade did not cordon the node.
  if (read.isolated_devices.present()) return false;
  if (internal::WasInitiallyUnschedulable(now) || !internal::LiveCordonNames(node, identity.Name()).empty())
    return false;
  // In requestor mode, the maintenance operator lifts its own cordon. Our name marks a cordon that we set to replace
  // the maintenance operator's cordon (H13).
  if (now.requestor_mode.present()) return internal::IsInCordonSet(read, identity);
  const std::optional<UpgradeState> state = read.State();
  // The Go library does not write the cordon set. If a node in progress was initially schedulable, an upgrade must have
  // cordoned it, so the cordon counts as ours. If the state label is missing, only our name proves that the cordon is
  // ours.
  if (state && IsInProgress(*state) && (read.HasLabel() || internal::IsInCordonSet(read, identity))) return true;
  const internal::Cordon cordon = internal::ReadCordon(node, identity);
  return cordon.kind == internal::CordonKind::kUpgrade && !cordon.rival_lifts;
}

// Keeps annotations that another driver or an administrator wrote (dep-F6, I6).
void RemoveOurAnnotations(NodeMarks& marks) {
  marks.stage.Remove();
  marks.drain_start.Remove();
  marks.unwanted_since.Remove();
  marks.pod_completion_start.Remove();
  marks.validation_start.Remove();
  marks.initially_unschedulable.Remove();
  marks.restart_pod.Remove();
  marks.failed_revision.Remove();
  marks.failures.Remove();
  marks.failure_class.Remove();
  marks.failure_cause.Remove();
  marks.waiting_for.Remove();
  marks.restart_only.Remove();
  marks.reload_only.Remove();
  marks.unit.Remove();
  marks.rollout_labels.Remove();
  marks.isolated_devices.Remove();
  marks.requestor_mode.Remove();
}

// Returns true if the walk would lift a cordon that was on the node when it was read. Any other cordon was planned by
// this walk.
bool LiftsCordon(const Walk& walk) {
  return walk.view.node.unschedulable && IsOursToLift(walk.view.node, walk.in.identity, walk.before(), walk.after());
}

// Waits while `other`, a driver or program, relies on the cordon that would be lifted. Returns nullopt if no wait is
// necessary.
std::optional<Progress> WaitFor(const std::optional<std::string>& other, Walk& walk) {
  if (!other || !LiftsCordon(walk)) return std::nullopt;
  Gate gate{.reason = GateReason::kOtherDriver, .detail = fmt::format("{} needs the node to stay cordoned", *other)};
  if (internal::ParseDriverName(*other)) gate.subject = GateSubject(GateSubjectKind::kDriver, "", *other);
  return walk.Wait(std::move(gate));
}

// Time for which no DaemonSet must have selected a node before the node is released. Labels can be missing for a short
// time: node-feature-discovery removes its labels and adds them again when it restarts (NFD#1752, NFD#2408), and an
// operator creates the DaemonSet for a new kernel only after a node has booted it.
constexpr absl::Duration kUnwantedMin = absl::Minutes(10);
// Time for which such a node is not marked, so that a restart of node-feature-discovery does not cause two patches for
// each node.
constexpr absl::Duration kUnmarkedMin = absl::Minutes(1);

// Returns true if a node that waits for its upgrade, or whose upgrade is in progress or has failed, has no driver pod,
// and no DaemonSet of the driver selects the node. Returns false if the driver has no DaemonSet at all, because the
// operator may be recreating the DaemonSet.
bool IsUnwanted(const Walk& walk) {
  const auto& daemon_sets = walk.in.driver.daemon_sets;
  if (!walk.driver.none || walk.InRequestorMode() || daemon_sets.empty()) return false;
  const bool is_marked = walk.before().HasLabel() && walk.state() != UpgradeState::kDone;
  if (!is_marked && !internal::IsIsolated(walk.before(), walk.in.identity)) return false;
  return std::none_of(daemon_sets.begin(), daemon_sets.end(),
                      [&](const auto& set) { return Wants(set.second.daemon_set, walk.view.node); });
}

// Returns the time at which the node is released, or at which the node is marked if it has no mark yet. Marks the node
// if that is due.
absl::Time UnwantedDue(Walk& walk, const internal::ShownWait* shown_wait) {
  const absl::Time now = walk.in.now;
  const std::optional<absl::Time> since = walk.after().unwanted_since.value();
  // A DaemonSet may have selected the node again while no engine was active. A mark that fell due in that time proves
  // nothing, and any other mark is confirmed for a minute.
  const absl::Time active = walk.in.active_since;
  const bool is_valid = since && *since <= now + kClockSkewMax && *since + kUnwantedMin >= active;
  if (is_valid) return std::max(*since + kUnwantedMin, active + kUnmarkedMin);
  if (shown_wait != nullptr) {
    const absl::Time held_since = shown_wait->HeldSince(walk.state(), GateReason::kDriverPodMissing, now);
    if (now < held_since + kUnmarkedMin) return held_since + kUnmarkedMin;
  }
  walk.Write(&NodeMarks::unwanted_since, WholeSecond(now));
  return WholeSecond(now) + kUnwantedMin;
}

Progress RestartAgain(Walk& walk) {
  return walk.Enter(UpgradeState::kPodRestartRequired, "the driver pod is not up to date and ready");
}

// Returns true if the node must be admitted again before its outdated driver pod is replaced (dep-F8). Another node may
// have taken the slot while this node waited for another driver. Returns false if the node is cordoned without our
// name, because the next upgrade would mistake the cordon for an administrator's.
bool NeedsAdmission(const Walk& walk) {
  if (!walk.driver.out_of_date || walk.InRequestorMode()) return false;
  return !walk.view.node.unschedulable || internal::IsIsolated(walk.before(), walk.in.identity);
}

// Makes the node wait for its next upgrade, and ends the walk. The slot that the node may still hold from this upgrade
// must not be used for the next one.
Progress QueueAgain(Walk& walk) {
  RequireUpgrade(walk, "the driver pod is out of date");
  return walk.Wait(GateReason::kUnsettled, "the limits admit its next upgrade once this patch has been observed");
}

}  // namespace

std::string GiveBack(const Node& node, const DriverIdentity& identity, NodeMarks& after) {
  std::string reason = "released";
  if (node.unschedulable && IsOursToLift(node, identity, after, after)) {
    const std::optional<std::string> other = internal::WhoElseNeedsCordon(node, identity);
    after.unschedulable = other.has_value();
    if (other) reason += fmt::format("; the cordon stays, because {} needs it", *other);
  }
  internal::SetCordonNames(internal::LiveCordonNames(node, identity.Name()), after);
  RemoveOurAnnotations(after);
  after.state.Remove();
  after.steers = false;
  return reason;
}

void ReturnToService(Walk& walk) {
  const DriverIdentity& identity = walk.in.identity;
  const Node& node = walk.view.node;
  const bool lifts = LiftsCordon(walk) && !internal::WhoElseNeedsCordon(node, identity);
  walk.Remove(&NodeMarks::isolated_devices);
  if (lifts || !node.unschedulable) walk.Edit().unschedulable = false;
  internal::SetCordonNames(internal::LiveCordonNames(node, identity.Name()), walk.Edit());
  walk.Write(&NodeMarks::failure_class, std::string(ToString(FailureClass::kDrainBlocked)));
}

bool ReleaseUnwanted(Walk& walk, const internal::ShownWait* shown_wait) {
  if (!IsUnwanted(walk)) {
    walk.Remove(&NodeMarks::unwanted_since);
    return false;
  }
  const std::string why = "no DaemonSet of the driver selects the node";
  if (const absl::Time due = UnwantedDue(walk, shown_wait); !walk.Expired(due)) {
    walk.Wait(GateReason::kDriverPodMissing, why + "; it is released if that lasts for ten minutes", due);
    return true;
  }
  GiveBack(walk.view.node, walk.in.identity, walk.Edit());
  walk.Release(why);
  return true;
}

Progress EnterDone(Walk& walk, std::string reason) {
  // Claims are released even if the requestor-mode annotation is missing, because another client may have removed the
  // annotation.
  if (const auto releasing = ReleaseMaintenance(walk)) return *releasing;
  if (const auto waits = WaitFor(internal::WhoElseNeedsCordon(walk.view.node, walk.in.identity), walk)) return *waits;
  if (const auto releasing = ReleaseRules(walk)) return *releasing;
  if (LiftsCordon(walk) || !walk.view.node.unschedulable) walk.Edit().unschedulable = false;
  RemoveOurAnnotations(walk.Edit());
  return walk.Enter(UpgradeState::kDone, std::move(reason));
}

// T48: enters uncordon-required. If an administrator had cordoned the node, enters upgrade-done directly, because the
// engine must not lift that cordon. However, such a node also enters uncordon-required if the maintenance operator must
// release it first. The same applies if device taint rules must be removed, because the current state would renew them.
Progress FinishUpgrade(Walk& walk, std::string reason) {
  if (!walk.driver.ready) return RestartAgain(walk);
  if (walk.InRequestorMode()) {
    walk.Remove(&NodeMarks::initially_unschedulable);
    return walk.Enter(UpgradeState::kUncordonRequired, std::move(reason));
  }
  if (internal::WasInitiallyUnschedulable(walk.after()) && !walk.IsolatesDevices()) {
    return EnterDone(walk, std::move(reason));
  }
  return walk.Enter(UpgradeState::kUncordonRequired, std::move(reason));
}

// T49, T50 with dep-F8 and dep-F13: uncordon-required -> upgrade-done; -> pod-restart-required | upgrade-required if
// the driver is not confirmed to work, even if another client set the state label.
Progress LeaveUncordon(Walk& walk) {
  const bool is_left_alone = walk.InRequestorMode() && !walk.requestor;
  if (!walk.driver.ready && !is_left_alone) {
    // Other programs do not keep the driver from being repaired, because they may wait for a working driver.
    const auto other = internal::DriverThatNeedsCordon(walk.view.node, walk.in.identity);
    if (const auto waits = WaitFor(other, walk)) return *waits;
    if (walk.driver.unknown) return walk.Wait(GateReason::kRevisionUnknown, walk.driver.why_unknown);
    return NeedsAdmission(walk) ? QueueAgain(walk) : RestartAgain(walk);
  }
  return EnterDone(walk, "given back");
}

}  // namespace driverupgrade
