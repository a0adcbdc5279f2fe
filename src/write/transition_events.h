// A node's transitions as Events.
#ifndef DRIVERUPGRADE_SRC_WRITE_TRANSITION_EVENTS_H_
#define DRIVERUPGRADE_SRC_WRITE_TRANSITION_EVENTS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_writes.h"
#include "write/node_requests.h"

namespace driverupgrade::internal {

// What the plan's Events tell, if it has happened: what a failure dropped is told by the next pass. `sent` has no Next.
std::vector<RecordEventParams> EventsOfTransitions(const NodeRequests& sent, const std::string& reason, absl::Time now);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_TRANSITION_EVENTS_H_
