// Sends the requests of one node's plan to a cluster.
#ifndef DRIVERUPGRADE_SRC_WRITE_SEND_REQUESTS_H_
#define DRIVERUPGRADE_SRC_WRITE_SEND_REQUESTS_H_

#include "absl/time/time.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "write/node_requests.h"

namespace driverupgrade::internal {

// Returns once all requests are completed. `call_timeout` limits each call, in addition to the deadline of `context`.
void SendRequests(NodeRequests& requests, const CallContext& context, absl::Duration call_timeout,
                  ClusterWriter& cluster, const Clock& clock);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_SEND_REQUESTS_H_
