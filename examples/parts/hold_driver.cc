// Holds a driver back until the pods that use the driver's device have left the node.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "driverupgrade/safe_load_manager.h"
#include "driverupgrade/testing/builders.h"

using namespace driverupgrade;

namespace {

// Runs in the init container of the driver pod, which then waits until the annotation has been removed.
absl::Status RequestSafeLoad(ClusterFacade& cluster, const DriverIdentity& identity, const Node& node) {
  const PatchNodeParams patch{.name = node.name,
                              .uid = node.uid,
                              .resource_version = node.resource_version,
                              .annotations = {{identity.SafeLoadAnnotation(), "true"}}};
  return cluster.PatchNode({}, patch).status();
}

bool UsesDevice(const Pod& pod) {
  return !IsFinished(pod) && std::find(pod.resource_names.begin(), pod.resource_names.end(), "example.com/fpga") !=
                                 pod.resource_names.end();
}

// Runs in the operator, periodically. The node must be cordoned, so that no new pod arrives.
absl::Status LetLoadIfEvacuated(ClusterFacade& cluster, const SafeLoadManager& safe_load, const Node& node) {
  if (!safe_load.IsWaiting(node)) return absl::OkStatus();
  const auto pods = cluster.ListPods({}, {.node_name = node.name});
  if (!pods.ok()) return pods.status();
  const auto user = std::find_if(pods->begin(), pods->end(), UsesDevice);
  if (user != pods->end()) return absl::UnavailableError(user->ref.ToString() + " uses the device");
  return cluster.PatchNode({}, safe_load.Unblocking(node)).status();
}

}  // namespace

int main() {
  testing::FakeCluster cluster(std::make_shared<testing::FakeClock>());
  const Node added = cluster.AddNode(testing::NodeBuilder("fpga-1").Cordoned().Build());
  cluster.AddPod(testing::PodBuilder("team-a", "job").OnNode("fpga-1").WithResource("example.com/fpga").Build());

  const auto identity = DriverIdentity::Create("example.com", "fpga");
  const SafeLoadManager safe_load(*identity);
  if (!RequestSafeLoad(cluster, *identity, added).ok()) return 1;
  while (safe_load.IsWaiting(*cluster.node("fpga-1"))) {
    const absl::Status round = LetLoadIfEvacuated(cluster, safe_load, *cluster.node("fpga-1"));
    std::printf("%s\n", round.ok() ? "the driver may load" : std::string(round.message()).c_str());
    cluster.RemovePod("team-a", "job");
  }
}
