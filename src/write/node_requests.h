// The requests of one node's plan, one after the other (arch-A12).
#ifndef DRIVERUPGRADE_SRC_WRITE_NODE_REQUESTS_H_
#define DRIVERUPGRADE_SRC_WRITE_NODE_REQUESTS_H_

#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "driverupgrade/attempt_log.h"
#include "driverupgrade/call_context.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/cluster_facade.h"
#include "driverupgrade/observer.h"
#include "driverupgrade/plan.h"

namespace driverupgrade::inline v1::internal {

// Sent on any one thread; what was asked and answered is kept, and told to the log on the thread that it belongs to.
class NodeRequests {
 public:
  // `cluster` and `clock` outlive it. `call_timeout` is for each call, within the deadline of `context`.
  NodeRequests(CallContext context, NodePlan plan, ClusterWriter& cluster, Clock& clock, absl::Duration call_timeout);

  // Returns when all are answered, or one was not acknowledged: what follows it is dropped.
  void Send();

  // After Send.
  const NodeOutcome& outcome() const { return outcome_; }
  void TellLog(AttemptLog& log) const;
  // Whether what the plan's Events tell has happened.
  bool Acknowledged() const { return outcome_.patched || (!plan_.patch && outcome_.status.ok()); }
  // The pod of `plan().remove` whose deletion was the failure.
  const std::optional<PodRef>& undeleted() const { return undeleted_; }

  const CallContext& context() const { return context_; }
  const NodePlan& plan() const { return plan_; }

 private:
  absl::Status SendAll();
  absl::Status Confirm(const NodeMaintenance& object);
  absl::Status Patch();
  absl::Status Evict(const PodRef& pod);
  absl::Status Delete(const PodRef& pod);
  absl::Status Ask(const MaintenanceCall& call);
  void NotePatch(Outcome outcome, std::string message);
  void NotePod(const PodRef& pod, absl::Time sent, PodAttempt answer);
  CallContext Bounded() const;

  const CallContext context_;
  const NodePlan plan_;
  ClusterWriter& cluster_;
  Clock& clock_;
  const absl::Duration call_timeout_;
  NodeOutcome outcome_ = {};
  std::optional<PodRef> undeleted_ = {};
  std::vector<std::function<void(AttemptLog&)>> notes_ = {};
};

}  // namespace driverupgrade::inline v1::internal

#endif  // DRIVERUPGRADE_SRC_WRITE_NODE_REQUESTS_H_
