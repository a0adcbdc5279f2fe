#include "driverupgrade/upgrade_state.h"

#include <optional>
#include <string_view>

namespace driverupgrade {

std::string_view ToLabelValue(UpgradeState state) { return TraitsOf(state).label; }

std::string_view ToString(UpgradeState state) {
  return state == UpgradeState::kUnknown ? "unknown" : ToLabelValue(state);
}

std::optional<UpgradeState> ParseUpgradeState(std::string_view label_value) {
  for (const UpgradeStateTraits& traits : kUpgradeStates) {
    if (traits.label == label_value) return traits.state;
  }
  return std::nullopt;
}

bool IsInProgress(UpgradeState state) { return TraitsOf(state).in_progress; }

}  // namespace driverupgrade
