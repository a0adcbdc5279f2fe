// Evicts the pods on a node that use the driver's device, so that the driver can be replaced. All other pods stay.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "driverupgrade/pod_manager.h"
#include "driverupgrade/testing/builders.h"

using namespace driverupgrade;

namespace {

bool UsesDevice(const Pod& pod) {
  return std::find(pod.resource_names.begin(), pod.resource_names.end(), "example.com/fpga") !=
         pod.resource_names.end();
}

absl::StatusOr<NodeView> Read(ClusterFacade& cluster, const std::string& name) {
  const auto node = cluster.GetNode({}, {.name = name});
  if (!node.ok()) return node.status();
  const auto pods = cluster.ListPods({}, {.node_name = name});
  if (!pods.ok()) return pods.status();
  NodeView view{.node = *node, .pods = *pods};
  for (const Pod& pod : *pods) {
    if (UsesDevice(pod)) view.pods_using_driver.insert(pod.ref.uid);
  }
  return view;
}

}  // namespace

int main() {
  const auto clock = std::make_shared<testing::FakeClock>();
  testing::FakeCluster cluster(clock);
  cluster.AddNode(testing::NodeBuilder("fpga-1").Cordoned().Build());
  cluster.AddPod(testing::PodBuilder("team-a", "web").OnNode("fpga-1").OwnedByReplicaSet("web").Build());
  cluster.AddPod(
      testing::PodBuilder("team-a", "job").OnNode("fpga-1").OwnedByJob("job").WithResource("example.com/fpga").Build());

  const DrainManager drains;
  NodeAttempts attempts;
  for (EvictionRound round; !round.finished; cluster.Advance(absl::Seconds(1))) {
    auto view = Read(cluster, "fpga-1");
    if (!view.ok()) return 1;
    view->attempts = attempts;
    const PodSelection users = PodManager().SelectForDeletion(*view, PodDeletionPolicy{}, drains);
    if (!users.blocked.empty()) return 1;
    round = drains.Pace(users.evict, *view, clock->Now());
    for (const PodRef& pod : round.evict) {
      std::printf("evict %s\n", pod.ToString().c_str());
      attempts.PodAnswered(pod.uid, AttemptOf(cluster.EvictPod({}, {.pod = pod}), clock->Now()));
    }
  }
  for (const Pod& pod : cluster.pods_on("fpga-1")) std::printf("stays: %s\n", pod.ref.ToString().c_str());
}
