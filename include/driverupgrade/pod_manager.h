/// Evaluates a node's pods: driver pods, pods that use the driver, and pods that the policy waits for.
///
/// Defines PodManager, DriverPods, FindRevision and WantedRevision.
///
///     DriverPods driver = PodManager().Assess(view, facts, /*restart_pod=*/"", /*restart_count_max=*/10);
///     if (driver.out_of_date) { /* the node needs an upgrade */ }
///
/// Makes decisions for Step, without side effects. Thread-safe.
#ifndef DRIVERUPGRADE_POD_MANAGER_H_
#define DRIVERUPGRADE_POD_MANAGER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/drain_manager.h"
#include "driverupgrade/gate.h"

namespace driverupgrade {

/// The combined state of all driver pods of one node. A node with an old and a new driver pod is out of date until the
/// old pod no longer exists.
struct DriverPods {
  bool none = true;
  /// True if it is unknown whether a pod is up to date; `why_unknown` contains the reason.
  bool unknown = false;
  std::string why_unknown = {};
  /// True if at least one pod of a DaemonSet does not have the target revision.
  bool out_of_date = false;
  /// Pods to delete so that they are replaced: pods that are out of date, orphaned (without an owner), or named by UID.
  /// Terminating pods are not included.
  std::vector<const Pod*> to_restart = {};
  /// True if at least one pod has no owner.
  bool orphaned = false;
  /// A driver pod, old or current, that is terminating.
  const Pod* terminating = nullptr;
  /// True if there is a driver pod, and every driver pod is up to date, ready and not terminating.
  bool ready = false;
  /// A pod that is up to date, but keeps restarting without becoming ready.
  const Pod* failing = nullptr;
  /// A pod that is up to date, but not ready.
  const Pod* not_ready = nullptr;
  /// The target revision of the node; empty if unknown.
  std::string wanted_revision = {};
  std::vector<Finding> findings = {};
  bool InSync() const { return !none && !unknown && to_restart.empty() && terminating == nullptr; }
};

class PodManager {
 public:
  /// `restart_pod`: UID of a pod to restart even though it is up to date; may be empty. `kept_revisions`: revisions of
  /// pods that are not replaced even if they are out of date, separated by commas; may be empty.
  DriverPods Assess(const NodeView& view, const DriverFacts& driver, std::string_view restart_pod,
                    int restart_count_max, std::string_view kept_revisions = {}) const;

  /// Returns the pods that the policy waits for: they match the selector and are Running or Pending. Pods of DaemonSets
  /// and static pods are excluded, because they never finish.
  std::vector<const Pod*> AwaitedPods(const std::vector<Pod>& pods, const WaitForCompletionPolicy& policy) const;

  /// Returns true if the pod uses the driver according to the operator's filter or the policy's selector.
  bool UsesDriver(const Pod& pod, const NodeView& view, const PodDeletionPolicy& policy) const;

  /// Selects the pods that use the driver, and applies the drain's filters. DaemonSet pods and static pods stay, and
  /// are reported in a finding.
  PodSelection SelectForDeletion(const NodeView& view, const PodDeletionPolicy& policy,
                                 const DrainManager& drains) const;
};

/// Returns the revision of `daemon_set` whose pods have `hash`, or nullptr.
const ControllerRevision* FindRevision(const DaemonSet& daemon_set, const std::vector<ControllerRevision>& revisions,
                                       std::string_view hash);

/// Returns the target revision of the pods of `daemon_set`: the revision with the DaemonSet's template or, if no
/// revision has this template, the revision with the highest number. Sets `revisions`, and either `wanted_revision` or
/// `why_unknown` (for example, if two revisions share the highest number).
DriverDaemonSet WantedRevision(const DaemonSet& daemon_set, const std::vector<ControllerRevision>& revisions);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_POD_MANAGER_H_
