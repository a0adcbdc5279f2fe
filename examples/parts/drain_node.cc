// Drains one node of a real cluster: cordons it, and evicts its pods as their disruption budgets allow.
//
//     drain_node <kubeconfig> <node>
#include <cstdio>
#include <memory>
#include <string>

#include "absl/time/clock.h"
#include "driverupgrade/clock.h"
#include "driverupgrade/drain_manager.h"
#include "driverupgrade/kubernetes/curl_transport.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/rest_cluster.h"

using namespace driverupgrade;

namespace {

absl::StatusOr<std::shared_ptr<ClusterFacade>> Connect(const std::string& kubeconfig) {
  const auto config = KubeConfig::LoadFile(kubeconfig);
  if (!config.ok()) return config.status();
  const auto transport = MakeCurlTransport(*config, {});
  if (!transport.ok()) return transport.status();
  return MakeRestCluster(MakeRetryingTransport(*transport));
}

// The patch is refused if another client has changed the node since it was read.
absl::Status Cordon(ClusterFacade& cluster, const CallContext& context, const std::string& name) {
  const auto node = cluster.GetNode(context, {.name = name});
  if (!node.ok() || node->unschedulable) return node.status();
  const PatchNodeParams patch{
      .name = name, .uid = node->uid, .resource_version = node->resource_version, .unschedulable = true};
  return cluster.PatchNode(context, patch).status();
}

// Reads the node once, and sends the evictions that are due. Returns the reason why a pod is still on the node; empty
// if no pod is left.
absl::StatusOr<std::string> Evict(ClusterFacade& cluster, const CallContext& context, const std::string& name,
                                  NodeAttempts& attempts) {
  const auto node = cluster.GetNode(context, {.name = name});
  if (!node.ok()) return node.status();
  const auto pods = cluster.ListPods(context, {.node_name = name});
  if (!pods.ok()) return pods.status();

  const DrainManager drains;
  const NodeView view{.node = *node, .pods = *pods, .attempts = attempts};
  const PodSelection selection = drains.Select(*view.pods, DrainPolicy{});
  if (!selection.blocked.empty()) {
    const PodSelection::Blocked& first = selection.blocked.front();
    return absl::FailedPreconditionError("pod " + first.pod->ref.ToString() + " " + first.why);
  }
  const EvictionRound round = drains.Pace(selection.evict, view, absl::Now());
  for (const PodRef& pod : round.evict) {
    const auto answer = cluster.EvictPod(context, {.pod = pod});
    attempts.PodAnswered(pod.uid, AttemptOf(answer, absl::Now()));
  }
  return round.gate.detail;
}

absl::Status Drain(ClusterFacade& cluster, const CallContext& context, const std::string& name) {
  if (absl::Status cordoned = Cordon(cluster, context, name); !cordoned.ok()) return cordoned;
  NodeAttempts attempts;
  std::string shown;
  while (true) {
    const auto remaining = Evict(cluster, context, name, attempts);
    if (!remaining.ok() || remaining->empty()) return remaining.status();
    if (*remaining != shown) std::printf("%s\n", remaining->c_str());
    shown = *remaining;
    SystemClock()->SleepFor(absl::Seconds(1), context.stop);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto cluster = Connect(argv[1]);
  const absl::Status drained =
      cluster.ok() ? Drain(**cluster, {.deadline = absl::Now() + absl::Minutes(10)}, argv[2]) : cluster.status();
  std::printf("%s\n", drained.ok() ? "drained" : std::string(drained.message()).c_str());
  return drained.ok() ? 0 : 1;
}
