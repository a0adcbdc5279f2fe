// Lists additional states that other vendors' operators use with the same label scheme.
#ifndef DRIVERUPGRADE_SRC_MODEL_FOREIGN_STATE_H_
#define DRIVERUPGRADE_SRC_MODEL_FOREIGN_STATE_H_

#include <algorithm>
#include <array>
#include <string_view>

namespace driverupgrade::internal {

struct ForeignState {
  std::string_view label = {};
  std::string_view owner = {};
};
// Source: docs.rbln.ai, "NPU Driver Upgrade Workflow".
inline constexpr std::array kForeignStates = {
    ForeignState{"reboot-required", "a state of Rebellions' NPU operator"},
    ForeignState{"upgrade-skipped", "a state of Rebellions' NPU operator"},
};

// Completes the sentence "the label has the value ..., which is ...".
inline std::string_view WhoseState(std::string_view label) {
  const auto found = std::find_if(kForeignStates.begin(), kForeignStates.end(),
                                  [&](const ForeignState& state) { return state.label == label; });
  return found == kForeignStates.end() ? "not a state" : found->owner;
}

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_MODEL_FOREIGN_STATE_H_
