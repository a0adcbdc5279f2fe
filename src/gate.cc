#include "driverupgrade/gate.h"

namespace driverupgrade::inline v1 {

std::string_view ToString(GateReason reason) {
  switch (reason) {
    case GateReason::kMaxParallel: return "MaxParallel";
    case GateReason::kMaxUnavailable: return "MaxUnavailable";
    case GateReason::kMaxFailures: return "MaxFailures";
    case GateReason::kPaused: return "Paused";
    case GateReason::kLedger: return "Ledger";
    case GateReason::kSkipLabel: return "SkipLabel";
    case GateReason::kCordoned: return "Cordoned";
    case GateReason::kFrozen: return "Frozen";
    case GateReason::kOtherDriver: return "OtherDriver";
    case GateReason::kUnsettled: return "Unsettled";
    case GateReason::kUnknownState: return "UnknownState";
    case GateReason::kUnhandledState: return "UnhandledState";
    case GateReason::kRevisionUnknown: return "RevisionUnknown";
    case GateReason::kMaintenance: return "Maintenance";
    case GateReason::kPodsUnknown: return "PodsUnknown";
    case GateReason::kJobs: return "Jobs";
    case GateReason::kPodsTerminating: return "PodsTerminating";
    case GateReason::kDisruptionBudget: return "DisruptionBudget";
    case GateReason::kSeveralBudgets: return "SeveralBudgets";
    case GateReason::kEvictionRefused: return "EvictionRefused";
    case GateReason::kUndeletablePods: return "UndeletablePods";
    case GateReason::kHook: return "Hook";
    case GateReason::kDriverPodMissing: return "DriverPodMissing";
    case GateReason::kDriverPodTerminating: return "DriverPodTerminating";
    case GateReason::kDriverPodNotReady: return "DriverPodNotReady";
    case GateReason::kSafeLoad: return "SafeLoad";
    case GateReason::kValidation: return "Validation";
    case GateReason::kFailed: return "Failed";
  }
  return "";
}

}  // namespace driverupgrade::inline v1
