// Tests an upgrade that is blocked on one node.
#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "gpu_operator.h"
#include "rollout_expectations.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr int kNodes = 4;
constexpr int kInProgressMax = 2;

constexpr std::string_view kPolicy = R"(
autoUpgrade: true
maxParallelUpgrades: 2
maxUnavailable: 2
podDeletion: {force: false, timeoutSeconds: 5, deleteEmptyDir: false}
drain: {enable: true, force: false, timeoutSeconds: 5, deleteEmptyDir: false}
)";

bool Names(const std::string& text, const std::string& budget, const std::string& pod) {
  return text.find(budget) != std::string::npos && text.find(pod) != std::string::npos;
}

TEST_CASE("A node whose disruption budget allows no eviction fails at the deadline, and the other nodes continue",
          "[upgrade]") {
  World world(ControlPlane::Shared(), "blocked", kNodes);
  world.DeployDriver();
  const std::string blocked = world.nodes()[1];
  Workload workload;
  workload.name = "untouchable";
  workload.node = blocked;
  workload.unavailable_max = 0;
  world.Deploy(workload);
  Rollout rollout(world);
  const std::string pod = *rollout.workload_pods_before.begin();
  world.ChangeDriver("driver:2");

  const OperatorResult result = GpuOperator(world, kPolicy).Run();
  INFO(result.output());
  CHECK(result.exit_code == 1);
  CHECK(Names(result.output(), workload.name, pod));

  for (const auto& [name, node] : world.Nodes()) {
    INFO(name);
    CHECK(node.state == (name == blocked ? "upgrade-failed" : "upgrade-done"));
    CHECK(node.unschedulable == (name == blocked));
  }
  CHECK(world.WorkloadPods() == rollout.workload_pods_before);
  ExpectBudgetsKept(rollout, kInProgressMax, kInProgressMax);
  ExpectWitnessesAgree(rollout);

  const std::vector<NodeEvent> events = world.UpgradeEvents();
  CHECK(std::any_of(events.begin(), events.end(), [&](const NodeEvent& event) {
    return event.node == blocked && event.type == "Warning" && Names(event.message, workload.name, pod);
  }));
}

constexpr std::string_view kPatient = R"(
autoUpgrade: true
maxParallelUpgrades: 2
maxUnavailable: 2
drain: {enable: true, timeoutSeconds: 3000}
)";

TEST_CASE("Only a node that has been stuck for a minute shows its gate", "[upgrade]") {
  World world(ControlPlane::Shared(), "waiting-for", kNodes);
  world.DeployDriver();
  const std::string blocked = world.nodes()[1];
  Workload workload;
  workload.name = "untouchable";
  workload.node = blocked;
  workload.unavailable_max = 0;
  world.Deploy(workload);
  const std::string pod = *world.WorkloadPods().begin();
  AuditLog audit(world.control_plane().audit_log());
  world.ChangeDriver("driver:2");

  GpuOperator gpu_operator(world, kPatient);
  gpu_operator.set_timeout(std::chrono::seconds(300));
  const std::unique_ptr<Process> process = gpu_operator.Start();
  const std::string key(kWaitingFor);
  REQUIRE(Eventually(std::chrono::seconds(150), [&] { return world.Nodes().at(blocked).annotations.contains(key); }));
  const std::map<std::string, NodeVersion> nodes = world.Nodes();
  const std::string& shown = nodes.at(blocked).annotations.at(key);
  INFO(shown);
  CHECK(shown.starts_with("DisruptionBudget: "));
  CHECK(Names(shown, workload.name, pod));
  for (const auto& [name, node] : nodes) {
    INFO(name);
    CHECK(node.annotations.contains(key) == (name == blocked));
  }
  // One patch shows the gate. No second patch follows while the gate stays the same.
  const auto is_shown = [&] { return CountShownGates(audit, blocked) > 0; };
  CHECK(Eventually(std::chrono::seconds(10), is_shown));
  Eventually(std::chrono::seconds(20), [] { return false; });
  for (const std::string& name : world.nodes()) {
    INFO(name);
    CHECK(CountShownGates(audit, name) == (name == blocked ? 1 : 0));
  }
}

}  // namespace
}  // namespace driverupgrade::e2e
