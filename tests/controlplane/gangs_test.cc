// Training jobs on a real control plane: the real scheduler restarts their pods on any node with room.
#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "audit_log.h"
#include "operator_program.h"
#include "policies.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::string_view kTogether = R"(
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec:
  driver:
    upgradePolicy:
      autoUpgrade: true
      maxParallelUpgrades: 0
      maxUnavailable: 2
      drain: {enable: true, timeoutSeconds: 60}
      rollout: {gangs: {mode: Together}}
)";

// Starts a job with a pod on each of two nodes. Only its first pods are marked, so their successors look like pods
// after the job's end.
void StartJob(const World& world, const std::string& job, const std::string& first, const std::string& second) {
  for (const std::string& node : {first, second}) {
    Workload work;
    work.name = job + "-on-" + node;
    work.node = node;
    world.Deploy(work);
    world.control_plane().admin().Must({"label", "pods", "--namespace=" + world.workload_ns(),
                                        "--selector=app=" + work.name, "jobset.sigs.k8s.io/jobset-name=" + job});
  }
}

// Returns when the node was cordoned, as text that sorts chronologically.
std::string CordonedAt(const std::vector<AuditedRequest>& requests, const std::string& node) {
  const auto cordon = std::find_if(requests.begin(), requests.end(), [&](const AuditedRequest& request) {
    return request.node && request.node->name == node && request.node->unschedulable;
  });
  return cordon == requests.end() ? "never" : cordon->answered;
}

std::string FirstEvictionOf(const std::vector<AuditedRequest>& requests, const std::string& job) {
  std::string first = "never";
  for (const AuditedRequest& request : requests) {
    if (request.resource == "pods/eviction" && request.name.starts_with(job + "-"))
      first = std::min(first, request.received);
  }
  return first;
}

TEST_CASE("B-8: no pod of a job is evicted before both of its nodes are cordoned, and idle nodes go first", "[gangs]") {
  World world(ControlPlane::Shared(), "gangs", 6);
  world.DeployDriver();
  const std::vector<std::string>& nodes = world.nodes();
  StartJob(world, "train", nodes[0], nodes[3]);
  StartJob(world, "tune", nodes[1], nodes[4]);
  const Policies policy(world.control_plane(), kTogether);
  AuditLog audit(world.control_plane().audit_log());
  world.ChangeDriver("driver:2");
  OperatorProgram gpu_operator(world.control_plane(), "gpu_operator", world.control_plane().operator_kubeconfig(),
                               {"--cluster-policy", "--ledger", "--namespace", world.driver_ns(), "--driver-labels",
                                "app=driver", "--validation-selector", ""});
  const bool done = Eventually(kRolloutLimit, [&] {
    const auto now = world.Nodes();
    return std::all_of(now.begin(), now.end(), [](const auto& node) {
      return node.second.state == "upgrade-done" && !node.second.unschedulable;
    });
  });
  INFO(gpu_operator.Log());
  REQUIRE(done);
  const std::vector<AuditedRequest>& requests = audit.Read();
  const auto cordoned = [&](std::size_t node) { return CordonedAt(requests, nodes[node]); };
  CHECK(std::max(cordoned(0), cordoned(3)) < FirstEvictionOf(requests, "train"));
  CHECK(std::max(cordoned(1), cordoned(4)) < FirstEvictionOf(requests, "tune"));
  CHECK(std::max(cordoned(2), cordoned(5)) < std::min({cordoned(0), cordoned(1), cordoned(3), cordoned(4)}));
}

}  // namespace
}  // namespace driverupgrade::e2e
