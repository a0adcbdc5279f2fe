// Tests policy changes in the middle of an upgrade by gpu_operator: a policy is deleted, or another policy or version
// takes over.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "json.h"
#include "operator_program.h"
#include "policies.h"
#include "rollout_expectations.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

TEST_CASE(
    "If a ClusterPolicy is deleted during an upgrade, Freeze leaves its nodes unchanged and Release releases them",
    "[operators]") {
  World world(ControlPlane::Shared(), "deleted", 2);
  world.DeployDriver();
  const Policies policies(world.control_plane(), kClusterPolicy);
  const auto count = [&](bool NodeVersion::*flag) {
    const std::map<std::string, NodeVersion> nodes = world.Nodes();
    return std::count_if(nodes.begin(), nodes.end(), [&](const auto& node) { return node.second.*flag; });
  };
  {
    const OperatorProgram program = Start(world, {"--on-delete", "Freeze"});
    world.ChangeDriverAndHold("driver:2");
    const bool under_way = Eventually(kRolloutLimit, [&] { return CountInState(world, "pod-restart-required") == 1; });
    INFO(program.Log());
    REQUIRE(under_way);
    world.control_plane().admin().Must({"delete", "clusterpolicy", "cluster-policy"});
    CHECK(
        Eventually(kStepLimit, [&] { return program.Log().find("no ClusterPolicy in effect") != std::string::npos; }));
    CHECK(CountInState(world, "pod-restart-required") == 1);
    CHECK(count(&NodeVersion::unschedulable) == 1);
  }
  // The policy was deleted while this program was not running.
  OperatorProgram program = Start(world);
  CHECK(Eventually(kStepLimit, [&] { return program.Log().find("nodes released") != std::string::npos; }));
  INFO(program.Log());
  CHECK(CountInState(world, "") == 2);
  CHECK(count(&NodeVersion::unschedulable) == 0);
  CHECK(program.IsRunning());
}

// Counts the nodes that are cordoned and in pod-restart-required. They stay in this state as long as their new driver
// pods are held, because held pods do not become Ready.
int CountHeld(const World& world) {
  int count = 0;
  for (const auto& [_, node] : world.Nodes()) count += node.state == "pod-restart-required" && node.unschedulable;
  return count;
}

void LetDriversStart(const World& world) {
  for (const DriverPod& pod : world.DriverPods()) {
    if (pod.is_held) world.Release(world.driver_ns(), pod.name);
  }
}

bool AwaitDriversDone(const World& world, int count) {
  return Eventually(kRolloutLimit, [&] {
    LetDriversStart(world);
    return CountInState(world, "upgrade-done") == count;
  });
}

bool IsGivenBack(const NodeVersion& node) { return node.state.empty() && !node.unschedulable; }

// Sets a label on the first `count` nodes.
void SelectFirst(const World& world, int count, const std::string& label) {
  for (int i = 0; i < count; ++i) {
    world.control_plane().admin().Must({"label", "node", world.nodes()[static_cast<std::size_t>(i)], label});
  }
}

// Expects that the node was not released between its driver restart and the end of its upgrade. During this time, the
// node must always have a state label, and must be cordoned in every state except uncordon-required.
void ExpectNeverGivenBack(Rollout& rollout, const std::string& node) {
  bool under_way = false;
  for (const NodeVersion& version : rollout.watch.Read().VersionsOf(node)) {
    under_way = version.state == "pod-restart-required" || (under_way && version.state != "upgrade-done");
    INFO(node << " " << version.version << " " << version.state);
    if (under_way && version.state != "uncordon-required") CHECK(version.unschedulable);
    if (under_way) CHECK_FALSE(version.state.empty());
  }
}

constexpr std::string_view kAllAtOnce = R"(
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec: {driver: {upgradePolicy: {autoUpgrade: true, maxParallelUpgrades: 0, maxUnavailable: 100%}}}
)";

