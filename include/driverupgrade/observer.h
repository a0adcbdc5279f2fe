/// What happened, for logs and metrics.
///
/// Defines Observer and NodeOutcome.
///
///     class CountingObserver final : public Observer {
///      public:
///       void OnNodeApplied(const NodePlan&, const NodeOutcome& outcome) override { failures += !outcome.status.ok(); }
///       std::atomic<int> failures = 0;
///     };
///
/// OnPlan is called by the thread that reconciles; OnNodeApplied by any of the engine's, several at a time. Do not
/// block in them, and do not call the engine.
#ifndef DRIVERUPGRADE_OBSERVER_H_
#define DRIVERUPGRADE_OBSERVER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
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

class Observer {
 public:
  virtual ~Observer();
  /// Before `plan` is applied.
  virtual void OnPlan(const Plan& plan);
  virtual void OnNodeApplied(const NodePlan& plan, const NodeOutcome& outcome);
};

}  // namespace driverupgrade::inline v1

#endif  // DRIVERUPGRADE_OBSERVER_H_
