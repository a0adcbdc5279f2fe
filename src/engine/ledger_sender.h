// Sends the ledger's requests through the executor.
#ifndef DRIVERUPGRADE_SRC_ENGINE_LEDGER_SENDER_H_
#define DRIVERUPGRADE_SRC_ENGINE_LEDGER_SENDER_H_

#include <functional>
#include <memory>
#include <mutex>

#include "absl/status/statusor.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "ledger/ledger_steps.h"
#include "write/plan_executor.h"

namespace driverupgrade::internal {

// Sends a request for the ConfigMap. `cluster` must return consistent reads, so it must not be a cache.
absl::StatusOr<ConfigMap> Send(ClusterFacade& cluster, const CallContext& context, const LedgerRequest& request);

// Sends the requests of a ledger, at most one at a time.
//
//     while (sender.Advance(context, steps)) ...;  // the steps may have a new request by now
//
// Advance must be called by the thread that runs the passes.
class LedgerSender {
 public:
  // `executor` must outlive this object, but its threads must end before this object is destroyed. `on_answer` is
  // called from another thread when a response has arrived. If `on_answer` is null, Advance waits for responses.
  LedgerSender(std::shared_ptr<ClusterFacade> cluster, std::shared_ptr<Clock> clock, PlanExecutor& executor,
               std::function<void()> on_answer);

  // Passes responses to `steps`, and sends the requests of `steps`. Returns true if a response has arrived.
  bool Advance(const CallContext& context, LedgerSteps& steps);

 private:
  using Answer = std::function<void(LedgerSteps&)>;

  void Begin(const CallContext& context, const LedgerRequest& request);
  Answer AnswerTo(const LedgerRequest& request, const CallContext& context);
  bool Take(LedgerSteps& steps);

  const std::shared_ptr<ClusterFacade> cluster_;
  const std::shared_ptr<Clock> clock_;
  PlanExecutor& executor_;
  const std::function<void()> on_answer_;
  bool in_flight_ = false;
  std::mutex mutex_;
  Answer answer_;  // guarded by mutex_; null if there is no response
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_ENGINE_LEDGER_SENDER_H_
