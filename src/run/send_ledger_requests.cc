#include "run/send_ledger_requests.h"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include "base/status_macros.h"

namespace driverupgrade::internal {
namespace {

absl::StatusOr<std::vector<std::string>> UidsOf(const absl::StatusOr<std::vector<Node>>& nodes) {
  DRIVERUPGRADE_RETURN_IF_ERROR(nodes.status());
  std::vector<std::string> uids;
  for (const Node& node : *nodes) uids.push_back(node.uid);
  return uids;
}

}  // namespace

absl::StatusOr<ConfigMap> Send(ClusterFacade& cluster, const CallContext& context, const LedgerRequest& request) {
  if (const auto* created = std::get_if<ConfigMap>(&request)) return cluster.CreateConfigMap(context, *created);
  if (const auto* patch = std::get_if<PatchConfigMapParams>(&request)) return cluster.PatchConfigMap(context, *patch);
  return cluster.GetConfigMap(context, *std::get_if<GetConfigMapParams>(&request));
}

void SendLedgerRequests(LedgerSteps& steps, const CallContext& context, absl::Duration call_timeout,
                        ClusterFacade& cluster, const Clock& clock) {
  while (const LedgerRequest* request = steps.Next()) {
    const CallContext bounded{.deadline = std::min(context.deadline, clock.Now() + call_timeout), .stop = context.stop};
    if (const auto* list = std::get_if<ListNodesParams>(request)) {
      steps.TakeUids(UidsOf(cluster.ListNodes(bounded, *list)));
    } else {
      const absl::StatusOr<ConfigMap> answer = Send(cluster, bounded, *request);
      steps.Take(answer, clock.Now());
    }
  }
}

}  // namespace driverupgrade::internal
