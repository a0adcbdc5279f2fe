// Handles node-maintenance-required, in which an external operator evacuates the node. Also handles our claims on
// NodeMaintenances (dep-F13).
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "decide/attempt_log.h"
#include "decide/gate_subject.h"
#include "decide/transitions/walk.h"
#include "fmt/format.h"
#include "model/cordon_names.h"

namespace driverupgrade {
namespace {

using internal::MaintenancePhase;
using internal::MaintenanceStatus;

// Plans the call if it is due, and waits for the effect of the call.
Progress Ask(Walk& walk, MaintenanceCall call, std::string detail) {
  const auto attempt = walk.view.attempts.maintenances.find(call.object.name);
  absl::Time due = absl::InfinitePast();
  if (attempt != walk.view.attempts.maintenances.end()) {
    due = internal::NextMaintenanceCallDue(attempt->second, call);
    if (!attempt->second.message.empty()) detail = attempt->second.message;
  }
  Gate gate{
      .reason = GateReason::kMaintenance, .detail = std::move(detail), .subject = MaintenanceSubject(call.object)};
  if (due > walk.in.now) return walk.Wait(std::move(gate), due);
  walk.verdict.plan.maintenance.push_back(std::move(call));
  return walk.Wait(std::move(gate));
}

Progress WaitUnread(Walk& walk, std::string detail) {
  return walk.Wait(GateReason::kMaintenance, std::move(detail), NextRead(walk.in.now));
}

// Returns why one of our objects that is being deleted still exists: another requestor uses the object for work on the
// node (M10). Returns nullopt if no other requestor uses the object.
std::optional<std::string> WaitsForOthers(const NodeMaintenance& object) {
  if (object.additional_requestors.empty()) return std::nullopt;
  return fmt::format("NodeMaintenance {} is kept by {}", object.ToString(), object.additional_requestors.front());
}

}  // namespace

// T10: upgrade-required -> node-maintenance-required. Our budgets do not apply, because the maintenance operator has
// its own limits.
Progress RequestMaintenance(Walk& walk) {
  walk.Write(&NodeMarks::requestor_mode, Flag{});
  return walk.Enter(UpgradeState::kNodeMaintenanceRequired, "the node is requested from the maintenance operator");
}

// T34-T36: node-maintenance-required -> pod-restart-required; -> upgrade-required if requestor mode was switched off
// before an object existed. A missing object is created in this state (arch-A12).
Progress LeaveNodeMaintenance(Walk& walk) {
  if (!walk.requestor) {
    walk.Note(FindingCode::kUnhandledState,
              fmt::format("{}: the operator is not configured as a requestor", ToString(walk.state())));
    return walk.Wait(GateReason::kUnhandledState, "the operator is not configured as a requestor");
  }
  walk.Write(&NodeMarks::requestor_mode, Flag{});
  // If the node is not cordoned, the administrator's cordon was lifted, and the next cordon will belong to the
  // maintenance operator.
  if (!walk.view.node.unschedulable) walk.Remove(&NodeMarks::initially_unschedulable);
  MaintenanceStatus status = walk.requestor->Assess(walk.view);
  switch (status.phase) {
    case MaintenancePhase::kUnread: return WaitUnread(walk, std::move(status.detail));
    case MaintenancePhase::kAbsent:
      // If we still claimed a NodeMaintenance with another name, that object would block the node, and this upgrade
      // would wait indefinitely (§4.3).
      if (const auto releasing = ReleaseMaintenance(walk)) return *releasing;
      if (!walk.in.options.requestor->enabled) {
        return walk.Enter(UpgradeState::kUpgradeRequired, "requestor mode is off");
      }
      return Ask(walk, walk.requestor->Request(walk.view.node, walk.in.policy, PodDeletion(walk.in)),
                 std::move(status.detail));
    case MaintenancePhase::kStale:
      if (auto call = walk.requestor->Release(*status.object, walk.in.now)) {
        return Ask(walk, *std::move(call), std::move(status.detail));
      }
      return walk.Wait({.reason = GateReason::kMaintenance,
                        .detail = std::move(status.detail),
                        .subject = MaintenanceSubject(*status.object)});
    case MaintenancePhase::kForeign: return Ask(walk, walk.requestor->Join(*status.object), std::move(status.detail));
    case MaintenancePhase::kFailed:
      return Ask(walk, *walk.requestor->WithdrawFailure(*status.object, walk.in.now), std::move(status.detail));
    case MaintenancePhase::kPending: return walk.Wait(GateReason::kMaintenance, std::move(status.detail));
    case MaintenancePhase::kReady: break;
  }
  // The object must still exist when the patch is sent. If the object was deleted, workloads may run on the node again.
  walk.verdict.plan.confirm = *status.object;
  return walk.Enter(UpgradeState::kPodRestartRequired, "the maintenance operator evacuated the node");
}

void ReportFailedMaintenance(Walk& walk) {
  if (!walk.requestor) return;
  const MaintenanceStatus status = walk.requestor->Assess(walk.view);
  if (status.object == nullptr || !walk.requestor->Claims(*status.object)) return;
  auto call = walk.requestor->ReportFailure(*status.object, walk.in.now);
  if (!call) return;
  const auto attempt = walk.view.attempts.maintenances.find(call->object.name);
  const bool tried = attempt != walk.view.attempts.maintenances.end();
  const absl::Time due = tried ? internal::NextMaintenanceCallDue(attempt->second, *call) : absl::InfinitePast();
  if (due > walk.in.now) return walk.WakeAt(due);  // keeps the gate, because the node waits for something else
  walk.verdict.plan.maintenance.push_back(*std::move(call));
}

void ForgetLiftedCordon(Walk& walk) {
  if (walk.view.node.unschedulable || !internal::IsInCordonSet(walk.before(), walk.in.identity)) return;
  internal::SetCordonNames(internal::LiveCordonNames(walk.view.node, walk.in.identity.Name()), walk.Edit());
}

bool ClaimsMaintenance(const Walk& walk) {
  return walk.requestor && walk.view.maintenances && !walk.requestor->ClaimsOn(walk.view).empty();
}

std::optional<Progress> ReleaseMaintenance(Walk& walk) {
  if (!walk.requestor) {
    // In other states requestor mode has ended, and the next patch removes the leftover annotation.
    if (!walk.InRequestorMode() || !IsInProgress(walk.state())) return std::nullopt;
    walk.Note(FindingCode::kUnhandledState,
              "the node is in requestor mode, but the operator is not configured as a requestor");
    return walk.Wait(GateReason::kUnhandledState, "the operator is not configured as a requestor");
  }
  if (!walk.view.maintenances) {
    if (!walk.InRequestorMode()) return std::nullopt;
    return WaitUnread(walk, "the NodeMaintenances could not be read");
  }
  for (const NodeMaintenance* object : walk.requestor->ClaimsOn(walk.view)) {
    std::string detail = fmt::format("NodeMaintenance {} is being released", object->ToString());
    if (auto call = walk.requestor->Release(*object, walk.in.now)) return Ask(walk, *std::move(call), detail);
    Gate gate{.reason = GateReason::kMaintenance, .detail = std::move(detail), .subject = MaintenanceSubject(*object)};
    if (auto others = WaitsForOthers(*object)) {
      gate.reason = GateReason::kOtherDriver;
      gate.detail = *std::move(others);
    }
    return walk.Wait(std::move(gate));
  }
  return std::nullopt;
}

}  // namespace driverupgrade