TEST_CASE(
    "If an NVIDIADriver is deleted during an upgrade, its nodes are released, and nodes of another NVIDIADriver "
    "continue",
    "[operators]") {
  World world(ControlPlane::Shared(), "driver-gone", 3);
  world.DeployDriver();
  SelectFirst(world, 2, "pool=a");
  const std::string& kept = world.nodes()[2];
  world.control_plane().admin().Must({"label", "node", kept, "pool=b"});
  const Policies policies(world.control_plane(), kNvidiaDrivers);
  const Kubectl& admin = world.control_plane().admin();
  Rollout rollout(world);
  world.ChangeDriverAndHold("driver:2");
  OperatorProgram program = Start(world, {"--on-delete", "Release"});
  const bool under_way = Eventually(kRolloutLimit, [&] { return CountHeld(world) == 3; });
  INFO(program.Log());
  REQUIRE(under_way);
  admin.Must({"delete", "nvidiadriver", "a"});
  CHECK(Eventually(kStepLimit, [&] {
    const auto nodes = world.Nodes();
    return IsGivenBack(nodes.at(world.nodes()[0])) && IsGivenBack(nodes.at(world.nodes()[1]));
  }));
  CHECK(Eventually(kStepLimit, [&] { return program.Log().find("msg=\"nodes released\"") != std::string::npos; }));
  CHECK(CountHeld(world) == 1);
  CHECK(world.Nodes().at(world.nodes()[0]).labels.count("nvidia.com/gpu-operator.driver.owner") == 0);
  CHECK(AwaitDriversDone(world, 1));
  ExpectNeverGivenBack(rollout, kept);
  CHECK_FALSE(world.Nodes().at(kept).unschedulable);

  // Deletes the last policy. No engine is left afterwards, but the node must still be released.
  world.ChangeDriverAndHold("driver:3");
  REQUIRE(Eventually(kRolloutLimit, [&] { return CountHeld(world) == 1; }));
  admin.Must({"delete", "nvidiadrivers", "--all"});
  CHECK(Eventually(kStepLimit, [&] { return IsGivenBack(world.Nodes().at(kept)); }));
  CHECK(program.IsRunning());
}

TEST_CASE("NVIDIADrivers that replace a ClusterPolicy during an upgrade finish the upgrade on their nodes",
          "[operators]") {
  World world(ControlPlane::Shared(), "to-drivers", 3);
  world.DeployDriver();
  SelectFirst(world, 2, "pool=a");
  const Policies policies(world.control_plane(), kAllAtOnce);
  const Kubectl& admin = world.control_plane().admin();
  Rollout rollout(world);
  world.ChangeDriverAndHold("driver:2");
  OperatorProgram program = Start(world);
  const bool under_way = Eventually(kRolloutLimit, [&] { return CountHeld(world) == 3; });
  INFO(program.Log());
  REQUIRE(under_way);
  admin.Create(kNvidiaDrivers);
  admin.Must({"delete", "clusterpolicy", "cluster-policy"});
  const std::string& nobodys = world.nodes()[2];
  CHECK(Eventually(kStepLimit, [&] { return IsGivenBack(world.Nodes().at(nobodys)); }));
  CHECK(CountHeld(world) == 2);
  CHECK(AwaitDriversDone(world, 2));
  for (const auto& [name, node] : world.Nodes()) {
    INFO(name);
    CHECK_FALSE(node.unschedulable);
    if (name == nobodys) continue;
    CHECK(node.labels.at("nvidia.com/gpu-operator.driver.owner") == "a");
    ExpectNeverGivenBack(rollout, name);
  }
  CHECK(program.IsRunning());
}

