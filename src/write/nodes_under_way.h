// The nodes whose requests have begun, and what goes into the log before they are sent and after they are answered.
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

// Neither sends nor waits: whoever has threads carries the requests between Begin and End.
//
//     NodeRequests requests = under_way.Begin(plan, log, now);
//     // while (requests.Next()) ... requests.Take(...), anywhere
//     NodeOutcome outcome = under_way.End(requests, log);
class NodesUnderWay {
 public:
  // `plan.node` is not under way. A patch goes into the log now: it may be applied although no answer ever comes.
  NodeRequests Begin(const NodePlan& plan, AttemptLog& log, absl::Time now);
  bool Contains(const std::string& node) const { return nodes_.contains(node); }
  std::size_t size() const { return nodes_.size(); }
  // `requests` are those of Begin, and have no Next.
  NodeOutcome End(const NodeRequests& requests, AttemptLog& log);

 private:
  std::set<std::string> nodes_ = {};  // by name
};

}  // namespace driverupgrade::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_NODES_UNDER_WAY_H_
