/// The decisions: what happens next on every node of a cluster, from a snapshot alone.
///
/// Defines StateMachine, StateMachineOptions and ReleaseClaim.
///
///     StateMachine machine(*DriverIdentity::Create("nvidia.com", "gpu"), {});
///     Plan plan = machine.Step(snapshot, policy, now);
///
/// Step = Judge every node by itself, by the NodeRules of the policy, then admit those that wait, by its
/// AdmissionLimits. All of it is a const function of its arguments: no facade, clock, lock, log, random
/// number or environment. Immutable; thread-safe.
///
/// docs/state-machine.md lists the transitions. They are the transitions of the Go library, with the departures in
/// docs/compatibility.md.
#ifndef DRIVERUPGRADE_STATE_MACHINE_H_
#define DRIVERUPGRADE_STATE_MACHINE_H_

#include <optional>
#include <string>

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

/// What the embedding operator decides once, as opposed to the administrator's UpgradePolicy.
struct StateMachineOptions {
  /// Pods that prove a new driver, in any namespace, on the same node; nullopt: no validation.
  std::optional<LabelSelector> validation_selector = std::nullopt;
  /// Treatment of these pods if they became ready before the new driver pod did. With kRestart the operator needs the
  /// permission to delete pods in their namespaces.
  EarlyValidation early_validation = EarlyValidation::kAsk;
  /// A container restarted more often than this and not ready means a failed driver pod.
  int driver_restart_count_max = 10;
  /// Requestor mode, or what is needed to end upgrades that began in it; nullopt: nodes in that mode are left alone.
  std::optional<RequestorOptions> requestor = std::nullopt;
  /// The operator's own pod: never evicted. `uid` may be empty.
  std::optional<PodRef> own_pod = std::nullopt;
  /// The node it runs on: upgraded last.
  std::string own_node = {};
};

/// Returns the next step of taking back a claim on a NodeMaintenance: deletes the requestor's own object, or leaves another
/// requestor's. nullopt: there is nothing to do, or the object is being deleted already. `requestor` is valid. The engine does
/// this for its own claims; use it for requestors that no longer exist.
std::optional<MaintenanceCall> ReleaseClaim(const NodeMaintenance& object, const RequestorOptions& requestor,
                                            absl::Time now);

class StateMachine {
 public:
  /// `pod_deletion`: pods that use the driver are evicted before a drain, because the views name them
  /// (SnapshotOptions::uses_driver).
  StateMachine(DriverIdentity identity, StateMachineOptions options, bool pod_deletion = false);

  /// One pass over all nodes. With `policy.auto_upgrade` off: gates and totals, nothing to do.
  [[nodiscard]] Plan Step(const ClusterSnapshot& snapshot, const UpgradePolicy& policy, absl::Time now) const;

  /// Judges one node, for the library's planners. `admitted`: it has a slot, so it may leave upgrade-required. `unit`: the gang
  /// because of which it starts together with others; empty: it starts by itself.
  [[nodiscard]] internal::Verdict Judge(const NodeView& view, const DriverFacts& driver, const NodeRules& rules,
                                        absl::Time now, absl::Time active_since, bool admitted,
                                        const std::string& unit = "") const;

  /// What gives a node back in whatever state it is: one patch that lifts a cordon which only our upgrade
  /// relies on, and removes our label and annotations. What others wrote stays: the skip label, the safe-load
  /// annotation, an administrator's cordon. A node in requestor mode is given back in two rounds: the claim on its
  /// NodeMaintenance, then the patch. Nothing to do if there is nothing of ours.
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
