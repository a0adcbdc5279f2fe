/// What happened, for logs and metrics.
///
/// Defines Observer, NodeOutcome, PassOutcome and MakeObserverGroup.
///
///     class CountingObserver final : public Observer {
///      public:
///       void OnNodeApplied(const NodePlan&, const NodeOutcome& outcome) override { failures += !outcome.status.ok(); }
///       std::atomic<int> failures = 0;
///     };
///
/// OnPlan and OnPassEnded are called by the thread that reconciles; OnNodeApplied by any of the engine's, several at a
/// time. Do not block in them, and do not call the engine.
#ifndef DRIVERUPGRADE_OBSERVER_H_
#define DRIVERUPGRADE_OBSERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/plan.h"

namespace driverupgrade::inline v1 {

/// What became of one NodePlan.
struct NodeOutcome {
  std::string node = {};
  /// The first failure, after which the rest of the plan was dropped. A refused eviction is no failure.
  absl::Status status = absl::OkStatus();
  /// The patch was acknowledged.
  bool patched = false;
  int evictions_accepted = 0;
  int evictions_refused = 0;
  int pods_deleted = 0;
  /// The node as the patch left it; nullptr without one.
  std::shared_ptr<const Node> node_after = nullptr;
};

/// What became of one call of UpgradeEngine::Reconcile.
struct PassOutcome {
  /// Why nothing was planned: the policy makes no sense, or the cluster could not be read.
  absl::Status status = absl::OkStatus();
  absl::Time began = {};
  absl::Time ended = {};
  /// As the policy of the pass says.
  bool auto_upgrade = false;
  bool paused = false;
};

class Observer {
 public:
  virtual ~Observer();
  /// Before `plan` is applied. With a cache its gates are only those that have changed: see Plan::gates_complete.
  virtual void OnPlan(const Plan& plan);
  virtual void OnNodeApplied(const NodePlan& plan, const NodeOutcome& outcome);
  /// After everything else of the pass. Release makes no pass.
  virtual void OnPassEnded(const PassOutcome& pass);
};

/// Tells each of `observers` everything, in their order. Null ones are left out.
std::shared_ptr<Observer> MakeObserverGroup(std::vector<std::shared_ptr<Observer>> observers);

}  // namespace driverupgrade::inline v1

#endif  // DRIVERUPGRADE_OBSERVER_H_
