#include "write/send_requests.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace driverupgrade::internal {
namespace {

// One call for each kind of request.
class Sender {
 public:
  Sender(const CallContext& context, ClusterWriter& cluster) : context_(context), cluster_(cluster) {}

  NodeAnswer operator()(const PatchNodeParams& params) const {
    absl::StatusOr<Node> node = cluster_.PatchNode(context_, params);
    if (!node.ok()) return {.status = node.status()};
    return {.node = *std::move(node)};
  }
  NodeAnswer operator()(const EvictPodParams& params) const {
    absl::StatusOr<EvictionAnswer> eviction = cluster_.EvictPod(context_, params);
    if (!eviction.ok()) return {.status = eviction.status()};
    return {.eviction = *std::move(eviction)};
  }
  NodeAnswer operator()(const DeletePodParams& params) const {
    return {.status = cluster_.DeletePod(context_, params)};
  }
  NodeAnswer operator()(const CreateNodeMaintenanceParams& params) const {
    return {.status = cluster_.CreateNodeMaintenance(context_, params).status()};
  }
  NodeAnswer operator()(const PatchNodeMaintenanceParams& params) const {
    return {.status = cluster_.PatchNodeMaintenance(context_, params).status()};
  }
  NodeAnswer operator()(const DeleteNodeMaintenanceParams& params) const {
    return {.status = cluster_.DeleteNodeMaintenance(context_, params)};
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
