/// Invariants of an upgrade, which must hold whatever fails; checked after every commit of a FakeCluster.
///
/// Defines InvariantChecker, InvariantOptions, InvariantsOf, Writer and Violation.
///
///     InvariantChecker checker(cluster, InvariantsOf(identity, engine_options, policy));
///     auto engine = UpgradeEngine::Create(identity, checker.Guard("engine"),
///                                         {..., .observer = checker.MakeObserver()});
///     ...                                          // faults, passes, time
///     REQUIRE(checker.Report() == "");
///
/// A Violation names its invariant, and docs/testing-your-operator.md explains each. Every commit is checked for budgets and
/// grants (`I1`), driver restarts under workloads (`I2`), owners of cordons (`I3`), ways of removing pods (`I4`),
/// preconditions (`I5`), changes of foreign objects (`I6`), legal transitions (`I7`), skip and pause (`I8`), Leases that
/// are taken over (`I9`), timers that survive a replaced node (`I10`), cost (`I13`), rollouts (`I14`, `I20` to `I22`), and
/// the number of nodes in the hands of engines, whatever other clients do to the labels (`I19`). A check costs the same
/// for ten nodes and for ten thousand. On request the checker also judges writes without a Lease (`I9`), log lines (`I11`), rest
/// (`I12`), one bad node (`L4`), gates (`L5`), totals (`L6`).
///
/// Not thread-safe: for engines with `calls_in_flight = 1`, in the thread that drives them. It observes the cluster's
/// changes (FakeCluster::SetChangeObserver) for as long as it lives, and must end before the cluster. Example:
/// tests/simulation/operator_example_test.cc.
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
  /// As in SnapshotOptions.
  std::string driver_ns = {};
  LabelSelector driver_labels = {};
  LabelSelector node_selector = {};
  /// Until SetPolicy.
  UpgradePolicy policy = {};
  /// As in SnapshotOptions; a pod of which it fails does not count as using the driver.
  PodFilter uses_driver = nullptr;
  /// As in StateMachineOptions.
  std::optional<PodRef> own_pod = std::nullopt;
  /// In requestor mode: RequestorOptions::id.
  std::string requestor_id = {};
  /// As in SnapshotOptions; an answer that is an error counts as no. Null: what stands on the node is believed.
  RestartOnlyPredicate restart_only = nullptr;
  /// As AdmissionLedgerOptions::grants_max; 0: there is no ledger. With one, a node that takes of a budget starts only
  /// once its grant has been stored, as the checker has seen: make the checker before the first grant.
  int grants_max = 0;
  /// Whether budgets are claimed to hold: with a ledger, or for one leader that does not crash.
  bool check_budget = true;
  /// Whether the time between two requests for one pod is looked at: not where clocks jump.
  bool check_pacing = true;
  /// How far a clock of an engine may be from the cluster's.
  absl::Duration clock_skew_max = absl::ZeroDuration();
  /// Patches, deletions and evictions of one try of a node, three times as many while faults happen; refused
  /// evictions and requests for NodeMaintenances apart. For each pod that goes, and each change of the node by others,
  /// one more. 0: not checked.
  int writes_per_upgrade_max = 12;
  /// Whether another driver of this library works on the same nodes: what clients write that are not guarded is its
  /// doing, and a cordon of one is one of both.
  bool shares_nodes = false;
  /// As in StateMachineOptions: what the gate Validation is about.
  LabelSelector validation = {};
};

/// What an engine that is made with `options` has to keep while `policy` is in force. Set the rest by what the test does.
InvariantOptions InvariantsOf(const DriverIdentity& identity, const EngineOptions& options, UpgradePolicy policy);

/// The first thing that was broken.
struct Violation {
  /// `I3`.
  std::string invariant = {};
  /// A sentence that names the objects.
  std::string text = {};
  absl::Time time = absl::UnixEpoch();
  std::int64_t revision = 0;
};

/// Who writes, and what he may know: a request is judged by what its sender had been told.
struct Writer {
  std::string name = {};
  std::shared_ptr<const UpgradePolicy> policy = {};
  /// Of the cluster, when nodes were last listed, or how far they have been followed by who follows them: his lists are
  /// the ledger's, which asks them for nothing but whether a node is there.
  std::int64_t nodes_read = 0;
  /// The versions in which patches of his were answered since, by name.
  std::map<std::string, std::int64_t> nodes_answered = {};
  /// The same of pods: of a node, and of the whole cluster.
  std::map<std::string, std::int64_t> pods_read = {};
  std::int64_t pods_followed = 0;
  /// And of NodeMaintenances.
  std::int64_t maintenances_read = 0;
  /// What arrives now was sent long ago.
  bool late = false;
  /// How far his clock was ahead of the cluster's, at most, since his pass began; nullopt: as far as
  /// InvariantOptions::clock_skew_max.
  std::optional<absl::Duration> clock_ahead = std::nullopt;
  /// It gives every node back (UpgradeEngine::Release), whatever the policy says.
  bool releases = false;
};

class InvariantChecker {
 public:
  /// `cluster` is not null.
  InvariantChecker(std::shared_ptr<FakeCluster> cluster, InvariantOptions options);
  ~InvariantChecker();
  InvariantChecker(const InvariantChecker&) = delete;
  InvariantChecker& operator=(const InvariantChecker&) = delete;

