/// Gates: the reasons why nodes do not move, and the times at which they can move again. Findings: problems that an
/// administrator should know about.
///
/// Defines Gate with its GateSubject and GateCount, GateReason, and kGates with the properties of each reason; Finding
/// and FindingCode.
///
///     // gpu-017: DisruptionBudget, default/trainer-0: refused by disruption budget trainer
///     fmt::print("{}: {}, {}\n", node, ToString(gate.reason), gate.detail);
///
/// Every node that waits has exactly one gate. Plain value types.
#ifndef DRIVERUPGRADE_GATE_H_
#define DRIVERUPGRADE_GATE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "driverupgrade/abseil_abi.h"

namespace driverupgrade {

enum class GateReason : std::uint8_t {
  // In upgrade-required.
  kMaxParallel,     ///< The maximum number of nodes is in progress.
  kMaxUnavailable,  ///< The maximum number of nodes is unavailable.
  kMaxFailures,     ///< The number of failed nodes has reached the policy's limit, so no more nodes may start.
  kPaused,          ///< The policy is paused.
  kLedger,          ///< A slot is free, but the AdmissionLedger does not contain a grant for the node yet.
  kHalted,          ///< The rollout is halted: an upgraded node is sick, or too many nodes have failed.
  kWindow,          ///< No window of the rollout is open, today is a closed day, or the node would not finish in time.
  kNoWindow,        ///< No window of the rollout opens within a year, or no window is long enough for a node.
  kStage,           ///< An earlier stage of the rollout is not done.
  kSoak,            ///< The previous stage is done and is soaking.
  kApproval,        ///< The previous stage waits for an administrator's approval.
  kGroup,           ///< The rules for the node's group do not allow it to start now.
  kGangRuns,        ///< A gang with pods on the node gets time to finish, or to save its work, before it is
                    ///< interrupted.
  kSkipLabel,       ///< The node's skip label is `true`.
  kCordoned,        ///< An administrator cordoned the node, and the policy ignores such nodes.
  kNodeNotReady,    ///< The node is not Ready or is degraded, and its upgrade has not started.
  kNodeTainted,     ///< A taint would keep the driver's DaemonSet from replacing the driver pod.
  kNodeLeaves,      ///< The node is about to leave the cluster.
  kMachineConfig,   ///< OpenShift's Machine Config Operator is about to reboot the node.
  // In any state.
  kFrozen,           ///< autoUpgrade is off.
  kOtherDriver,      ///< Another driver is being upgraded on the node, or another program has taken it out of service.
  kUnsettled,        ///< A write to the node has not been answered, or its outcome is not known yet.
  kUnknownState,     ///< The state label has an unknown value.
  kUnreadable,       ///< The node cannot be read, so its state is unknown.
  kUnhandledState,   ///< The node is in a state that the engine does not leave on its own.
  kRevisionUnknown,  ///< It is unknown whether the driver pod is up to date.
  // While the node is evacuated or released.
  kMaintenance,       ///< Requestor mode: the maintenance operator has not finished, or its objects could not be read.
  kPodsUnknown,       ///< The pods on the node, or on the nodes of its group, have not been read since the cordon.
  kJobs,              ///< Pods that the policy waits for are still running.
  kPodsTerminating,   ///< Evicted pods still exist.
  kDisruptionBudget,  ///< A disruption budget refuses an eviction.
  kSeveralBudgets,    ///< Several disruption budgets match one pod; Kubernetes then never evicts it.
  kEvictionRefused,   ///< An eviction failed for another reason and is retried.
  kUndeletablePods,   ///< Pods must leave the node, but the policy does not allow their eviction.
  kHook,              ///< A callback of the embedding operator has failed for a pod.
  kDevicesTainted,    ///< The node's devices are being tainted, the taint has not settled yet, or it is being removed.
  kDevicesUnfit,      ///< The policy isolates devices, but the devices of this node cannot be isolated.
  kDevicesInUse,      ///< A pod that is not bound yet has been allocated a device of the node, or a claim has not been
                      ///< read yet.
  // While the driver is replaced.
  kDriverPodMissing,      ///< The node has no driver pod.
  kDriverPodTerminating,  ///< The old driver pod still exists.
  kDriverPodNotReady,     ///< The new driver pod is not ready yet.
  kDevicesMissing,        ///< The driver is ready, but has not published all devices again.
  kSafeLoad,              ///< The driver is waiting to be loaded, but the node has not been evacuated.
  kValidation,            ///< Validation pods are missing or not ready.
  kFailed,                ///< The upgrade failed; the node waits for a repair, a new revision or a retry.
};
/// The party whose action opens a gate.
enum class GateOpener : std::uint8_t {
  kRollout,        ///< The rollout itself: a slot becomes free, or the API server responds.
  kAdministrator,  ///< An administrator: by changing the policy or a label, or by a repair.
  kOtherOperator,  ///< Another driver's operator, the maintenance operator, or a callback of the embedding operator.
  kWorkloads,      ///< The owners of the pods on the node and of their disruption budgets.
  kDriver,         ///< The driver's DaemonSet, its pods, and the validation pods.
  kClock,          ///< Time alone.
};

/// Properties of a gate that Events, alerts, pages and other parts of the library depend on. A new gate needs a row in
/// kGates.
struct GateTraits {
  GateReason reason = GateReason::kUnsettled;
  /// Name in metrics, logs and Events.
  std::string_view name = {};
  GateOpener opener = GateOpener::kRollout;
  /// True if a Warning Event on the node reports the gate. False for gates that open on their own with time, are
  /// deliberate, concern the whole fleet, or are reported by a finding.
  bool is_event = false;
  /// True if an administrator requested the wait.
  bool is_wish = false;
  /// True if the rollout does nothing more with this node until an administrator or another driver makes a change. The
  /// rest of the rollout does not wait for the node.
  bool ends_rollout = false;
  /// True if stages and groups do not count a node with this gate, so that the rollout continues without the node.
  bool left_out = false;
};

inline constexpr std::array kGates = {
    GateTraits{GateReason::kMaxParallel, "MaxParallel", GateOpener::kRollout, false, false, false},
    GateTraits{GateReason::kMaxUnavailable, "MaxUnavailable", GateOpener::kRollout, false, false, false},
    GateTraits{GateReason::kMaxFailures, "MaxFailures", GateOpener::kAdministrator, false, false, false},
    GateTraits{GateReason::kPaused, "Paused", GateOpener::kAdministrator, false, true, false},
    GateTraits{GateReason::kLedger, "Ledger", GateOpener::kRollout, false, false, false},
    GateTraits{GateReason::kHalted, "Halted", GateOpener::kAdministrator, false, false, false},
    GateTraits{GateReason::kWindow, "Window", GateOpener::kClock, false, true, false},
    GateTraits{GateReason::kNoWindow, "NoWindow", GateOpener::kAdministrator, false, false, false},
    GateTraits{GateReason::kStage, "Stage", GateOpener::kRollout, false, false, false},
    GateTraits{GateReason::kSoak, "Soak", GateOpener::kClock, false, true, false},
    GateTraits{GateReason::kApproval, "Approval", GateOpener::kAdministrator, false, true, false},
    GateTraits{GateReason::kGroup, "Group", GateOpener::kRollout, false, false, false},
    GateTraits{GateReason::kGangRuns, "GangRuns", GateOpener::kWorkloads, false, true, false},
    GateTraits{GateReason::kSkipLabel, "SkipLabel", GateOpener::kAdministrator, false, true, true, true},
    GateTraits{GateReason::kCordoned, "Cordoned", GateOpener::kAdministrator, false, true, true, true},
    GateTraits{GateReason::kNodeNotReady, "NodeNotReady", GateOpener::kAdministrator, false, false, true, true},
    GateTraits{GateReason::kNodeTainted, "NodeTainted", GateOpener::kAdministrator, false, false, true, true},
    GateTraits{GateReason::kNodeLeaves, "NodeLeaves", GateOpener::kOtherOperator, false, false, true, true},
    GateTraits{GateReason::kMachineConfig, "MachineConfig", GateOpener::kOtherOperator, false, false, false},
    GateTraits{GateReason::kFrozen, "Frozen", GateOpener::kAdministrator, false, true, false},
    GateTraits{GateReason::kOtherDriver, "OtherDriver", GateOpener::kOtherOperator, false, false, false},
    GateTraits{GateReason::kUnsettled, "Unsettled", GateOpener::kRollout, false, false, false},
    GateTraits{GateReason::kUnknownState, "UnknownState", GateOpener::kAdministrator, false, false, true},
    GateTraits{GateReason::kUnreadable, "Unreadable", GateOpener::kAdministrator, false, false, true},
    GateTraits{GateReason::kUnhandledState, "UnhandledState", GateOpener::kAdministrator, false, false, true},
    GateTraits{GateReason::kRevisionUnknown, "RevisionUnknown", GateOpener::kDriver, false, false, false},
    GateTraits{GateReason::kMaintenance, "Maintenance", GateOpener::kOtherOperator, false, false, false},
    GateTraits{GateReason::kPodsUnknown, "PodsUnknown", GateOpener::kRollout, false, false, false},
    GateTraits{GateReason::kJobs, "Jobs", GateOpener::kWorkloads, false, false, false},
    GateTraits{GateReason::kPodsTerminating, "PodsTerminating", GateOpener::kWorkloads, false, false, false},
    GateTraits{GateReason::kDisruptionBudget, "DisruptionBudget", GateOpener::kWorkloads, true, false, false},
    GateTraits{GateReason::kSeveralBudgets, "SeveralBudgets", GateOpener::kWorkloads, true, false, false},
    GateTraits{GateReason::kEvictionRefused, "EvictionRefused", GateOpener::kWorkloads, true, false, false},
    GateTraits{GateReason::kUndeletablePods, "UndeletablePods", GateOpener::kWorkloads, true, false, false},
    GateTraits{GateReason::kHook, "Hook", GateOpener::kOtherOperator, false, false, false},
    GateTraits{GateReason::kDevicesTainted, "DevicesTainted", GateOpener::kClock, false, false, false},
    GateTraits{GateReason::kDevicesUnfit, "DevicesUnfit", GateOpener::kAdministrator, true, false, false},
    GateTraits{GateReason::kDevicesInUse, "DevicesInUse", GateOpener::kWorkloads, false, false, false},
    GateTraits{GateReason::kDriverPodMissing, "DriverPodMissing", GateOpener::kDriver, false, false, false},
    GateTraits{GateReason::kDriverPodTerminating, "DriverPodTerminating", GateOpener::kDriver, false, false, false},
    GateTraits{GateReason::kDriverPodNotReady, "DriverPodNotReady", GateOpener::kDriver, false, false, false},
    GateTraits{GateReason::kDevicesMissing, "DevicesMissing", GateOpener::kDriver, false, false, false},
    GateTraits{GateReason::kSafeLoad, "SafeLoad", GateOpener::kWorkloads, true, false, false},
    GateTraits{GateReason::kValidation, "Validation", GateOpener::kDriver, false, false, false},
    GateTraits{GateReason::kFailed, "Failed", GateOpener::kAdministrator, true, false, true},
};

constexpr const GateTraits& TraitsOf(GateReason reason) { return kGates[static_cast<std::size_t>(reason)]; }

static_assert(kGates.size() == static_cast<std::size_t>(GateReason::kFailed) + 1 &&
                  std::all_of(kGates.begin(), kGates.end(),
                              [](const GateTraits& gate) { return TraitsOf(gate.reason).reason == gate.reason; }),
              "every gate has a row of kGates, in the order of the enumeration");

std::string_view ToString(GateReason reason);

enum class GateSubjectKind : std::uint8_t {
  kPod,              ///< The pod that must leave, or the driver pod.
  kNodeMaintenance,  ///< The NodeMaintenance that must become ready or be finished.
  kDriver,           ///< Another driver on the node; its name is `<domain>/<driver>`.
  kApproval,         ///< The approval that opens the gate; its name is `<stage>@<revision>`.
  kStage,            ///< A stage of the rollout.
  kGroup,            ///< Nodes that must start together, but would exceed a limit even if no other node were in
                     ///< progress.
};
/// Returns the name of the kind in Kubernetes. `Driver`, `Approval`, `Stage` and `Group` are not Kubernetes objects.
std::string_view ToString(GateSubjectKind kind);

/// The object, driver, approval, stage or group to which a gate refers.
struct GateSubject {
  // Defined in gate.cc so that it is not inlined wherever a gate is copied: most gates have no subject.
  GateSubject(GateSubjectKind kind, std::string ns, std::string name);
  GateSubject(const GateSubject& other);
  GateSubject(GateSubject&& other) noexcept;
  GateSubject& operator=(const GateSubject& other);
  GateSubject& operator=(GateSubject&& other) noexcept;
  ~GateSubject();