TEST_CASE("A ClusterPolicy that replaces NVIDIADrivers during an upgrade finishes their upgrades", "[operators]") {
  World world(ControlPlane::Shared(), "to-policy", 3);
  world.DeployDriver();
  SelectFirst(world, 2, "pool=a");
  const Policies policies(world.control_plane(), kNvidiaDrivers);
  const Kubectl& admin = world.control_plane().admin();
  Rollout rollout(world);
  world.ChangeDriverAndHold("driver:2");
  OperatorProgram program = Start(world);
  const bool under_way = Eventually(kRolloutLimit, [&] { return CountHeld(world) == 2; });
  INFO(program.Log());
  REQUIRE(under_way);
  admin.Create(kAllAtOnce);
  REQUIRE(Eventually(kStepLimit, [&] { return CountHeld(world) == 3; }));
  admin.Must({"delete", "nvidiadrivers", "--all"});
  CHECK(AwaitDriversDone(world, 3));
  for (const std::string& name : world.nodes()) {
    CHECK_FALSE(world.Nodes().at(name).unschedulable);
    ExpectNeverGivenBack(rollout, name);
  }
  CHECK(program.IsRunning());
}

TEST_CASE("If a ClusterPolicy is deleted during an upgrade, its NodeMaintenances are deleted", "[operators]") {
  ControlPlane::Shared().InstallNodeMaintenances();
  World world(ControlPlane::Shared(), "claims", 2);
  world.DeployDriver();
  const Policies policies(world.control_plane(), kClusterPolicy);
  const Kubectl& admin = world.control_plane().admin();
  const auto claims = [&] {
    return Items(admin.Get({kNodeMaintenances, "--namespace=" + world.driver_ns()}), {"items"}).Size();
  };
  OperatorProgram program =
      Start(world, {"--requestor-id", "nvidia.gpu-operator", "--requestor-namespace", world.driver_ns()});
  world.ChangeDriver("driver:2");
  REQUIRE(Eventually(kStepLimit, [&] { return claims() > 0; }));
  admin.Must({"delete", "clusterpolicy", "cluster-policy"});
  CHECK(Eventually(kStepLimit, [&] { return program.Log().find("nodes released") != std::string::npos; }));
  INFO(program.Log());
  CHECK(claims() == 0);
  CHECK(CountInState(world, "") == 2);
  CHECK(program.IsRunning());
}

// Not part of a CTest group, because this test needs a build of the other version (scripts/versions.sh).
TEST_CASE("Operators of two versions take over an upgrade from each other", "[versions]") {
  const char* other = std::getenv("DRIVERUPGRADE_OTHER_GPU_OPERATOR");
  if (other == nullptr) FAIL("DRIVERUPGRADE_OTHER_GPU_OPERATOR does not name a gpu_operator of another version");
  const bool other_first = GENERATE(true, false);
  constexpr int kNodes = 4;
  World world(ControlPlane::Shared(), other_first ? "versions-a" : "versions-b", kNodes);
  world.DeployDriver();
  const Policies policies(world.control_plane(), kClusterPolicy);
  const auto start = [&](bool is_other) { return Start(world, {}, is_other ? other : "gpu_operator"); };
  auto first = std::make_unique<OperatorProgram>(start(other_first));
  REQUIRE(AwaitDone(world, kNodes));
  Rollout rollout(world);
  world.ChangeDriverAndHold("driver:2");
  REQUIRE(Eventually(kStepLimit, [&] { return CountInState(world, "pod-restart-required") == 1; }));
  first.reset();
  const OperatorProgram second = start(!other_first);
  const bool all_done = Eventually(kRolloutLimit, [&] {
    for (const DriverPod& pod : world.DriverPods()) {
      if (pod.is_held) world.Release(world.driver_ns(), pod.name);
    }
    return CountInState(world, "upgrade-done") == kNodes;
  });
  INFO(second.Log());
  REQUIRE(all_done);
  ExpectEveryNodeUpgraded(rollout);
  ExpectBudgetsKept(rollout, 1, 2);
}

}  // namespace
}  // namespace driverupgrade::e2e
