/// Checks, after every commit of a FakeCluster, the invariants of an upgrade, which must hold despite any failure.
///
/// Defines InvariantChecker, InvariantOptions, InvariantsOf, Writer and Violation.
///
///     InvariantChecker checker(cluster, InvariantsOf(identity, engine_options, policy));
///     auto engine = UpgradeEngine::Create(identity, checker.Guard("engine"),
///                                         {..., .observer = checker.MakeObserver()});
///     ...                                          // faults, passes, time
///     REQUIRE(checker.Report() == "");
///
/// A Violation names its invariant, and docs/testing-your-operator.md explains each invariant. The checker checks these
/// invariants at every commit, at a cost that does not depend on the number of nodes:
/// - `I1`: budgets and grants;
/// - `I2`: driver restarts under workloads;
/// - `I3`: owners of cordons;
/// - `I4`: ways of removing pods;
/// - `I5`: preconditions;
/// - `I6`: changes to foreign objects;
/// - `I7`: legal transitions;
/// - `I8`: skip and pause;
/// - `I9`: takeovers of Leases;
/// - `I10`: timers that survive a replaced node;
/// - `I13`: cost;
/// - `I14`, `I20` to `I22`: rollouts;
/// - `I19`: the number of nodes controlled by engines, even if other clients change the labels.
///
/// On request, it also checks writes without a Lease (`I9`), log lines (`I11`), writes by an idle engine (`I12`), and
/// three liveness properties: the delay caused by one bad node (`L4`), gates (`L5`) and totals (`L6`).
///
/// Not thread-safe: use it for engines with `calls_in_flight = 1`, on the thread that runs them. The checker observes
/// the cluster's changes (FakeCluster::SetChangeObserver) during its lifetime, and must be destroyed before the
/// cluster. Example: tests/simulation/operator_example_test.cc.
#ifndef DRIVERUPGRADE_TESTING_INVARIANTS_H_
#define DRIVERUPGRADE_TESTING_INVARIANTS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/label_selector.h"
#include "driverupgrade/observer.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/snapshot_builder.h"
#include "driverupgrade/testing/fake_cluster.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/upgrade_policy.h"
#include "driverupgrade/upgrade_state.h"

namespace driverupgrade::testing {

struct InvariantOptions {
  DriverIdentity identity;
  /// Same as SnapshotOptions::ns, SnapshotOptions::driver_labels and SnapshotOptions::node_selector.
  std::string driver_ns = {};
  LabelSelector driver_labels = {};
  LabelSelector node_selector = {};
  /// The policy until the first call to SetPolicy.
  UpgradePolicy policy = {};
  /// Same as in SnapshotOptions; a pod for which the filter fails does not count as using the driver.
  PodFilter uses_driver = nullptr;
  /// Same as in StateMachineOptions.
  std::optional<PodRef> own_pod = std::nullopt;
  /// In requestor mode: RequestorOptions::id.
  std::string requestor_id = {};
  /// Same as in SnapshotOptions; an error counts as false. Null: the checker trusts the mark on the node.
  RestartOnlyPredicate restart_only = nullptr;
  /// Same as AdmissionLedgerOptions::grants_max; 0: there is no ledger. With a ledger, a node that consumes budget may
  /// start only after the checker has seen that its grant was stored: create the checker before the first grant.
  int grants_max = 0;
  /// True if budgets are checked. Budgets are guaranteed only with a ledger, or with a single leader that does not
  /// crash.
  bool check_budget = true;
  /// True if the time between two requests for one pod is checked. Must be false if clocks jump.
  bool check_pacing = true;
  /// Maximum difference between an engine's clock and the cluster's clock.
  absl::Duration clock_skew_max = absl::ZeroDuration();
  /// Maximum number of patches, deletions and evictions in one attempt to upgrade a node; three times as many while
  /// faults happen. Refused evictions and requests for NodeMaintenances do not count. Each pod that leaves the node,
  /// and each change to the node by another client, raises the limit by one. 0: not checked.
  int writes_per_upgrade_max = 12;
  /// True if an engine of another driver works on the same nodes. Writes of unguarded clients are then attributed to
  /// that engine, and one driver's cordon counts as a cordon of both drivers.
  bool shares_nodes = false;
  /// Same as StateMachineOptions::validation_selector: the pods to which the gate Validation refers.
  LabelSelector validation = {};
};

/// Returns the invariants of an engine with `options` while `policy` is in effect. The test must set the remaining
/// fields.
InvariantOptions InvariantsOf(const DriverIdentity& identity, const EngineOptions& options, UpgradePolicy policy);

struct Violation {
  /// Name of the invariant, such as `I3`.
  std::string invariant = {};
  /// A sentence that names the objects involved.
  std::string text = {};
  absl::Time time = absl::UnixEpoch();
  std::int64_t revision = 0;
};

/// A sender of writes, with the responses that it has received. The checker judges a writer's requests by the knowledge
/// that these responses give it.
struct Writer {
  std::string name = {};
  std::shared_ptr<const UpgradePolicy> policy = {};
  /// Version of the cluster at which the writer last listed nodes. For a writer that follows a watch (a follower): the
  /// version up to which the watch has reported changes. A follower's lists belong to the ledger, which uses them only
  /// to find out whether a node exists.
  std::int64_t nodes_read = 0;
  /// Node versions that the writer's patches have returned since `nodes_read`, by node name.
  std::map<std::string, std::int64_t> nodes_answered = {};
  /// Same as `nodes_read`, for the pods of a node, and for the pods of the whole cluster.
  std::map<std::string, std::int64_t> pods_read = {};
  std::int64_t pods_followed = 0;
  /// Same as `nodes_read`, for NodeMaintenances.
  std::int64_t maintenances_read = 0;
  /// True if the requests that arrive now were sent long ago.
  bool late = false;
  /// Maximum time by which the writer's clock has been ahead of the cluster's since the writer's pass started; nullopt:
  /// InvariantOptions::clock_skew_max.
  std::optional<absl::Duration> clock_ahead = std::nullopt;
  /// True if the writer releases every node (UpgradeEngine::Release), regardless of the policy.
  bool releases = false;
};

class InvariantChecker {
 public:
  /// `cluster` is not null.
  InvariantChecker(std::shared_ptr<FakeCluster> cluster, InvariantOptions options);
  ~InvariantChecker();
  InvariantChecker(const InvariantChecker&) = delete;
  InvariantChecker& operator=(const InvariantChecker&) = delete;

