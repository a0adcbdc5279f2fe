// Converts a node's transitions to Events.
#ifndef DRIVERUPGRADE_SRC_WRITE_TRANSITION_EVENTS_H_
#define DRIVERUPGRADE_SRC_WRITE_TRANSITION_EVENTS_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "driverupgrade/cluster_writes.h"
#include "write/node_requests.h"

namespace driverupgrade::internal {

// Returns the Events of the plan, one nanosecond apart, so that their names sort in the order of the states. Returns no
// Events if the patch was not acknowledged, because the next pass then reports the transitions. All requests of `sent`
// must be completed.
std::vector<RecordEventParams> EventsOfTransitions(const NodeRequests& sent, const std::string& reason, absl::Time now);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_TRANSITION_EVENTS_H_