  GateSubjectKind kind;
  /// Empty if the subject has no namespace.
  std::string ns;
  /// Empty for kGroup.
  std::string name;
  friend bool operator==(const GateSubject& a, const GateSubject& b) {
    return a.kind == b.kind && a.ns == b.ns && a.name == b.name;
  }
};

/// A limit and how much of it is used; for a stage, the number of its nodes and how many of them are done.
struct GateCount {
  int used = 0;
  /// 0: nothing is allowed, or the stage has no nodes.
  int limit = 0;
  friend bool operator==(const GateCount&, const GateCount&) = default;
};

struct Gate {
  GateReason reason = GateReason::kUnsettled;
  /// Text for users, which names the budget, pod, driver or deadline. Programs should read the other members instead.
  std::string detail = {};
  /// Time of the next attempt, or deadline of the phase. Unless the cluster changes, nothing happens before this time.
  std::optional<absl::Time> not_before = std::nullopt;
  /// Time at which the node fails if the gate is still closed; nullopt: this wait has no deadline.
  std::optional<absl::Time> fails_at = std::nullopt;
  /// nullopt: the gate refers to the node itself, or not to any single object.
  std::optional<GateSubject> subject = std::nullopt;
  /// Set for limits and stages.
  std::optional<GateCount> count = std::nullopt;
  /// Position in the queue of nodes that wait for a limit, starting at 1; 0: the node does not wait for a limit.
  int place = 0;
  friend bool operator==(const Gate&, const Gate&) = default;
};

enum class FindingCode : std::uint8_t {
  kUnknownState,          ///< The state label has an unknown value; the node is left alone, but holds a slot.
  kUnhandledState,        ///< The node is in a state that this engine knows, but does not leave on its own.
  kNodeMissing,           ///< A driver pod names a node that does not exist.
  kDaemonSetMissing,      ///< A driver pod's owner is not a DaemonSet of the driver.
  kRevisionUnknown,       ///< The target revision of a DaemonSet is not known.
  kPodWithoutRevision,    ///< A driver pod has no controller-revision-hash label.
  kUpdateStrategy,        ///< A driver DaemonSet does not use OnDelete: Kubernetes restarts its pods on its own.
  kTimerRestarted,        ///< A timer or a failure count was implausible and was restarted.
  kPodLeftAlone,          ///< A pod stays although it uses the driver or tolerates the cordon.
  kForeignCordon,         ///< No recorded owner of the cordon is active, so the cordon counts as an administrator's.
  kClaimLeftBehind,       ///< An upgrade left a NodeMaintenance on a node that is done; the engine withdraws its claim.
  kHookFailed,            ///< A callback of the embedding operator failed.
  kLedger,                ///< The AdmissionLedger cannot be used, so no node starts, or it has invalid lines.
  kRollout,               ///< The rollout is halted or waits for an approval, or its record is invalid.
  kReadFailed,            ///< Data about one node could not be read.
  kUnreadable,            ///< An object cannot be read, because a member has the wrong type; affected nodes wait.
  kDriverPodCannotStart,  ///< The kubelet cannot start the new driver pod because of its image or its configuration.
  kNoDaemonSet,           ///< The driver's labels and namespace match no DaemonSet.
  kNothingIsEvicted,      ///< The policy evicts no pods: drivers are replaced while pods use them.
  kNoOwner,               ///< A node has a driver pod, but does not belong to any policy.
  kLabelTakenAway,        ///< Another client removes a node's state label; the upgrade follows the node's other marks.
  kDriverPodUnscheduled,  ///< Kubernetes cannot schedule a driver pod.
  kDriverPodNotReady,     ///< A node is done, but its driver pod is not Ready.
  kDevicesNotIsolated,    ///< The devices of a node could not be isolated, so the node was cordoned instead.
  kSelectsNothing,  ///< A label, condition type or selector in the rollout policy matches nothing; perhaps a typo.
};
std::string_view ToString(FindingCode code);

/// A problem in the cluster that an administrator should know about. A finding about one node stops at most that
/// node. Findings about a DaemonSet, the ledger or the rollout can stop several nodes.
///
///     for (const Finding& finding : plan.findings) log.Warn(ToString(finding.code), finding.message);
struct Finding {
  FindingCode code = FindingCode::kUnknownState;
  /// Empty if the finding does not concern a single node.
  std::string node = {};
  /// The problem and its consequences, as one sentence.
  std::string message = {};
  friend bool operator==(const Finding&, const Finding&) = default;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_GATE_H_
