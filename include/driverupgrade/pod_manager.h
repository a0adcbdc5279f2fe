/// What is to be known of a node's pods: the driver's own, those that use it, and those that are waited for.
///
/// Defines PodManager, DriverPods, FindRevision and WantedRevision.
///
///     DriverPods driver = PodManager().Assess(view, facts, /*restart_pod=*/"", /*restart_count_max=*/10);
///     if (driver.out_of_date) { /* the node needs an upgrade */ }
///
/// Pure deciders that Step consults. Thread-safe.
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

/// The driver pods of one node, taken together: two pods are one node, which is out of date until the old one
/// is gone.
struct DriverPods {
  bool none = true;
  /// It cannot be told for some pod whether it is up to date; `why_unknown` says why.
  bool unknown = false;
  std::string why_unknown = {};
  /// Some pod of a DaemonSet has another revision than wanted.
  bool out_of_date = false;
  /// Pods to delete so that a new one comes: out of date, orphaned (no owner at all), or asked for by UID.
  /// Those that are terminating are not among them.
  std::vector<const Pod*> to_restart = {};
  /// Some pod has no owner at all.
  bool orphaned = false;
  /// An old or current driver pod is on its way out.
  const Pod* terminating = nullptr;
  /// There is a pod, every pod is up to date, none is terminating, and all are ready.
  bool ready = false;
  /// A pod that is up to date is not ready and keeps restarting.
  const Pod* failing = nullptr;
  /// A pod that is up to date and not ready.
  const Pod* not_ready = nullptr;
  /// The revision the node is upgraded to; empty if unknown.
  std::string wanted_revision = {};
  std::vector<Finding> findings = {};
  bool InSync() const { return !none && !unknown && to_restart.empty() && terminating == nullptr; }
};

class PodManager {
 public:
  /// `restart_pod`: UID of a pod to restart although it is up to date; may be empty.
  DriverPods Assess(const NodeView& view, const DriverFacts& driver, std::string_view restart_pod,
                    int restart_count_max) const;

  /// Pods that the policy waits for: they match the selector and are Running or Pending. Pods of DaemonSets and static pods
  /// are not waited for, because they never end.
  std::vector<const Pod*> AwaitedPods(const std::vector<Pod>& pods, const WaitForCompletionPolicy& policy) const;

  /// Pods that use the driver, by the operator's filter or the policy's selector, through the drain's filters.
  /// DaemonSet and static pods are left alone with a finding.
  PodSelection SelectForDeletion(const NodeView& view, const PodDeletionPolicy& policy,
                                 const DrainManager& drains) const;
};

/// The revision of `daemon_set` whose pods carry `hash`, or nullptr.
const ControllerRevision* FindRevision(const DaemonSet& daemon_set, const std::vector<ControllerRevision>& revisions,
                                       std::string_view hash);

/// Returns the revision that pods of `daemon_set` must have: the one with its template. If no revision is known to have it, the
/// one with the highest number. Sets `wanted_revision`, or `why_unknown`: for example if two revisions have that number.
DriverDaemonSet WantedRevision(const DaemonSet& daemon_set, const std::vector<ControllerRevision>& revisions);

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_POD_MANAGER_H_