  class GuardedCluster;
  class Impl;
  /// Returns the facade that the engine must use. The checker must outlive the facade.
  std::shared_ptr<GuardedCluster> Guard(std::string name);
  /// Returns an observer for the engine's options. It reports to the checker the states through which each node passes.
  std::shared_ptr<Observer> MakeObserver();
  /// Sets the policy that applies to requests sent from now on.
  void SetPolicy(const UpgradePolicy& policy);

  /// Sets whether changes made as the administrator are attributed to another driver from now on.
  void set_rival_acts(bool acts);
  /// Notes a fault: attempts in progress may now need three times as many writes.
  void NoteFault();
  /// Notes that the clocks of engines that lead at the same time are now more than a minute apart. An engine does not
  /// trust a timer that is more than a minute ahead of its clock, so the engine whose clock is behind restarts the
  /// other engine's timers. An attempt in progress may then need twice as many writes.
  void NoteClocksApart();
  /// Sets whether faults happen all the time, or several replicas lead. If true, every attempt is treated as it is
  /// after a call to NoteFault.
  void set_disturbed(bool disturbed);
  /// Checks that `replica` sent a write within `renew_deadline` of the last acknowledged renewal of its Lease.
  /// `since_renewal`: time between this renewal and the write, by the replica's own clock.
  void CheckLease(const std::string& replica, absl::Duration since_renewal, absl::Duration renew_deadline);
  /// Checks that `line` is a single line without control characters, whatever strings the nodes contain.
  void CheckLogLine(std::string_view line);
  /// Checks that no writes were made in an idle period, given the number of writes at its start and at its end.
  void CheckRest(std::int64_t writes_before, std::int64_t writes_after);
  /// Checks the delay that one bad node causes in the upgrade of all other nodes. `alone`: duration of their upgrade
  /// without the bad node, but with one slot fewer. `beside_bad_node`: duration with the bad node.
  void CheckDelay(absl::Duration alone, absl::Duration beside_bad_node);
  static absl::Duration MayTakeBesideBadNode(absl::Duration alone);
  /// Checks gates and totals of a replica that has read the current state completely, in a pass in which no call
  /// failed. `everything`: see UpgradeEngine::Everything.
  void CheckGates(const GuardedCluster& replica, const Plan& everything);
  void CheckTotals(const Tally& totals);
  /// `revision` is the version of the last change to any object except Leases and ConfigMaps. KnowsAll returns true if
  /// the replica has followed the nodes, and in requestor mode the NodeMaintenances, up to that version.
  std::int64_t revision() const;
  bool KnowsAll(const GuardedCluster& replica) const;
  /// Returns true if at least one node has a state label and is not done.
  bool AnyOpen() const;

  /// Reports a change in the cluster to the checker, for callers with their own ChangeObserver, for example if a
  /// cluster has two checkers.
  void See(const Change& change);
  /// Sets the observer that receives every change after it has been checked; null: no observer.
  void OnChange(ChangeObserver observer);
  /// Adds a violation that the caller has detected, such as a liveness violation. Only the first violation is kept.
  void Fail(std::string invariant, std::string text);

