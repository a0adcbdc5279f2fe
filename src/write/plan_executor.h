// Does what a Plan says.
//
//     PlanExecutor executor(identity, cluster, /*clock=*/nullptr, observer, {});
//     std::vector<NodeOutcome> outcomes = executor.Apply(context, plan, log);
//
// For one node in order: confirmation, patch, evictions, deletions, NodeMaintenances, Events; what is not
// acknowledged drops the rest of that node's plan and touches no other node. A patch goes into the AttemptLog
// before it is sent, everything else with its answer: until then the node is InFlight, and gets no other requests.
// Never waits for an effect. Nodes are worked on in parallel, and each by itself: none waits for another.
//
// All methods are to be called from one thread at a time, that of the passes.
#ifndef DRIVERUPGRADE_SRC_WRITE_PLAN_EXECUTOR_H_
#define DRIVERUPGRADE_SRC_WRITE_PLAN_EXECUTOR_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/task_runner.h"
#include "driverupgrade/attempt_log.h"
#include "driverupgrade/call_context.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/executor_options.h"
#include "driverupgrade/node_outcome.h"
#include "driverupgrade/observer.h"
#include "driverupgrade/plan.h"

namespace driverupgrade::internal {

class PlanExecutor {
 public:
  // `cluster` is not null; `observer` may be. `clock`: null for SystemClock(). `on_answered` is called, from another thread, when there is
  // something to Collect; it must not call the executor. Null: nobody. `runner`: where calls are made; null: threads.
  PlanExecutor(const DriverIdentity& identity, std::shared_ptr<ClusterWriter> cluster, std::shared_ptr<Clock> clock,
               std::shared_ptr<Observer> observer, const ExecutorOptions& options,
               std::function<void()> on_answered = nullptr, std::shared_ptr<TaskRunner> runner = nullptr);
  // Waits for the calls in flight; what has not been sent is dropped.
  ~PlanExecutor();

  // Begins with the requests of `plan.nodes`, none of which is InFlight, and does not wait for their answers.
  void Begin(const CallContext& context, const Plan& plan, AttemptLog& log);
  // Requests of the node have begun, and have not been collected yet.
  bool InFlight(const std::string& node) const;
  // How many nodes are InFlight.
  std::size_t nodes_in_flight() const;
  // What became of the nodes whose requests have all been answered since the last call.
  std::vector<NodeOutcome> Collect(AttemptLog& log);

  // Makes `call` one of the calls in flight, when its turn has come. Its context is `context`, bounded by call_timeout
  // from then on. It is dropped if the executor is destroyed before.
  void Submit(const CallContext& context, std::function<void(const CallContext&)> call);

  // Writes Events about what is found, limited as ExecutorOptions::finding_events says, if that is on. Does not wait.
  void Tell(const CallContext& context, std::vector<RecordEventParams> events);

  // Begins, waits for every answer, and collects; in the plan's order. Events may still be under way.
  std::vector<NodeOutcome> Apply(const CallContext& context, const Plan& plan, AttemptLog& log);

  // Waits until everything has been sent and answered, Events included.
  void Quiesce();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_PLAN_EXECUTOR_H_
