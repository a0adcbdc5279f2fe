// Sends the requests of nodes by threads.
//
//     PlanExecutor executor(identity, cluster, /*clock=*/nullptr, observer, {});
//     executor.Begin(context, core.Begin(plan, now));
//     for (const auto& requests : executor.TakeAnswered()) core.End(*requests, now);
//
// The requests of one node are sent in order; a request that fails drops the rest for that node, and affects no other node. Nodes
// do not wait for each other.
//
// Call all methods from the thread that makes the passes.
#ifndef DRIVERUPGRADE_SRC_WRITE_PLAN_EXECUTOR_H_
#define DRIVERUPGRADE_SRC_WRITE_PLAN_EXECUTOR_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/task_runner.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/engine_options.h"
#include "driverupgrade/observer.h"
#include "write/node_requests.h"

namespace driverupgrade::internal {

class PlanExecutor {
 public:
  // `cluster` is not null; `observer` may be. `clock`: null for SystemClock(). `on_answered` is called, from another thread, when there is
  // something to take; it must not call the executor. Null: nobody. `runner`: where calls are made; null: threads.
  PlanExecutor(const DriverIdentity& identity, std::shared_ptr<ClusterWriter> cluster, std::shared_ptr<Clock> clock,
               std::shared_ptr<Observer> observer, const ExecutorOptions& options,
               std::function<void()> on_answered = nullptr, std::shared_ptr<TaskRunner> runner = nullptr);
  // Waits for the calls in flight; what has not been sent is dropped.
  ~PlanExecutor();

  // Does not wait for the answers.
  void Begin(const CallContext& context, std::vector<NodeRequests> requests);
  // Returns those that have been answered since the last call.
  std::vector<std::shared_ptr<const NodeRequests>> TakeAnswered();

  // Makes `call` one of the calls in flight, when its turn has come. Its context is `context`, bounded by call_timeout
  // from then on. It is dropped if the executor is destroyed before.
  void Submit(const CallContext& context, std::function<void(const CallContext&)> call);

  // Writes Events about what is found, limited as ExecutorOptions::finding_events says, if that is on. Does not wait.
  void Tell(const CallContext& context, std::vector<RecordEventParams> events);

  // Waits until all have been answered. Events may still be under way.
  void AwaitAnswers();

  // Waits until everything has been sent and answered, Events included.
  void Quiesce();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_PLAN_EXECUTOR_H_
