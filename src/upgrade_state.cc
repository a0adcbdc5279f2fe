#include "driverupgrade/upgrade_state.h"

#include <optional>
#include <string_view>

namespace driverupgrade::inline v1 {

std::string_view ToLabelValue(UpgradeState state) {
  switch (state) {
    case UpgradeState::kUnknown: return "";
    case UpgradeState::kUpgradeRequired: return "upgrade-required";
    case UpgradeState::kCordonRequired: return "cordon-required";
    case UpgradeState::kWaitForJobsRequired: return "wait-for-jobs-required";
    case UpgradeState::kPodDeletionRequired: return "pod-deletion-required";
    case UpgradeState::kDrainRequired: return "drain-required";
    case UpgradeState::kNodeMaintenanceRequired: return "node-maintenance-required";
    case UpgradeState::kPostMaintenanceRequired: return "post-maintenance-required";
    case UpgradeState::kPodRestartRequired: return "pod-restart-required";
    case UpgradeState::kValidationRequired: return "validation-required";
    case UpgradeState::kUncordonRequired: return "uncordon-required";
    case UpgradeState::kDone: return "upgrade-done";
    case UpgradeState::kFailed: return "upgrade-failed";
  }
  return "";
}

std::string_view ToString(UpgradeState state) {
  return state == UpgradeState::kUnknown ? "unknown" : ToLabelValue(state);
}

std::optional<UpgradeState> ParseUpgradeState(std::string_view label_value) {
  for (const UpgradeState state : kAllUpgradeStates) {
    if (ToLabelValue(state) == label_value) return state;
  }
  return std::nullopt;
}

bool IsInProgress(UpgradeState state) {
  return state != UpgradeState::kUnknown && state != UpgradeState::kUpgradeRequired && state != UpgradeState::kDone;
}

}  // namespace driverupgrade::inline v1
