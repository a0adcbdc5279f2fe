#include "write/nodes_under_way.h"

#include "decide/attempt_log.h"

namespace driverupgrade::internal {

NodeRequests NodesUnderWay::Begin(const NodePlan& plan, AttemptLog& log, absl::Time now) {
  if (plan.patch) {
    log.PatchSent({.name = plan.node, .uid = plan.uid, .resource_version = plan.resource_version}, *plan.patch, now);
  }
  nodes_.insert(plan.node);
  return NodeRequests(plan);
}

NodeOutcome NodesUnderWay::End(const NodeRequests& requests, AttemptLog& log) {
  requests.TellLog(log);
  nodes_.erase(requests.plan().node);
  return requests.outcome();
}

}  // namespace driverupgrade::internal
