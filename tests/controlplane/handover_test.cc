// Tests that our operator completes an upgrade that the Go library has started. kubectl sets the nodes to the states in
// which the library leaves them.
#include <algorithm>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "gpu_operator.h"
#include "rollout_expectations.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::string_view kPolicy = R"(
autoUpgrade: true
maxParallelUpgrades: 3
maxUnavailable: 100%
podDeletion: {force: false, timeoutSeconds: 300, deleteEmptyDir: false}
drain: {enable: true, force: false, timeoutSeconds: 300, deleteEmptyDir: false}
)";

constexpr char kValidationStart[] = "nvidia.com/gpu-driver-upgrade-validation-start-time";

// Imitates the Go library, which stores no cordon owner and cordons the node before it sets the label.
void LeaveIn(const World& world, const std::string& node, const std::string& state) {
  world.Cordon(node);
  world.control_plane().admin().Must({"label", "node", node, kStateLabel + ("=" + state)});
}

void LeaveInValidation(const World& world, const std::string& node) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto start = std::chrono::duration_cast<std::chrono::seconds>(now) - std::chrono::seconds(30);
  LeaveIn(world, node, "validation-required");
  world.control_plane().admin().Must(
      {"annotate", "node", node, kValidationStart + ("=" + std::to_string(start.count()))});
}

// Restarts the driver of `node` as the Go library does.
void RestartDriver(const World& world, const std::string& node) {
  world.control_plane().admin().Must(
      {"delete", "pod", world.DriverPodOn(node).name, "--namespace=" + world.driver_ns()});
  REQUIRE(Eventually(kStepLimit, [&] {
    const std::vector<DriverPod> pods = world.DriverPods();
    return std::any_of(pods.begin(), pods.end(), [&](const DriverPod& pod) {
      return pod.node == node && pod.is_ready && pod.revision == world.NewestDriverRevision();
    });
  }));
}

// Expects that the upgrade continues from the state in which the node was left, and that the node stays cordoned until
// it is done.
void ExpectTakenUp(Rollout& rollout, const std::string& node, const std::vector<std::string>& states) {
  INFO(node);
  CHECK(rollout.watch.Read().StatesOf(node) == states);
  for (const NodeVersion& version : rollout.watch.Read().VersionsOf(node)) {
    if (IsInProgress(version.state)) CHECK(version.unschedulable);
  }
}

TEST_CASE("Nodes that the Go library left in three states are finished, and no label of either operator is left",
          "[stages]") {
  World world(ControlPlane::Shared(), "handover", 3);
  const std::string draining = world.nodes()[0];
  const std::string restarting = world.nodes()[1];
  const std::string validating = world.nodes()[2];
  world.DeployDriver();
  world.DeployHeldValidator();
  world.ReleaseValidator(draining);
  world.ReleaseValidator(restarting);
  Workload workload;
  workload.node = draining;
  workload.replicas = 2;
  world.Deploy(workload);
  const std::set<std::string> pods = world.WorkloadPodsOn(draining, "work");
  Rollout rollout(world);
  world.ChangeDriver("driver:2");
  RestartDriver(world, validating);
  const std::string validated_pod = world.DriverPodOn(validating).name;
  LeaveIn(world, draining, "drain-required");
  LeaveIn(world, restarting, "pod-restart-required");
  LeaveInValidation(world, validating);

  GpuOperator gpu_operator(world, kPolicy);
  // Validation pods count even if they were ready before the driver pod, as they do in the Go library. The operator
  // must not restart them here, because the new pods would be held.
  gpu_operator.set_more_options({"--validation-selector", "app=validator", "--early-validation", "Count"});
  const std::unique_ptr<Process> process = gpu_operator.Start();
  for (const std::string& node : {draining, restarting}) REQUIRE(AwaitState(world, node, "upgrade-done"));
  CHECK(world.Nodes().at(validating).state == "validation-required");
  world.ReleaseValidator(validating);
  const OperatorResult result = gpu_operator.Finish(*process);
  INFO(result.output());
  REQUIRE(result.exit_code == 0);

  ExpectEveryNodeUpgraded(rollout);
  ExpectWitnessesSawTheEnd(rollout);
  // If the validation pod is ready, the patch that ends the upgrade skips validation-required.
  ExpectTakenUp(rollout, draining, {"", "drain-required", "pod-restart-required", "upgrade-done"});
  ExpectTakenUp(rollout, restarting, {"", "pod-restart-required", "upgrade-done"});
  ExpectTakenUp(rollout, validating, {"", "validation-required", "upgrade-done"});
  CHECK(pods.size() == 2);
  for (const std::string& pod : pods) CHECK(FindWrite(rollout.audit, "create", "pods/eviction", pod).has_value());
  CHECK(world.DriverPodOn(validating).name == validated_pod);
}

}  // namespace
}  // namespace driverupgrade::e2e
