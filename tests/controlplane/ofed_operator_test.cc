// ofed_operator, alone and beside gpu_operator on the same nodes.
#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "json.h"
#include "metrics_page.h"
#include "ofed_driver.h"
#include "operator_program.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::chrono::seconds kRolloutLimit{90};
constexpr char kSafeLoad[] = "nvidia.com/ofed-driver-upgrade.driver-wait-for-safe-load";
constexpr char kWait[] = "network.nvidia.com/operator.mofed.wait";

constexpr std::string_view kGpuPolicy = R"(
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec: {driver: {upgradePolicy: {autoUpgrade: true, maxParallelUpgrades: 2, maxUnavailable: 100%}}}
)";

TEST_CASE("ofed_operator upgrades, loads safely, and keeps the wait label and the init container's configuration",
          "[operators]") {
  constexpr int kNodes = 3;
  World world(ControlPlane::Shared(), "ofed", kNodes);
  Workload workload;
  workload.replicas = kNodes;
  world.Deploy(workload);
  const OfedDriver ofed(world);
  OperatorProgram program = ofed.Start({"--metrics-address", "127.0.0.1:0"});
  const Kubectl& admin = world.control_plane().admin();

  const bool labelled = Eventually(kStepLimit, [&] { return ofed.Count(kWait, "false") == kNodes; });
  INFO(program.Log());
  REQUIRE(labelled);
  CHECK(Eventually(kStepLimit, [&] {
    const KubectlResult map = admin.Run({"get", "configmap", "ofed-init-container-config", "--namespace=" + ofed.ns(),
                                         R"(-ojsonpath={.data.config\.json})"});
    return map.out == R"({"safeDriverLoad":{"enable":true,"annotation":")" + std::string(kSafeLoad) + R"("}})";
  }));

  ofed.Change("mofed:2");
  CHECK(Eventually(kStepLimit, [&] { return ofed.Count(kWait, "true") > 0; }));
  const bool upgraded = Eventually(
      kRolloutLimit, [&] { return ofed.Count(kOfedState, "upgrade-done") == kNodes && NobodyIsCordoned(world); });
  INFO(program.Log());
  REQUIRE(upgraded);
  CHECK(Eventually(kStepLimit, [&] { return ofed.Count(kWait, "false") == kNodes; }));

  // The init container of a node that has booted waits until its node is evacuated.
  const std::string& node = world.nodes().front();
  const std::set<std::string> before = world.WorkloadPodsOn(node, "work");
  REQUIRE_FALSE(before.empty());
  admin.Must({"annotate", "node", node, std::string(kSafeLoad) + "=true"});
  CHECK(Eventually(kRolloutLimit, [&] {
    const NodeVersion now = world.Nodes().at(node);
    return now.annotations.count(kSafeLoad) == 0 && now.labels.at(kOfedState) == "upgrade-done" && !now.unschedulable;
  }));
  for (const std::string& pod : world.WorkloadPods()) CHECK(before.count(pod) == 0);
  const std::string events = admin.Must({"get", "events", "--namespace=default"});
  CHECK(events.find("OFEDDriverUpgrade") != std::string::npos);
  const std::string page = CheckedMetrics(world.control_plane(), program.Port());
  CHECK(page.find("driverupgrade_nodes{driver=\"nvidia.com/ofed\"") != std::string::npos);
  INFO(program.Log());
  CHECK(program.IsRunning());
}

TEST_CASE("Both drivers are upgraded on the same nodes at the same time by two processes", "[operators]") {
  constexpr int kNodes = 4;
  World world(ControlPlane::Shared(), "both", kNodes);
  world.DeployDriver();
  Workload workload;
  workload.replicas = kNodes;
  world.Deploy(workload);
  const OfedDriver ofed(world);
  world.control_plane().admin().Create(kGpuPolicy);
  OperatorProgram ofed_program = ofed.Start({"--metrics-address", "127.0.0.1:0"});
  OperatorProgram gpu_program(world.control_plane(), "gpu_operator", world.control_plane().operator_kubeconfig(),
                              {"--cluster-policy", "--namespace", world.driver_ns(), "--driver-labels", "app=driver",
                               "--metrics-address", "127.0.0.1:0"});
  world.ChangeDriver("driver:2", "500ms");
  ofed.Change("mofed:2");
  const bool done = Eventually(kRolloutLimit, [&] {
    const auto nodes = world.Nodes();
    const bool gpu =
        std::all_of(nodes.begin(), nodes.end(), [](const auto& entry) { return entry.second.state == "upgrade-done"; });
    return gpu && ofed.Count(kOfedState, "upgrade-done") == kNodes && NobodyIsCordoned(world);
  });
  INFO(gpu_program.Log() << ofed_program.Log());
  REQUIRE(done);
  for (const auto& [name, node] : world.Nodes()) {
    INFO(name);
    CHECK(node.annotations.count("driverupgrade/cordoned-by") == 0);
  }
  const std::string revision = world.NewestDriverRevision();
  for (const DriverPod& pod : world.DriverPods()) CHECK(pod.revision == revision);
  CheckedMetrics(world.control_plane(), gpu_program.Port());
  CheckedMetrics(world.control_plane(), ofed_program.Port());
}

}  // namespace
}  // namespace driverupgrade::e2e