  const std::optional<Violation>& violation() const;
  /// Returns the violation as text, `I3: ...`; empty if there is no violation.
  std::string Report() const;
  /// CordonIsOurs returns true if the node's current cordon belongs to an upgrade. CordonIsUncertain returns true if
  /// the owner of the cordon is uncertain, because the client that set the cordon also changed our marks.
  bool CordonIsOurs(const std::string& node) const;
  bool CordonIsUncertain(const std::string& node) const;
  /// Returns true if the maintenance operator has set the cordon.
  bool CordonIsMaintenanceOperators(const std::string& node) const;
  /// Returns the number of upgrades that have completed successfully.
  std::int64_t upgrades() const;
  /// Returns how many times nodes moved from the first state to the second. Each transition of a chained patch counts.
  const std::map<std::pair<UpgradeState, UpgradeState>, std::int64_t>& edges() const;

 private:
  std::unique_ptr<Impl> impl_;
};

/// A facade that checks every call and forwards it.
class InvariantChecker::GuardedCluster final : public ForwardingFacade {
 public:
  GuardedCluster(std::shared_ptr<ClusterFacade> next, Impl& checker, std::string name);
  /// Returns the sender's current knowledge, so that a request sent now can be checked later.
  const Writer& writer() const { return writer_; }
  /// Notes that a patch was sent, even if it does not arrive: the sender may later send it again under the limits that
  /// apply now.
  void NoteSent(const PatchNodeParams& params);
  void NoteSent(const PatchNodeMaintenanceParams& params);
  /// Notes that the response to the node's last patch was lost: the sender's knowledge of the node is still `before`.
  void NoteAnswerLost(const std::string& node, const Writer& before);
  /// Notes the response that the sender received, which may differ from the cluster's response; nullopt: a response
  /// without a reason.
  void NoteEvictionAnswer(const EvictPodParams& params, std::optional<Refusal> refusal);
  /// Notes that the sender's last list of nodes has this version.
  void NoteOldNodes(std::int64_t revision);
  /// Notes that the sender starts a watch on nodes at this version. The sender has therefore read the nodes at this
  /// version, in a list or in the last watch, even if this watch fails or reports nothing.
  void NoteNodesRead(std::int64_t revision);
  /// Notes that a pass starts with the current policy. Without this call, every request is checked against the policy
  /// in effect when it is sent.
  void BeginPass();
  /// Notes how far the sender's clock is now ahead of the cluster's clock (negative: behind). Checks of the sender's
  /// timeouts take this difference into account.
  void NoteClock(absl::Duration ahead);
  /// Notes that the sender releases every node from now on.
  void BeginRelease();
  /// Notes that the sender has replaced its engine. The new engine does not know the requests of its predecessor.
  void BeginEngine();
  /// Runs `send` on behalf of a sender with the knowledge in `writer`: for requests that were decided earlier.
  void As(Writer writer, const std::function<void()>& send);

  absl::StatusOr<std::vector<Node>> ListNodes(const CallContext& context, const ListNodesParams& params) override;
  absl::StatusOr<std::vector<Pod>> ListPods(const CallContext& context, const ListPodsParams& params) override;
  absl::Status WatchNodes(const CallContext& context, const WatchParams& params, WatchSink<Node>& sink) override;
  absl::Status WatchPods(const CallContext& context, const WatchParams& params, WatchSink<Pod>& sink) override;
  absl::StatusOr<std::vector<NodeMaintenance>> ListNodeMaintenances(const CallContext& context,
                                                                    const ListNodeMaintenancesParams& params) override;
  absl::Status WatchNodeMaintenances(const CallContext& context, const WatchParams& params,
                                     WatchSink<NodeMaintenance>& sink) override;
  absl::StatusOr<NodeMaintenance> CreateNodeMaintenance(const CallContext& context,
                                                        const CreateNodeMaintenanceParams& params) override;
  absl::StatusOr<NodeMaintenance> PatchNodeMaintenance(const CallContext& context,
                                                       const PatchNodeMaintenanceParams& params) override;
  absl::Status DeleteNodeMaintenance(const CallContext& context, const DeleteNodeMaintenanceParams& params) override;
  absl::StatusOr<Node> PatchNode(const CallContext& context, const PatchNodeParams& params) override;
  absl::StatusOr<EvictionAnswer> EvictPod(const CallContext& context, const EvictPodParams& params) override;
  absl::Status DeletePod(const CallContext& context, const DeletePodParams& params) override;
  absl::StatusOr<Lease> UpdateLease(const CallContext& context, const Lease& lease) override;
  absl::StatusOr<ConfigMap> CreateConfigMap(const CallContext& context, const ConfigMap& config_map) override;
  absl::StatusOr<ConfigMap> PatchConfigMap(const CallContext& context, const PatchConfigMapParams& params) override;

 private:
  template <class F>
  auto Write(F send);

  Impl& checker_;
  Writer writer_;
  // True if the sender follows a watch on nodes and lists nodes only to release them.
  bool follows_nodes_ = false;
};

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_TESTING_INVARIANTS_H_
