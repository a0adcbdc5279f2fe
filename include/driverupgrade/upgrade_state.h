/// The states of a node's upgrade, and their spelling in the state label.
///
/// Defines UpgradeState, its label spellings, and kUpgradeStates with the properties of each state.
///
///     ParseUpgradeState("drain-required");             // UpgradeState::kDrainRequired
///     ToLabelValue(UpgradeState::kPodRestartRequired);  // "pod-restart-required"
///
/// The spellings match the Go library. Free functions on values; thread-safe.
#ifndef DRIVERUPGRADE_UPGRADE_STATE_H_
#define DRIVERUPGRADE_UPGRADE_STATE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace driverupgrade {

/// The states in the order in which an upgrade passes through them; kDone and kFailed end the upgrade.
enum class UpgradeState : std::uint8_t {
  kUnknown,                  ///< No label, or an empty label: not processed yet.
  kUpgradeRequired,          ///< The node waits for a slot.
  kCordonRequired,           ///< The node will be cordoned.
  kWaitForJobsRequired,      ///< Pods that match waitForCompletion are given time to finish.
  kPodDeletionRequired,      ///< Pods that use the driver are evicted.
  kDrainRequired,            ///< The node is drained.
  kNodeMaintenanceRequired,  ///< Requestor mode: an external operator evacuates the node.
  kPostMaintenanceRequired,  ///< Reserved by the Go library; accepted when read, but never entered.
  kPodRestartRequired,       ///< The driver pod is replaced, and the new one must become ready.
  kValidationRequired,       ///< Validation pods must become ready.
  kUncordonRequired,         ///< The upgrade is finished, except that the cordon must be lifted.
  kDone,
  kFailed,
};

/// The policy's time limit for a state.
enum class StageLimit : std::uint8_t {
  kNone,         ///< This state has no time limit.
  kJobs,         ///< `waitForCompletion.timeoutSeconds`
  kPodDeletion,  ///< `podDeletion.timeoutSeconds`
  kDrain,        ///< `drain.timeoutSeconds`
  /// `deadlines.podRestartSeconds`, or the timeout of the evacuation (pod deletion, or the drain if there is no pod
  /// deletion), whichever is shorter.
  kPodRestart,
  kValidation,  ///< `deadlines.validationSeconds`
};

/// Properties of a state that budgets, timers, pages and other parts of the library depend on. A new state needs a row
/// in kUpgradeStates.
struct UpgradeStateTraits {
  UpgradeState state = UpgradeState::kUnknown;
  /// The value of the state label.
  std::string_view label = {};
  /// True if an upgrade has started and not completed successfully. Such a node normally holds a slot, but a failed
  /// node does not if the policy has a failurePolicy.
  bool in_progress = false;
  /// True if a node in this state must be cordoned, or must have its devices isolated. The node counts as unavailable
  /// even if it is still schedulable.
  bool holds_cordon = false;
  StageLimit limit = StageLimit::kNone;
};

inline constexpr std::array kUpgradeStates = {
    UpgradeStateTraits{UpgradeState::kUnknown, "", false, false, StageLimit::kNone},
    UpgradeStateTraits{UpgradeState::kUpgradeRequired, "upgrade-required", false, false, StageLimit::kNone},
    UpgradeStateTraits{UpgradeState::kCordonRequired, "cordon-required", true, true, StageLimit::kNone},
    UpgradeStateTraits{UpgradeState::kWaitForJobsRequired, "wait-for-jobs-required", true, true, StageLimit::kJobs},
    UpgradeStateTraits{UpgradeState::kPodDeletionRequired, "pod-deletion-required", true, true,
                       StageLimit::kPodDeletion},
    UpgradeStateTraits{UpgradeState::kDrainRequired, "drain-required", true, true, StageLimit::kDrain},
    UpgradeStateTraits{UpgradeState::kNodeMaintenanceRequired, "node-maintenance-required", true, false,
                       StageLimit::kNone},
    UpgradeStateTraits{UpgradeState::kPostMaintenanceRequired, "post-maintenance-required", true, false,
                       StageLimit::kNone},
    UpgradeStateTraits{UpgradeState::kPodRestartRequired, "pod-restart-required", true, true, StageLimit::kPodRestart},
    UpgradeStateTraits{UpgradeState::kValidationRequired, "validation-required", true, true, StageLimit::kValidation},
    UpgradeStateTraits{UpgradeState::kUncordonRequired, "uncordon-required", true, false, StageLimit::kNone},
    UpgradeStateTraits{UpgradeState::kDone, "upgrade-done", false, false, StageLimit::kNone},
    UpgradeStateTraits{UpgradeState::kFailed, "upgrade-failed", true, false, StageLimit::kNone},
};

constexpr const UpgradeStateTraits& TraitsOf(UpgradeState state) {
  return kUpgradeStates[static_cast<std::size_t>(state)];
}

inline constexpr std::array kAllUpgradeStates = [] {
  std::array<UpgradeState, kUpgradeStates.size()> states = {};
  for (std::size_t i = 0; i < states.size(); ++i) states[i] = kUpgradeStates[i].state;
  return states;
}();

static_assert(kUpgradeStates.size() == static_cast<std::size_t>(UpgradeState::kFailed) + 1 &&
                  std::all_of(kAllUpgradeStates.begin(), kAllUpgradeStates.end(),
                              [](UpgradeState state) { return TraitsOf(state).state == state; }),
              "every state has a row of kUpgradeStates, in the order of the enumeration");

/// Returns the label value; empty for kUnknown.
std::string_view ToLabelValue(UpgradeState state);
/// Returns the label value, or `unknown` for kUnknown, for messages.
std::string_view ToString(UpgradeState state);
/// Returns nullopt for an unknown value: such a node counts as managed and holds a slot, but is left unchanged, and a
/// finding reports it.
std::optional<UpgradeState> ParseUpgradeState(std::string_view label_value);
/// Returns true if an upgrade has started on the node and not completed successfully: every state except kUnknown,
/// kUpgradeRequired and kDone. A failed node is in progress.
bool IsInProgress(UpgradeState state);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_UPGRADE_STATE_H_
