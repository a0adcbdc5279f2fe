// The Event about a request that was permanently refused.
#ifndef DRIVERUPGRADE_SRC_WRITE_REFUSAL_EVENT_H_
#define DRIVERUPGRADE_SRC_WRITE_REFUSAL_EVENT_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "driverupgrade/cluster_writes.h"
#include "write/node_requests.h"

namespace driverupgrade::internal {

// nullopt for any outcome except a refusal that the API server would repeat. `sent` is completed.
std::optional<RecordEventParams> EventOfRefusal(const NodeRequests& sent, const std::string& reason, absl::Time now);

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_REFUSAL_EVENT_H_
