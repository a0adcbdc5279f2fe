// Sends the requests of nodes on several threads.
//
//     PlanExecutor executor(identity, cluster, /*clock=*/nullptr, observer, {});
//     executor.Begin(context, core.Begin(plan, now));
//     for (const auto& requests : executor.TakeAnswered()) core.End(*requests, now);
//
// The requests of one node are sent in order; after a failed request, the node's remaining requests are dropped. The
// requests of different nodes neither affect nor wait for each other.
//
// Call all methods from the thread that makes the passes.
#ifndef DRIVERUPGRADE_SRC_WRITE_PLAN_EXECUTOR_H_
#define DRIVERUPGRADE_SRC_WRITE_PLAN_EXECUTOR_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/driver_identity.h"
#include "driverupgrade/engine_options.h"
#include "driverupgrade/observer.h"
#include "write/node_requests.h"

namespace driverupgrade::internal {

class PlanExecutor {
 public:
  // `cluster` must not be null; `observer` may be null. If `clock` is null, SystemClock() is used. `on_answered` is
  // called on another thread when there are results to take; it must not call the executor, and may be null.
  PlanExecutor(const DriverIdentity& identity, std::shared_ptr<ClusterWriter> cluster, std::shared_ptr<Clock> clock,
               std::shared_ptr<Observer> observer, const ExecutorOptions& options,
               std::function<void()> on_answered = nullptr);
  // Waits for the calls in flight; unsent requests are dropped.
  ~PlanExecutor();

  // Starts sending the requests, and returns without waiting for responses.
  void Begin(const CallContext& context, std::vector<NodeRequests> requests);
  // Returns the requests that have been completed since the last call.
  std::vector<std::shared_ptr<const NodeRequests>> TakeAnswered();

  // Queues `call`, which counts towards the limit on calls in flight. When `call` starts, call_timeout limits the
  // deadline of its context. If the executor is destroyed before the start, `call` is dropped.
  void Submit(const CallContext& context, std::function<void(const CallContext&)> call);

  // Writes Events about findings if ExecutorOptions::finding_events is on, within the limits documented there. Does not
  // wait.
  void Tell(const CallContext& context, std::vector<RecordEventParams> events);

  // Waits until all requests are completed. Events may still be in progress.
  void AwaitAnswers();

  // Waits until everything has been sent and answered, including Events.
  void Quiesce();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_PLAN_EXECUTOR_H_
