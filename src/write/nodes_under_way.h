// Tracks the nodes whose requests are in progress, and records their requests and results in the attempt log.
#ifndef DRIVERUPGRADE_SRC_WRITE_NODES_UNDER_WAY_H_
#define DRIVERUPGRADE_SRC_WRITE_NODES_UNDER_WAY_H_

#include <cstddef>
#include <set>
#include <string>

#include "absl/time/time.h"
#include "decide/attempt_log.h"
#include "driverupgrade/cluster_snapshot.h"
#include "driverupgrade/plan.h"
#include "write/node_requests.h"

namespace driverupgrade::internal {

// Neither sends requests nor waits: the caller carries out the requests between Begin and End.
//
//     NodeRequests requests = under_way.Begin(plan, log, now);
//     // while (requests.Next()) ... requests.Take(...), anywhere
//     NodeOutcome outcome = under_way.End(requests, log);
class NodesUnderWay {
 public:
  // Logs a patch immediately, because the server may apply it even if no response arrives. No requests of `plan.node`
  // may be in progress.
  NodeRequests Begin(const NodePlan& plan, AttemptLog& log, absl::Time now);
  bool Contains(const std::string& node) const { return nodes_.contains(node); }
  std::size_t size() const { return nodes_.size(); }
  // Records the results, and returns the outcome. `requests` must come from Begin, and must be completed.
  NodeOutcome End(const NodeRequests& requests, AttemptLog& log);

 private:
  std::set<std::string> nodes_ = {};  // by name
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_NODES_UNDER_WAY_H_
