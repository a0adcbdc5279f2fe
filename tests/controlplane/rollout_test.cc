// Measures the cost of a larger rollout, and compares the cost with the minimum that this cluster allows.
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <string>

#include "gpu_operator.h"
#include "rollout_expectations.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr int kNodes = 50;
constexpr int kInProgressMax = 10;
// Requests per node: four patches to the node, a list of its pods, and the deletion of its driver pod. Requests at the
// start: the lists before the first watches.
constexpr int kRequestsPerNode = 6;
constexpr int kRequestsAtStart = 14;

constexpr std::string_view kPolicy = R"(
autoUpgrade: true
maxParallelUpgrades: 10
maxUnavailable: 100%
podDeletion: {force: false, timeoutSeconds: 60, deleteEmptyDir: false}
drain: {enable: true, force: false, timeoutSeconds: 60, deleteEmptyDir: false}
)";

// Prints the result of this run, and two earlier results for comparison. The earlier results were measured once in the
// same world, on a machine with 2 cores. The first is from a program that makes the fewest possible calls and ignores
// the policy; the second is from the Go library in a loop.
void PrintComparison(double seconds, const std::vector<AuditedRequest>& requests) {
  const double per_node = static_cast<double>(requests.size()) / kNodes;
  std::cout << std::fixed << std::setprecision(1) << "50 nodes, 10 at a time    time      requests per node\n"
            << "  this run               " << std::setw(6) << seconds << " s   " << std::setw(6) << per_node << "\n"
            << "  the least possible        3.3 s      4.5\n"
            << "  the Go library           29.0 s    117.0\n";
}

TEST_CASE("A driver is upgraded on fifty nodes, ten at a time", "[rollout]") {
  World world(ControlPlane::Shared(), "fifty", kNodes);
  world.DeployDriver();
  Workload workload;
  workload.replicas = kNodes;
  world.Deploy(workload);
  Rollout rollout(world);
  world.ChangeDriver("driver:2");

  const OperatorResult result = GpuOperator(world, kPolicy).Run();
  INFO(result.output());
  REQUIRE(result.exit_code == 0);
  ExpectEveryNodeUpgraded(rollout);
  ExpectBudgetsKept(rollout, kInProgressMax, kNodes);
  ExpectWitnessesAgree(rollout);
  ExpectUsualRequests(rollout, kRequestsPerNode, kRequestsAtStart);
  PrintComparison(result.seconds, rollout.audit.Read());
  PrintRequests(std::cout, rollout.audit.Read(), kNodes);
}

bool AllDone(const World& world) {
  const auto nodes = world.Nodes();
  return std::all_of(nodes.begin(), nodes.end(), [](const auto& node) { return node.second.state == "upgrade-done"; });
}

TEST_CASE("While nothing needs to be done on fifty nodes, the operator sends only watches and Lease renewals",
          "[rollout]") {
  World world(ControlPlane::Shared(), "idle", kNodes);
  world.DeployDriver();
  Rollout rollout(world);
  const GpuOperator gpu_operator(world, kPolicy);
  const std::unique_ptr<Process> service = gpu_operator.Start("--leader-elect");
  REQUIRE(Eventually(std::chrono::seconds(60), [&] { return AllDone(world); }));
  Eventually(std::chrono::seconds(5), [] { return false; });  // gives Events and watch events time to arrive

  const std::size_t before = rollout.audit.Read().size();
  Eventually(std::chrono::seconds(60), [] { return false; });
  CHECK(service->IsRunning());
  const std::vector<AuditedRequest>& requests = rollout.audit.Read();
  CHECK(requests.size() > before + 10);  // the operator is alive: it renews its Lease every two seconds
  for (std::size_t i = before; i < requests.size(); ++i) {
    INFO(requests[i].verb << " " << requests[i].resource);
    CHECK((requests[i].verb == "watch" || requests[i].resource == "leases"));
  }
}

}  // namespace
}  // namespace driverupgrade::e2e
