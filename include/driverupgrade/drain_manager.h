/// Decides which pods of a node must be evicted, and which of them to evict now.
///
/// Defines DrainManager, DrainablePods, PodSelection, EvictionRound, CordonPatch and UncordonPatch.
///
///     DrainManager drains(own_pod);
///     PodSelection selection = drains.Select(*view.pods, *policy.drain);
///     EvictionRound round = drains.Pace(selection.evict, view, now);
///
/// DrainManager makes decisions for Step, without side effects. Its filters match `kubectl drain --ignore-daemonsets`.
/// Thread-safe.
#ifndef DRIVERUPGRADE_DRAIN_MANAGER_H_
#define DRIVERUPGRADE_DRAIN_MANAGER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/upgrade_policy.h"

namespace driverupgrade {

/// The result of a selection. All pointers refer to pods that the caller passed in.
struct PodSelection {
  struct Blocked {
    const Pod* pod = nullptr;
    /// Completes the sentence "the pod ...": `has emptyDir volumes`.
    std::string why = {};
  };
  /// Pods to evict. Includes terminating pods, regardless of the policy, because the drain waits for them.
  std::vector<const Pod*> evict = {};
  /// Pods that the policy does not allow the engine to evict. A drain with such a pod fails before it starts.
  std::vector<Blocked> blocked = {};
  /// Pods that stay: pods of DaemonSets, static pods, and the operator's own pod.
  std::vector<const Pod*> left_alone = {};
  /// Pods that stay because they tolerate the cordon and were created after the drain began. Most of them replace
  /// evicted pods, and their own replacements could be bound to this node again, so the drain would never end.
  std::vector<const Pod*> returned = {};
};

/// The result of one check of the pods that must leave the node.
struct EvictionRound {
  /// True if nothing is left to wait for.
  bool finished = false;
  /// Pods for which a request is due, sorted by namespace and name.
  std::vector<PodRef> evict = {};
  /// The reason for the wait, unless `finished`.
  Gate gate = {};
};

/// Selects pods without the driver's skip-drain label. Operators add this selector to the policy's drain selector:
/// `policy.drain->pod_selector = policy.drain->pod_selector.And(DrainablePods(identity))`.
LabelSelector DrainablePods(const DriverIdentity& identity);

/// Returns the patch with which `program` cordons the node for its own work, alongside driver engines. The program and
/// these engines share one cordon, and none of them lifts the cordon while another still needs it. The patch adds the
/// name of the program to kCordonedByAnnotation, and sets the program's state label to show that it is running. The
/// patch is empty if the program has already cordoned the node, or if an administrator has, because that cordon is
/// sufficient.
PatchNodeParams CordonPatch(const Node& node, const DriverIdentity& program);

/// Returns the patch with which `program` removes its name from kCordonedByAnnotation. The patch also lifts the cordon,
/// unless a driver upgrade still needs it. The patch is empty if the program has not cordoned the node.
PatchNodeParams UncordonPatch(const Node& node, const DriverIdentity& program);

class DrainManager {
 public:
  explicit DrainManager(std::optional<PodRef> own_pod = std::nullopt) : own_pod_(std::move(own_pod)) {}

  /// `began`: time at which the drain of the node began; InfiniteFuture: unknown, so no pod counts as returned.
  PodSelection Select(const std::vector<Pod>& pods, const DrainPolicy& policy,
                      absl::Time began = absl::InfiniteFuture()) const;

  /// Applies only the filters, to pods that the caller has already selected.
  PodSelection Classify(const std::vector<const Pod*>& pods, bool force, bool delete_empty_dir) const;

  /// Decides which of `pods` (all of them pods of `view`) to evict now, given the earlier attempts. A terminating
  /// pod counts as deleted
  ///   - if it is finished, because a finalizer may keep it for as long as its job runs;
  ///   - if its node is not ready, at the end of its grace period;
  ///   - if its containers have terminated and it has ResourceClaims, one minute after its grace period, because the
  ///     claims may be released only once the driver runs.
  EvictionRound Pace(const std::vector<const Pod*>& pods, const NodeView& view, absl::Time now) const;

  /// Returns true if the pod counts as deleted: Pace does not wait for it.
  static bool IsGone(const Pod& pod, const Node& node, absl::Time now);

  /// Returns the pods in `pods` that Pace waits for, each with the reason why it remains, for an error message:
  /// `team-a/web (refused by disruption budget web)`. Empty if Pace waits for none of them.
  std::string Remaining(const std::vector<const Pod*>& pods, const NodeView& view, absl::Time now) const;

  /// Returns which of `pods` to delete now that their eviction has timed out: pods that are not terminating or, with
  /// OnTimeout::kForceDelete, all pods that Pace waits for. A refused eviction does not delay the deletion; a failed
  /// deletion is retried at the same pace as an eviction.
  std::vector<PodRef> Overdue(const std::vector<const Pod*>& pods, const NodeView& view, OnTimeout on_timeout,
                              absl::Time now) const;

  /// Returns the time at which the first of `pods` counts as stuck: one minute after its grace period, on a node that
  /// is ready. With OnTimeout::kForceDelete, that minute does not start before `deadline`, when the forced deletions
  /// start. InfiniteFuture if no pod is terminating, or if the node is not ready.
  absl::Time StuckAt(const std::vector<const Pod*>& pods, const NodeView& view, OnTimeout on_timeout,
                     absl::Time deadline) const;

 private:
  bool IsOwn(const Pod& pod) const;
  void Sort(const Pod& pod, bool force, bool delete_empty_dir, absl::Time began, PodSelection& selection) const;
  std::optional<PodRef> own_pod_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_DRAIN_MANAGER_H_
