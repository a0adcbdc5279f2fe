// The nodes whose requests have started, and the entries that they add to the log before sending and after the results.
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

// Does not send or wait: the caller carries out the requests between Begin and End.
//
//     NodeRequests requests = under_way.Begin(plan, log, now);
//     // while (requests.Next()) ... requests.Take(...), anywhere
//     NodeOutcome outcome = under_way.End(requests, log);
class NodesUnderWay {
 public:
  // `plan.node` must not be in progress. A patch is logged now, because it may be applied even if no response ever
  // arrives.
  NodeRequests Begin(const NodePlan& plan, AttemptLog& log, absl::Time now);
  bool Contains(const std::string& node) const { return nodes_.contains(node); }
  std::size_t size() const { return nodes_.size(); }
  // `requests` must come from Begin, and must be completed.
  NodeOutcome End(const NodeRequests& requests, AttemptLog& log);

 private:
  std::set<std::string> nodes_ = {};  // by name
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_NODES_UNDER_WAY_H_
