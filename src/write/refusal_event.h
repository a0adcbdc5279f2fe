// Creates the Event about a request that is refused permanently.
#ifndef DRIVERUPGRADE_SRC_WRITE_REFUSAL_EVENT_H_
#define DRIVERUPGRADE_SRC_WRITE_REFUSAL_EVENT_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "driverupgrade/cluster_writes.h"
#include "write/node_requests.h"

namespace driverupgrade::internal {

// Returns the Event; nullopt unless the API server refused a request and would refuse it again. All requests of `sent`
// must be completed.
std::optional<RecordEventParams> EventOfRefusal(const NodeRequests& sent, const std::string& reason, absl::Time now);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_REFUSAL_EVENT_H_
