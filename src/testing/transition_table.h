// Every transition of the state machine, as data. docs/state-machine.md, its diagrams, and the checks of the scenario
// tests use this table. The transition functions of walk.h do not read this table; tests compare the functions with it.
#ifndef DRIVERUPGRADE_SRC_TESTING_TRANSITION_TABLE_H_
#define DRIVERUPGRADE_SRC_TESTING_TRANSITION_TABLE_H_

#include <array>
#include <string_view>

#include "driverupgrade/upgrade_state.h"

namespace driverupgrade {

struct Transition {
  UpgradeState from = UpgradeState::kUnknown;
  UpgradeState to = UpgradeState::kUnknown;
  // The rules of upstream-behaviour.md §5.2, and the deviations from them.
  std::string_view rules = {};
  // The condition of the transition, as one sentence without a full stop.
  std::string_view condition = {};
  // Other effects of the same patch, and actions that accompany it.
  std::string_view effect = {};
};

// Ordered by the state that the transition leaves. A pair of states appears once for each reason.
inline constexpr std::array kTransitions = {
    Transition{UpgradeState::kUnknown, UpgradeState::kUpgradeRequired, "T1, dep-F7",
               "the driver pod is out of date, or waits to be loaded, or an upgrade is requested",
               "records an administrator's cordon in the initial-state annotation"},
    Transition{UpgradeState::kUnknown, UpgradeState::kDone, "T2",
               "the node has a driver pod, and no reason for an upgrade exists", "none"},
    Transition{UpgradeState::kDone, UpgradeState::kUpgradeRequired, "T1, dep-F7",
               "the driver pod is out of date, or waits to be loaded, or an upgrade is requested",
               "records an administrator's cordon in the initial-state annotation"},
    Transition{UpgradeState::kUpgradeRequired, UpgradeState::kCordonRequired, "T9, dep-F14, dep-F17",
               "the budgets admit the node, it has no skip label, the policy is not paused, and no other driver is "
               "being upgraded under its own cordon",
               "records the owner of the cordon; replaces a request by the UID of the pod to restart"},
    Transition{UpgradeState::kUpgradeRequired, UpgradeState::kPodRestartRequired, "T8",
               "admitted, and the operator's predicate reports that the driver stays the same: neither requested, nor "
               "orphaned, nor waiting to be loaded",
               "cordons the node, and records the revision that needs only a restart"},
    Transition{UpgradeState::kUpgradeRequired, UpgradeState::kNodeMaintenanceRequired, "T10, dep-F13",
               "requestor mode: the node has no skip label, and the policy is not paused",
               "records requestor mode; then a NodeMaintenance is created or joined"},
    Transition{
        UpgradeState::kUpgradeRequired, UpgradeState::kDone, "W19",
        "the driver pod is up to date and ready again, and the upgrade has neither started nor failed; or a driver "
        "that could not be loaded is ready",
        "removes our annotations"},
    Transition{UpgradeState::kCordonRequired, UpgradeState::kWaitForJobsRequired, "T11, dep-F7", "always",
               "cordons the node unless it is already cordoned, and adds our name to the cordon set"},
    Transition{UpgradeState::kWaitForJobsRequired, UpgradeState::kPodDeletionRequired, "T12",
               "there are no jobs to wait for, and pod deletion is on", "none"},
    Transition{UpgradeState::kWaitForJobsRequired, UpgradeState::kDrainRequired, "T13",
               "there are no jobs to wait for, and pod deletion is off", "none"},
    Transition{UpgradeState::kWaitForJobsRequired, UpgradeState::kPodDeletionRequired, "T14",
               "no pod to wait for is Running or Pending", "removes the timer"},
    Transition{UpgradeState::kWaitForJobsRequired, UpgradeState::kPodDeletionRequired, "T18, dep-F4",
               "the timeout for jobs has expired", "removes the timer"},
    Transition{UpgradeState::kPodDeletionRequired, UpgradeState::kDrainRequired, "T21", "pod deletion is off", "none"},
    Transition{UpgradeState::kPodDeletionRequired, UpgradeState::kPodRestartRequired, "T24, T27, dep-F10",
               "no pod that could be evicted uses the driver", "removes the timer"},
    Transition{UpgradeState::kPodDeletionRequired, UpgradeState::kDrainRequired, "T25, T26",
               "a pod must not be evicted, or the timeout has expired, and the policy has a drain",
               "removes the timer; writes a Warning Event"},
    Transition{UpgradeState::kPodDeletionRequired, UpgradeState::kFailed, "T25, T26",
               "a pod must not be evicted, or the timeout has expired, and the policy has no drain",
               "records the failed revision; writes a Warning Event"},
    Transition{UpgradeState::kDrainRequired, UpgradeState::kPodRestartRequired, "T29", "the policy has no drain",
               "removes the timer"},
    Transition{UpgradeState::kDrainRequired, UpgradeState::kPodRestartRequired, "T33",
               "every pod that the drain selects has been deleted", "removes the timer"},
    Transition{UpgradeState::kDrainRequired, UpgradeState::kFailed, "T32",
               "a pod must not be evicted, or the timeout has expired",
               "records the failed revision; writes a Warning Event"},
    Transition{UpgradeState::kNodeMaintenanceRequired, UpgradeState::kUpgradeRequired, "T34, dep-F13",
               "requestor mode was turned off before a NodeMaintenance existed", "none"},
    Transition{UpgradeState::kNodeMaintenanceRequired, UpgradeState::kPodRestartRequired, "T35, dep-F13",
               "our NodeMaintenance, or the NodeMaintenance that we joined, is Ready, not being deleted, and not for "
               "an earlier node of this name",
               "none"},
    Transition{UpgradeState::kPodRestartRequired, UpgradeState::kValidationRequired, "T39b",
               "every driver pod is up to date and ready, and validation is on", "removes the safe-load annotation"},
    Transition{UpgradeState::kPodRestartRequired, UpgradeState::kUncordonRequired, "T39a, T48",
               "every driver pod is up to date and ready, and validation is off", "removes the safe-load annotation"},
    Transition{UpgradeState::kPodRestartRequired, UpgradeState::kDone, "T39a, T48",
               "the previous condition, on a node that an administrator had cordoned",
               "leaves the cordon; removes our annotations"},
    Transition{UpgradeState::kPodRestartRequired, UpgradeState::kFailed, "T39c, dep-F4, dep-F8",
               "the new driver pod keeps restarting, or its deadline or the evacuation's deadline has passed",
               "records the failed revision; writes a Warning Event"},
    Transition{UpgradeState::kValidationRequired, UpgradeState::kUncordonRequired, "T47, T48, dep-F5",
               "there are validation pods and all are ready, or validation is off",
               "removes the timer and the safe-load annotation"},
    Transition{UpgradeState::kValidationRequired, UpgradeState::kDone, "T47, T48",
               "the previous condition, on a node that an administrator had cordoned",
               "leaves the cordon; removes our annotations"},
    Transition{UpgradeState::kValidationRequired, UpgradeState::kPodRestartRequired, "W1",
               "the node is validated, or validation is off, but the driver pod is not up to date and ready",
               "removes the timer"},
    Transition{UpgradeState::kValidationRequired, UpgradeState::kFailed, "T46, dep-F4",
               "the deadline of validation, or of an evacuation before a safe load, has passed",
               "records the failed revision; writes a Warning Event"},
    Transition{UpgradeState::kUncordonRequired, UpgradeState::kDone, "T49, dep-F7, dep-F8",
               "no other driver needs the node to stay cordoned",
               "removes our name from the cordon, lifts the cordon if no name is left, and removes our annotations"},
    Transition{UpgradeState::kUncordonRequired, UpgradeState::kDone, "T50, dep-F13",
               "requestor mode: our NodeMaintenance was deleted, or we are no longer a requestor of another client's "
               "NodeMaintenance",
               "removes our annotations; lifts a cordon only if we had to renew it"},
    Transition{UpgradeState::kUncordonRequired, UpgradeState::kPodRestartRequired, "W1",
               "the driver pod is not up to date and ready, even if another client set the label",
               "cordons the node unless it is already cordoned"},
    Transition{UpgradeState::kUncordonRequired, UpgradeState::kUpgradeRequired, "W1, dep-F8",
               "the driver pod is out of date, and the node is not cordoned, or our name is on the cordon: the limits "
               "admit the node again",
               "leaves the cordon"},
    Transition{UpgradeState::kFailed, UpgradeState::kUpgradeRequired, "dep-F2", "the driver has a new target revision",
               "removes the record of past failures"},
    Transition{UpgradeState::kFailed, UpgradeState::kUpgradeRequired, "retry",
               "the driver has not recovered, and the policy's pause before the next attempt has ended", "none"},
    Transition{UpgradeState::kFailed, UpgradeState::kValidationRequired, "T40, dep-F3",
               "every driver pod is up to date and ready, and so are the validation pods if validation is on",
               "removes the safe-load annotation if the node is evacuated"},
    Transition{UpgradeState::kFailed, UpgradeState::kUncordonRequired, "T40",
               "every driver pod is up to date and ready, and validation is off",
               "removes the safe-load annotation if the node is evacuated"},
    Transition{UpgradeState::kFailed, UpgradeState::kDone, "T41",
               "the previous condition, on a node that an administrator had cordoned",
               "leaves the cordon; removes our annotations"},
};

// Returns true if a single transition leads from `from` to `to`.
bool IsLegalEdge(UpgradeState from, UpgradeState to);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_SRC_TESTING_TRANSITION_TABLE_H_
