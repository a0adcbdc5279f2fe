/// Something about the cluster that a person should know, but that stops nothing beyond the node it is about.
///
/// Defines Finding and FindingCode.
///
///     for (const Finding& finding : plan.findings) log.Warn(ToString(finding.code), finding.message);
///
/// Values.
#ifndef DRIVERUPGRADE_FINDING_H_
#define DRIVERUPGRADE_FINDING_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace driverupgrade {

enum class FindingCode : std::uint8_t {
  kUnknownState,        ///< The state label has a value that is no state; the node is left alone and holds a slot.
  kUnhandledState,      ///< A state that this engine understands but does not leave by itself.
  kNodeMissing,         ///< A driver pod names a node that does not exist.
  kDaemonSetMissing,    ///< A driver pod is owned by something that is not a DaemonSet of the driver.
  kRevisionUnknown,     ///< The wanted revision of a DaemonSet cannot be told.
  kPodWithoutRevision,  ///< A driver pod has no controller-revision-hash label.
  kUpdateStrategy,      ///< A driver DaemonSet is not OnDelete: Kubernetes restarts its pods by itself.
  kTimerRestarted,      ///< A timer or a count of failures could not be trusted and began afresh.
  kPodLeftAlone,        ///< A DaemonSet or static pod uses the driver; it cannot be evicted for good.
  kForeignCordon,       ///< The cordon set names a driver that is done; the cordon is taken for an administrator's.
  kClaimLeftBehind,     ///< A NodeMaintenance that an upgrade has left behind on a node that is done; it is given back.
  kHookFailed,          ///< A callback of the embedding operator failed.
  kLedger,              ///< The AdmissionLedger cannot be used, so that nobody is started, or has lines of no sense.
  kRollout,             ///< The rollout is halted or waits for an approval, or its record makes no sense.
  kReadFailed,          ///< A part of the cluster that concerns one node could not be read.
  kUnreadable,          ///< An object cannot be read, as a member has a wrong type; what it concerns waits.
  kDriverPodCannotStart,  ///< The kubelet cannot start the new driver pod: its image, its configuration.
  kNoDaemonSet,         ///< The driver's labels and namespace match no DaemonSet.
  kNothingIsEvicted,    ///< By the policy no pod is evicted: drivers are replaced under those that use them.
  kNoOwner,             ///< A node has a driver pod, and belongs to no policy.
  kLabelTakenAway,      ///< Another client removes the state label of a node; the upgrade follows the other marks.
  kDriverPodUnscheduled,  ///< Kubernetes cannot schedule a driver pod.
  kDriverPodNotReady,     ///< A node is done, but its driver pod is not Ready.
  kSelectsNothing,        ///< A label, a condition type or a selector of the rollout matches nothing: it may be misspelled.
};
std::string_view ToString(FindingCode code);

struct Finding {
  FindingCode code = FindingCode::kUnknownState;
  /// Empty if it concerns no single node.
  std::string node = {};
  /// What is wrong and what follows, as one sentence for a person.
  std::string message = {};
  friend bool operator==(const Finding&, const Finding&) = default;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_FINDING_H_
