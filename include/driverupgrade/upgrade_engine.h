/// The class that an operator embeds: one call is one pass of the upgrade over the whole cluster.
///
/// Defines UpgradeEngine, EngineOptions and ReconcileResult.
///
///     EngineOptions options{.snapshot = {.ns = "gpu-operator", .driver_labels = selector}};
///     auto engine = UpgradeEngine::Create(*DriverIdentity::Create("nvidia.com", "gpu"), cluster, options);
///     while (!stopped) {
///       absl::StatusOr<ReconcileResult> pass = (*engine)->Reconcile(context, policy);
///       ...  // again at pass->wake_at, or when the cluster changes
///     }
///
/// Level-triggered: each pass reads the cluster, decides by what it reads, sends what is due, and waits for nothing.
/// What must survive a crash stands on the nodes, so an engine may be killed at any moment and another one
/// started. Two engines of two drivers may share a process and a cluster.
#ifndef DRIVERUPGRADE_UPGRADE_ENGINE_H_
#define DRIVERUPGRADE_UPGRADE_ENGINE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/engine_options.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/observer.h"
#include "driverupgrade/plan.h"
#include "driverupgrade/snapshot_builder.h"
#include "driverupgrade/state_machine.h"
#include "driverupgrade/upgrade_policy.h"
#include "driverupgrade/watch_cache.h"

namespace driverupgrade {

namespace internal {
class EngineMaker;
}  // namespace internal

struct EngineOptions {
  /// Where the driver's DaemonSets and pods are, and which pods use it.
  SnapshotOptions snapshot = {};
  StateMachineOptions state_machine = {};
  ExecutorOptions executor = {};
  /// What to read from; null: lists, at each pass. One of its drivers is this one: the same namespace, labels and
  /// requestor namespace. With it a pass looks again only at what has changed, its result has only the gates that did
  /// (see Explain), and it waits for no answer: each node's requests go their own way. With one call in
  /// flight (ExecutorOptions) they are made in the calling thread all the same.
  std::shared_ptr<WatchCache> cache = nullptr;
  /// With a cache a pass looks at so many of the nodes that have changed or are due. It looks at none while the requests
  /// of twice as many are under way. The next pass, at once or with the next answer, looks at the rest; until then no
  /// node starts (Plan::finished). So whoever waits for the end of a pass, as a stop or a new policy does, waits for a
  /// moment only. >= 1.
  int nodes_per_pass = 1000;
  /// Where a node's slot is granted before the node is started, so that the budgets hold although two replicas believe
  /// that they lead, or one crashes (ADR 0005). All replicas have one, the same, or none; nullopt: none.
  std::optional<AdmissionLedgerOptions> ledger = std::nullopt;
  /// A limit on nodes in progress that several engines share, asked for in every pass by its thread; null: none. The
  /// limit holds if passes of these engines follow one another and each answer knows of the passes before
  /// (ServiceOptions::parallel_total sees to both).
  std::function<SharedSlots()> shared_slots = nullptr;
  /// Why a rollout is to be halted, by whatever the embedding operator can see, asked for in every pass by its thread;
  /// empty: all is well. Null: nobody is asked. Only a policy with `rollout` asks.
  std::function<std::string()> rollout_sick = nullptr;
  /// That of a controller over the engine, too. Null: SystemClock().
  std::shared_ptr<Clock> clock = nullptr;
  /// Null: nobody.
  std::shared_ptr<Observer> observer = nullptr;
};

struct ReconcileResult {
  /// What was decided. Its gates say why nodes wait.
  Plan plan = {};
  /// What became of `plan.nodes`, in their order. With a cache: of the nodes whose requests have all been answered
  /// since the last result; those of `plan.nodes` may still be under way, and OnChange tells when they are answered.
  std::vector<NodeOutcome> outcomes = {};
  /// How many judgements of single nodes this took: one for each that changed or was due; without a cache a
  /// node whose pods were read is judged before and after.
  std::uint64_t judged = 0;
  /// What will not do what it should although nothing is wrong with any node: NoDaemonSet, NothingIsEvicted. Not in
  /// `plan.findings`, as it is no reading of the cluster's nodes; Observer::OnFinding tells each once.
  std::vector<Finding> configuration = {};
  /// Come back at this time even if nothing changes: now, if something has been done that is not judged yet; a deadline
  /// or a retry otherwise. nullopt: only when the cluster or the policy changes.
  std::optional<absl::Time> wake_at = std::nullopt;
};

class UpgradeEngine {
 public:
  /// Errors: InvalidArgument for options that cannot work; Unimplemented, naming it, if `cluster` lacks an operation.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<UpgradeEngine>> Create(const DriverIdentity& identity,
                                                                             std::shared_ptr<ClusterFacade> cluster,
                                                                             EngineOptions options);
  ~UpgradeEngine();

  /// One pass. Errors: those of Validate(policy) and of reading the cluster; trouble with single nodes is in the
  /// result. Not to be called by two threads at once.
  [[nodiscard]] absl::StatusOr<ReconcileResult> Reconcile(const CallContext& context, const UpgradePolicy& policy);

  /// Gives every node back, for an operator that is being removed: see StateMachine::Release. No Reconcile may
  /// follow. Errors: those of reading the cluster; Unavailable, once all else is given back, if a node, or in requestor
  /// mode any object, cannot be read. Trouble with single nodes is in the result; call again until `plan.nodes` is
  /// empty.
  [[nodiscard]] absl::StatusOr<ReconcileResult> Release(const CallContext& context);

  /// Why a node does not move, as the last pass found it, with its place in the queue; nullopt if it does, or is not
  /// known. From any thread; a pass that runs is not waited for, and what it finds is told once it has planned.
  std::optional<Gate> Explain(const std::string& node) const;
  /// What the last pass found of all nodes; costs O(N log N). As Explain.
  Plan Everything() const;
  /// Returns the results of the last finished pass for a page; costs O(N log N). As Explain.
  FleetStatus Status() const;

  /// `on_change` is called, from another thread, when the cache has something new for the next pass, or requests have
  /// been answered; it must not call the engine. Null: nobody. Without a cache it is never called.
  void OnChange(std::function<void()> on_change);

  /// That of the options; null if nobody looks on.
  const std::shared_ptr<Observer>& observer() const;

  /// Passes begin anew after somebody else has made them, or nobody: what ran out meanwhile gets its grace.
  void Resume();

  /// Waits for what passes have left under way: requests of nodes, lists of pods, Events.
  void Quiesce();

  /// EngineOptions::clock, never null.
  const std::shared_ptr<Clock>& clock() const;

 private:
  class Impl;
  friend class internal::EngineMaker;
  explicit UpgradeEngine(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_UPGRADE_ENGINE_H_