  /// The cluster as the engine is to use it. Holds a pointer to the checker.
  class GuardedCluster;
  class Impl;
  std::shared_ptr<GuardedCluster> Guard(std::string name);
  /// For the engine: tells by which path a node goes.
  std::shared_ptr<Observer> MakeObserver();
  /// Of what is sent from now on.
  void SetPolicy(const UpgradePolicy& policy);

  /// Changes by the administrator that come now are another driver's.
  void set_rival_acts(bool acts);
  /// A fault has happened now, so that a try of a node that is under way may need three times as many writes.
  void NoteFault();
  /// The clocks of engines that lead at once are a minute apart now. A timer more than a minute ahead is nobody's,
  /// so each of them begins anew what the other has noted: a try that is under way may need twice as many writes.
  void NoteClocksApart();
  /// Faults happen all the time, or several replicas lead: the same for every try.
  void set_disturbed(bool disturbed);
  /// `replica` writes so long after the last renewal of its lease that was acknowledged, by its own clock.
  void CheckLease(const std::string& replica, absl::Duration since_renewal, absl::Duration renew_deadline);
  /// That it is one line without control characters, whatever stands on nodes.
  void CheckLogLine(std::string_view line);
  /// The numbers of writes at the beginning and at the end of a time in which there was nothing to do.
  void CheckRest(std::int64_t writes_before, std::int64_t writes_after);
  /// How long all nodes but one took with one slot less and without it, and beside it, when it was bad.
  void CheckDelay(absl::Duration alone, absl::Duration beside_bad_node);
  static absl::Duration MayTakeBesideBadNode(absl::Duration alone);
  /// Gates and totals of a replica that has read everything as it is now, in a pass in which no call failed.
  /// `everything`: as UpgradeEngine::Everything.
  void CheckGates(const GuardedCluster& replica, const Plan& everything);
  void CheckTotals(const Tally& totals);
  /// Of the last change of anything but Leases and ConfigMaps; and whether the replica has followed the nodes, and in
  /// requestor mode the NodeMaintenances, so far.
  std::int64_t revision() const;
  bool KnowsAll(const GuardedCluster& replica) const;
  /// Whether some node carries a label and is not done.
  bool AnyOpen() const;

  /// A change of the cluster, from who has set a ChangeObserver of his own: two checkers of one cluster.
  void See(const Change& change);
  /// Sees every change, after it has been checked; null: nobody.
  void OnChange(ChangeObserver observer);
  /// Reports from outside, such as of liveness. The first one stays.
  void Fail(std::string invariant, std::string text);

  const std::optional<Violation>& violation() const;
  /// `I3: ...`, or empty if nothing was broken.
  std::string Report() const;
  /// Whether the node's present cordon is an upgrade's, or whoever made it also touched our marks, so that nobody can
  /// tell.
  bool CordonIsOurs(const std::string& node) const;
  bool CordonIsUncertain(const std::string& node) const;
  /// Whether the maintenance operator has made it.
  bool CordonIsMaintenanceOperators(const std::string& node) const;
  /// Upgrades that have ended well.
  std::int64_t upgrades() const;
  /// How often a node went from the one to the other; what a patch chains is counted hop by hop.
  const std::map<std::pair<UpgradeState, UpgradeState>, std::int64_t>& edges() const;

 private:
  std::unique_ptr<Impl> impl_;
};

/// Passes every call on, and judges it.
class InvariantChecker::GuardedCluster final : public ForwardingFacade {
 public:
  GuardedCluster(std::shared_ptr<ClusterFacade> next, Impl& checker, std::string name);
  /// As of now: what a request that is sent now may be judged by later.
  const Writer& writer() const { return writer_; }
  /// A patch has been sent, whether or not it arrives: its sender may repeat it, with what it was allowed then.
  void NoteSent(const PatchNodeParams& params);
  void NoteSent(const PatchNodeMaintenanceParams& params);
  /// The answer to the last patch of the node was lost on its way: the sender knows of the node what he knew before.
  void NoteAnswerLost(const std::string& node, const Writer& before);
  /// What the sender was answered, which may be something else than the cluster's answer; nullopt: nothing that says why.
  void NoteEvictionAnswer(const EvictPodParams& params, std::optional<Refusal> refusal);
  /// The list of nodes that the sender was given last is as old as that.
  void NoteOldNodes(std::int64_t revision);
  /// The sender begins a watch on nodes at this version. So he has read them as they were then, in a list or in the last
  /// watch, even if this watch fails or tells nothing.
  void NoteNodesRead(std::int64_t revision);
  /// A pass begins with the policy of now. Without it every request is judged by the policy of its own moment.
  void BeginPass();
  /// The sender's clock is so far ahead of the cluster's now, or behind it: what he holds for over is judged by that.
  void NoteClock(absl::Duration ahead);
  /// From now on it gives every node back.
  void BeginRelease();
  /// Runs `send` in the place of a sender who knew what `writer` says: for requests that were decided before.
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
  // It goes by a watch on nodes, and by a list only once it gives back.
  bool follows_nodes_ = false;
};

}  // namespace driverupgrade::testing

#endif  // DRIVERUPGRADE_TESTING_INVARIANTS_H_
