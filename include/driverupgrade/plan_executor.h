/// Does what a Plan says.
///
/// Defines PlanExecutor and ExecutorOptions.
///
///     PlanExecutor executor(identity, cluster, SystemClock(), observer, {});
///     std::vector<NodeOutcome> outcomes = executor.Apply(context, plan, log);
///
/// For one node in order: patch, evictions, deletions, NodeMaintenances, Events (arch-A12); what is not acknowledged drops the rest of
/// that node's plan and touches no other node (arch-A5). Every write goes into the AttemptLog before it is sent, and its
/// answer afterwards (arch-A9). Never waits for an effect. Nodes are worked on in parallel.
#ifndef DRIVERUPGRADE_PLAN_EXECUTOR_H_
#define DRIVERUPGRADE_PLAN_EXECUTOR_H_

#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/attempt_log.h"
#include "driverupgrade/call_context.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/observer.h"
#include "driverupgrade/plan.h"

namespace driverupgrade::inline v1 {

struct ExecutorOptions {
  /// Nodes worked on at once, each with one call in flight. 1: everything in the calling thread, in the plan's order.
  int calls_in_flight = 32;
  /// For each call, within the deadline of the context.
  absl::Duration call_timeout = absl::Seconds(30);
  /// Whether to write Events. They are best effort and off the critical path.
  bool events = true;
};

class PlanExecutor {
 public:
  /// `cluster` and `clock` are not null; `observer` may be.
  PlanExecutor(const DriverIdentity& identity, std::shared_ptr<ClusterWriter> cluster, std::shared_ptr<Clock> clock,
               std::shared_ptr<Observer> observer, const ExecutorOptions& options);
  /// Waits for the calls in flight; Events that have not been sent are dropped.
  ~PlanExecutor();

  /// Returns when every node's requests have been answered, in the plan's order; Events may still be under way.
  std::vector<NodeOutcome> Apply(const CallContext& context, const Plan& plan, AttemptLog& log);

  /// Waits until all Events have been sent.
  void Quiesce();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace driverupgrade::inline v1

#endif  // DRIVERUPGRADE_PLAN_EXECUTOR_H_
