/// The class that an operator embeds. Each call makes one pass of the upgrade over the whole cluster.
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
/// An engine is level-triggered: each pass reads the cluster, decides, and sends the requests that are due, without
/// waiting for their effects. All state that must survive a crash is stored on the nodes, so an engine may be killed at
/// any moment and replaced by another. Engines of different drivers may share a process and a cluster.
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

struct EngineOptions {
  /// Location of the driver's DaemonSets and pods, and the filter for pods that use the driver.
  SnapshotOptions snapshot = {};
  StateMachineOptions state_machine = {};
  ExecutorOptions executor = {};
  /// Cache to read from; if null, each pass lists the objects. One of the cache's scopes must match this driver: the
  /// same namespace, labels and requestor namespace. With a cache, a pass evaluates only nodes that have changed or are
  /// due, and returns only the changed gates (see Explain). It does not wait for responses: each node's requests
  /// proceed independently. With only one call in flight (ExecutorOptions), requests are still made on the calling
  /// thread.
  std::shared_ptr<WatchCache> cache = nullptr;
  /// With a cache: maximum number of changed or due nodes that one pass evaluates; at least 1. A pass evaluates no
  /// nodes while requests for twice as many nodes are in progress. The next pass, which is due immediately or at the
  /// next response, evaluates the remaining nodes; until then, no node starts (Plan::finished). The limit keeps passes
  /// short, because callers must wait for the end of a pass before they can stop or set a new policy.
  int nodes_per_pass = 1000;
  /// Options of the ledger, which must grant a node its slot before the node starts. With a ledger, the budgets hold
  /// even if two replicas believe that they are the leader, or if a replica crashes (ADR 0005). All replicas must use
  /// the same ledger, or none. nullopt: no ledger.
  std::optional<AdmissionLedgerOptions> ledger = std::nullopt;
  /// Returns the limit on the number of nodes in progress that several engines share. Called in every pass, on the
  /// thread of the pass; null: no such limit. The limit holds if the engines make their passes in sequence, and if each
  /// returned limit accounts for the earlier passes; ServiceOptions::parallel_total ensures both.
  std::function<SharedSlots()> shared_slots = nullptr;
  /// Returns the embedding operator's reason to halt the rollout, which may be based on any data; empty: no reason.
  /// Called in every pass, on the thread of the pass, if the policy has a `rollout` and autoUpgrade is on. Null: not
  /// called.
  std::function<std::string()> rollout_sick = nullptr;
  /// Also used by the engine's controller. Null: SystemClock().
  std::shared_ptr<Clock> clock = nullptr;
  std::shared_ptr<Observer> observer = nullptr;
};

struct ReconcileResult {
  /// The decisions. Their gates explain why nodes wait.
  Plan plan = {};
  /// Outcomes of `plan.nodes`, in the same order. With a cache: outcomes of the nodes whose requests have all been
  /// answered since the previous result. Requests for `plan.nodes` may then still be in progress; the OnChange callback
  /// reports when they have been answered.
  std::vector<NodeOutcome> outcomes = {};
  /// Number of evaluations in this pass: one for each node that changed or was due. Without a cache, a node whose pods
  /// were read is evaluated twice: before and after the read.
  std::uint64_t judged = 0;
  /// Findings about the configuration: NoDaemonSet, NothingIsEvicted. They are not in `plan.findings`, because they do
  /// not concern nodes, and occur even if all nodes are fine. Observer::OnFinding reports them when they appear.
  std::vector<Finding> configuration = {};
  /// Time at which to call Reconcile again even if nothing changes. This is the current time if the results of some
  /// actions have not been evaluated yet, otherwise the time of the next deadline or retry. nullopt: no call is needed
  /// until the cluster or the policy changes.
  std::optional<absl::Time> wake_at = std::nullopt;
};

class UpgradeEngine {
 public:
  /// Errors: InvalidArgument for options that cannot work; Unimplemented, with the name of the operation, if `cluster`
  /// lacks a required operation.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<UpgradeEngine>> Create(const DriverIdentity& identity,
                                                                             std::shared_ptr<ClusterFacade> cluster,
                                                                             EngineOptions options);
  ~UpgradeEngine();

  /// Makes one pass. Errors: the errors of Validate(policy) and of reading the cluster; problems with individual nodes
  /// are reported in the result. Must not be called by two threads at the same time.
  [[nodiscard]] absl::StatusOr<ReconcileResult> Reconcile(const CallContext& context, const UpgradePolicy& policy);

  /// Releases every node before the operator is removed (see StateMachine::Release). Reconcile must not be called
  /// afterwards. Errors: the errors of reading the cluster; Unavailable if a node, or in requestor mode any object,
  /// cannot be read. All other nodes are released before the error is returned. Problems with individual nodes are
  /// reported in the result; call Release again until `plan.nodes` is empty.
  [[nodiscard]] absl::StatusOr<ReconcileResult> Release(const CallContext& context);

  /// Returns why the node did not move in the last pass, with its place in the queue; nullopt if the node moved or is
  /// unknown. Can be called from any thread. Does not wait for a running pass: its results become visible once its plan
  /// is complete.
  std::optional<Gate> Explain(const std::string& node) const;
  /// Returns the results of the last pass for all nodes, in O(N log N). Threads: same as Explain.
  Plan Everything() const;
  /// Returns the status of the rollout after the last finished pass, for status pages, in O(N log N). Threads: same as
  /// Explain.
  FleetStatus Status() const;

  /// Sets the callback `on_change`, which is called on another thread when the cache has changes for the next pass, or
  /// when requests have been answered. It must not call the engine. Without a cache, it is never called. Null: no
  /// callback.
  void OnChange(std::function<void()> on_change);

  /// Returns EngineOptions::observer, which can be null.
  const std::shared_ptr<Observer>& observer() const;

  /// Grants a grace period to deadlines that expired during a break. Must be called before the first pass after a
  /// break, or after passes by another replica.
  void Resume();

  /// Waits for the work that passes have started: requests for nodes, lists of pods, and Events.
  void Quiesce();

  /// Returns EngineOptions::clock, or the system clock; never null.
  const std::shared_ptr<Clock>& clock() const;

 private:
  class Impl;
  explicit UpgradeEngine(std::unique_ptr<Impl> impl);

  const std::unique_ptr<Impl> impl_;
};

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_UPGRADE_ENGINE_H_
