// Drives the steps of the ledger with calls that wait for their answers.
#ifndef DRIVERUPGRADE_SRC_RUN_LEDGER_PASS_H_
#define DRIVERUPGRADE_SRC_RUN_LEDGER_PASS_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/gate.h"
#include "driverupgrade/plan.h"
#include "ledger/ledger_steps.h"

namespace driverupgrade::internal {

// Sends a request that concerns the ConfigMap.
absl::StatusOr<ConfigMap> Send(ClusterFacade& cluster, const CallContext& context, const LedgerRequest& request);

// Not thread-safe.
class LedgerPass {
 public:
  // `cluster` answers consistently: no cache. `call_timeout`: for each call, within the deadline of the context. Errors:
  // InvalidArgument for options that cannot work; Unimplemented, naming it, if `cluster` lacks an operation.
  static absl::StatusOr<std::unique_ptr<LedgerPass>> Create(std::shared_ptr<ClusterFacade> cluster,
                                                            const DriverIdentity& identity,
                                                            AdmissionLedgerOptions options,
                                                            std::shared_ptr<Clock> clock, absl::Duration call_timeout);

  // See LedgerSteps for all of these.
  void Begin(const CallContext& context);
  void Forget(const CallContext& context);
  Grants Standing(const CallContext& context, const std::map<std::string, std::string>& managed);
  std::map<std::string, Gate> Settle(const CallContext& context, const Plan& plan);
  void Report(Plan& plan) const { steps_.Report(plan, clock_->Now()); }

  LedgerSteps& steps() { return steps_; }
  const LedgerSteps& steps() const { return steps_; }

 private:
  LedgerPass(LedgerSteps steps, std::shared_ptr<ClusterFacade> cluster, std::shared_ptr<Clock> clock,
             absl::Duration call_timeout);
  void Send(const CallContext& context);
  CallContext Bounded(const CallContext& context) const;

  LedgerSteps steps_;
  const std::shared_ptr<ClusterFacade> cluster_;
  const std::shared_ptr<Clock> clock_;
  const absl::Duration call_timeout_;
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_RUN_LEDGER_PASS_H_
