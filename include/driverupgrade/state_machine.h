/// Decides the next action for every node of a cluster, based only on a snapshot.
///
/// Defines StateMachine, StateMachineOptions and ReleaseClaim.
///
///     StateMachine machine(*DriverIdentity::Create("nvidia.com", "gpu"), {});
///     Plan plan = machine.Step(snapshot, policy, now);
///
/// Step first evaluates every node on its own, based on the policy's NodeRules, and then admits waiting nodes within
/// the policy's AdmissionLimits. Every result depends only on the arguments: StateMachine uses no facade, clock, lock,
/// log, random number or environment variable. Immutable; thread-safe.
///
/// docs/state-machine.md lists the transitions. They match the Go library's transitions, except for the deviations in
/// docs/compatibility.md.
#ifndef DRIVERUPGRADE_STATE_MACHINE_H_
#define DRIVERUPGRADE_STATE_MACHINE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/engine_options.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/upgrade_policy.h"
#include "driverupgrade/validation_manager.h"

namespace driverupgrade {

namespace internal {
struct Verdict;
}  // namespace internal

/// Options that the embedding operator sets once, unlike the UpgradePolicy, which belongs to the administrator.
struct StateMachineOptions {
  /// Selects the pods that validate a new driver, in any namespace, on the driver's node; nullopt: no validation.
  std::optional<LabelSelector> validation_selector = std::nullopt;
  /// Treatment of validation pods that became ready before the new driver pod. With kRestart, the operator needs the
  /// permission to delete pods in the namespaces of these pods.
  EarlyValidation early_validation = EarlyValidation::kAsk;
  /// Maximum number of restarts of a container that is not ready. With one more restart, the driver pod counts as
  /// failed.
  int driver_restart_count_max = 10;
  /// Options for requestor mode, or for finishing upgrades that started in requestor mode; nullopt: nodes in requestor
  /// mode are left alone.
  std::optional<RequestorOptions> requestor = std::nullopt;
  /// The operator's own pod, which is never evicted. `uid` may be empty.
  std::optional<PodRef> own_pod = std::nullopt;
  /// The node on which the operator runs. This node is upgraded last.
  std::string own_node = {};
  /// Keys of the labels that select the engine's nodes. Like the labels that decide a node's stage, they are recorded at
  /// the start of an upgrade, so that a node in progress whose label is removed stays with its engine
  /// (DriverIdentity::RolloutLabelsAnnotation). UpgradeEngine sets them.
  std::vector<std::string> selector_keys = {};
};

/// Returns the call that withdraws a claim on a NodeMaintenance. The call deletes the requestor's own object, or
/// removes the requestor from another requestor's object. nullopt: there is nothing to do, or the object is already
/// being deleted. `requestor` must be valid. The engine withdraws its own claims; use this function for requestors that
/// no longer exist.
std::optional<MaintenanceCall> ReleaseClaim(const NodeMaintenance& object, const RequestorOptions& requestor,
                                            absl::Time now);

class StateMachine {
 public:
  /// `pod_deletion`: true if the views name the pods that use the driver (SnapshotOptions::uses_driver). These pods are
  /// then evicted before a drain.
  StateMachine(DriverIdentity identity, StateMachineOptions options, bool pod_deletion = false);

  /// Makes one pass over all nodes. If `policy.auto_upgrade` is false, the plan contains gates and totals, but no
  /// actions.
  [[nodiscard]] Plan Step(const ClusterSnapshot& snapshot, const UpgradePolicy& policy, absl::Time now) const;

  /// Evaluates one node, for the library's planners. `admitted`: the node has a slot, so it may leave upgrade-required.
  /// `unit`: the gang for which the node starts together with other nodes; empty: it starts on its own. `reload_only`:
  /// the node starts only to load the driver that it has (DriverIdentity::ReloadOnlyAnnotation).
  [[nodiscard]] internal::Verdict Judge(const NodeView& view, const DriverFacts& driver, const NodeRules& rules,
                                        absl::Time now, absl::Time active_since, bool admitted,
                                        const std::string& unit = "", bool reload_only = false) const;

  /// Returns the plan that releases a node in any state: one patch that lifts a cordon on which only our upgrade
  /// relies, and that removes our label and annotations. Marks set by other clients stay: the skip label, the safe-load
  /// annotation, an administrator's cordon. A node in requestor mode is released in two rounds: the first withdraws the
  /// claim on its NodeMaintenance, and the second applies the patch. The plan is empty if the node has none of our
  /// marks.
  [[nodiscard]] NodePlan Release(const NodeView& view, absl::Time now) const;

  const DriverIdentity& identity() const { return identity_; }
  const StateMachineOptions& options() const { return options_; }
  bool pod_deletion() const { return pod_deletion_; }

 private:
  DriverIdentity identity_;
  StateMachineOptions options_;
  bool pod_deletion_ = false;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_STATE_MACHINE_H_
