#include "write/send_requests.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace driverupgrade::internal {
namespace {

// Makes the call for a request, with one overload for each kind of request.
class Sender {
 public:
  Sender(const CallContext& context, ClusterWriter& cluster) : context_(context), cluster_(cluster) {}

  NodeAnswer operator()(const PatchNodeParams& params) const { return AnswerOf(cluster_.PatchNode(context_, params)); }
  NodeAnswer operator()(const EvictPodParams& params) const { return AnswerOf(cluster_.EvictPod(context_, params)); }
  NodeAnswer operator()(const DeletePodParams& params) const { return AnswerOf(cluster_.DeletePod(context_, params)); }
  NodeAnswer operator()(const CreateNodeMaintenanceParams& params) const {
    return AnswerOf(cluster_.CreateNodeMaintenance(context_, params));
  }
  NodeAnswer operator()(const PatchNodeMaintenanceParams& params) const {
    return AnswerOf(cluster_.PatchNodeMaintenance(context_, params));
  }
  NodeAnswer operator()(const DeleteNodeMaintenanceParams& params) const {
    return AnswerOf(cluster_.DeleteNodeMaintenance(context_, params));
  }

  NodeAnswer operator()(const CreateDeviceTaintRuleParams& params) const {
    return AnswerOf(cluster_.CreateDeviceTaintRule(context_, params));
  }
  NodeAnswer operator()(const PatchDeviceTaintRuleParams& params) const {
    return AnswerOf(cluster_.PatchDeviceTaintRule(context_, params));
  }
  NodeAnswer operator()(const DeleteDeviceTaintRuleParams& params) const {
    return AnswerOf(cluster_.DeleteDeviceTaintRule(context_, params));
  }

 private:
  const CallContext& context_;
  ClusterWriter& cluster_;
};

}  // namespace

void SendRequests(NodeRequests& requests, const CallContext& context, absl::Duration call_timeout,
                  ClusterWriter& cluster, const Clock& clock) {
  while (const NodeRequest* request = requests.Next()) {
    const absl::Time sent_at = clock.Now();
    const CallContext bounded{.deadline = std::min(context.deadline, sent_at + call_timeout), .stop = context.stop};
    NodeAnswer answer = std::visit(Sender(bounded, cluster), *request);
    requests.Take(std::move(answer), sent_at, clock.Now());
  }
}

}  // namespace driverupgrade::internal
