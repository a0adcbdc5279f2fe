/// What happened, for logs and metrics.
///
/// Defines Observer, PassOutcome and MakeObserverGroup.
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
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/node_outcome.h"
#include "driverupgrade/plan.h"

namespace driverupgrade {

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

}  // namespace driverupgrade

#endif  // DRIVERUPGRADE_OBSERVER_H_
