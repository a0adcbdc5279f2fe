/// The states of a node's upgrade, and how they are spelled in the state label.
///
/// Defines UpgradeState, its label spellings and the predicates that the budgets use.
///
///     ParseUpgradeState("drain-required");             // UpgradeState::kDrainRequired
///     ToLabelValue(UpgradeState::kPodRestartRequired);  // "pod-restart-required"
///
/// The spellings are those of the Go library (upstream-behaviour.md §0). Free functions on values; thread-safe.
#ifndef DRIVERUPGRADE_UPGRADE_STATE_H_
#define DRIVERUPGRADE_UPGRADE_STATE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace driverupgrade::inline v1 {

/// In the order in which an upgrade passes them; kDone and kFailed end it.
enum class UpgradeState : std::uint8_t {
  kUnknown,                  ///< No label, or an empty one: not looked at yet.
  kUpgradeRequired,          ///< Waits for a slot.
  kCordonRequired,           ///< Will be made unschedulable.
  kWaitForJobsRequired,      ///< Pods that match waitForCompletion are given time to end.
  kPodDeletionRequired,      ///< Pods that use the driver are evicted.
  kDrainRequired,            ///< The node is drained.
  kNodeMaintenanceRequired,  ///< Requestor mode: an external operator evacuates the node.
  kPostMaintenanceRequired,  ///< Reserved upstream; never entered, understood when read.
  kPodRestartRequired,       ///< The driver pod is replaced, and the new one is to become ready.
  kValidationRequired,       ///< Validation pods are to become ready.
  kUncordonRequired,         ///< Finished but for the cordon.
  kDone,
  kFailed,
};

inline constexpr std::array kAllUpgradeStates = {
    UpgradeState::kUnknown,
    UpgradeState::kUpgradeRequired,
    UpgradeState::kCordonRequired,
    UpgradeState::kWaitForJobsRequired,
    UpgradeState::kPodDeletionRequired,
    UpgradeState::kDrainRequired,
    UpgradeState::kNodeMaintenanceRequired,
    UpgradeState::kPostMaintenanceRequired,
    UpgradeState::kPodRestartRequired,
    UpgradeState::kValidationRequired,
    UpgradeState::kUncordonRequired,
    UpgradeState::kDone,
    UpgradeState::kFailed,
};

/// The label value; empty for kUnknown.
std::string_view ToLabelValue(UpgradeState state);
/// For people: as ToLabelValue, but `unknown` for kUnknown.
std::string_view ToString(UpgradeState state);
/// nullopt for a value that is no state: such a node is managed, holds a slot and is left alone with a finding.
std::optional<UpgradeState> ParseUpgradeState(std::string_view label_value);
/// Whether an upgrade has begun on the node and not ended well: every state but kUnknown, kUpgradeRequired and kDone.
/// A failed node is in progress (dep-F2).
bool IsInProgress(UpgradeState state);

}  // namespace driverupgrade::inline v1

#endif  // DRIVERUPGRADE_UPGRADE_STATE_H_
