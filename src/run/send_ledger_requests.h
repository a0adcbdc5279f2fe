// Sends the requests of the ledger, and waits for their answers.
#ifndef DRIVERUPGRADE_SRC_RUN_SEND_LEDGER_REQUESTS_H_
#define DRIVERUPGRADE_SRC_RUN_SEND_LEDGER_REQUESTS_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "ledger/ledger_steps.h"

namespace driverupgrade::internal {

// Sends a request that concerns the ConfigMap. `cluster` answers consistently: no cache.
absl::StatusOr<ConfigMap> Send(ClusterFacade& cluster, const CallContext& context, const LedgerRequest& request);

// Returns once `steps` has no Next. `call_timeout`: for each call, within the deadline of the context.
void SendLedgerRequests(LedgerSteps& steps, const CallContext& context, absl::Duration call_timeout,
                        ClusterFacade& cluster, const Clock& clock);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_RUN_SEND_LEDGER_REQUESTS_H_
