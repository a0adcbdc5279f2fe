#include "driverupgrade/gate.h"

namespace driverupgrade {

std::string_view ToString(FindingCode code) {
  switch (code) {
    case FindingCode::kUnknownState: return "UnknownState";
    case FindingCode::kUnhandledState: return "UnhandledState";
    case FindingCode::kNodeMissing: return "NodeMissing";
    case FindingCode::kDaemonSetMissing: return "DaemonSetMissing";
    case FindingCode::kRevisionUnknown: return "RevisionUnknown";
    case FindingCode::kPodWithoutRevision: return "PodWithoutRevision";
    case FindingCode::kUpdateStrategy: return "UpdateStrategy";
    case FindingCode::kTimerRestarted: return "TimerRestarted";
    case FindingCode::kPodLeftAlone: return "PodLeftAlone";
    case FindingCode::kForeignCordon: return "ForeignCordon";
    case FindingCode::kClaimLeftBehind: return "ClaimLeftBehind";
    case FindingCode::kHookFailed: return "HookFailed";
    case FindingCode::kLedger: return "Ledger";
    case FindingCode::kRollout: return "Rollout";
    case FindingCode::kReadFailed: return "ReadFailed";
    case FindingCode::kUnreadable: return "Unreadable";
    case FindingCode::kDriverPodCannotStart: return "DriverPodCannotStart";
    case FindingCode::kNoDaemonSet: return "NoDaemonSet";
    case FindingCode::kNothingIsEvicted: return "NothingIsEvicted";
    case FindingCode::kNoOwner: return "NoOwner";
    case FindingCode::kLabelTakenAway: return "LabelTakenAway";
    case FindingCode::kDriverPodUnscheduled: return "DriverPodUnscheduled";
    case FindingCode::kDriverPodNotReady: return "DriverPodNotReady";
    case FindingCode::kDevicesNotIsolated: return "DevicesNotIsolated";
    case FindingCode::kSelectsNothing: return "SelectsNothing";
  }
  return "";
}

}  // namespace driverupgrade
