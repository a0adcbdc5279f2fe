// Tests gpu_operator alongside an operator of another driver that behaves like the Go library. The other operator
// stores no cordon owner, and lifts every cordon that it considers its own (dep-F8).
#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "go_rival.h"
#include "ofed_driver.h"
#include "operator_program.h"
#include "rollout_expectations.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::chrono::seconds kRolloutLimit{150};
constexpr int kNodes = 6;
constexpr int kOursMax = 2;
constexpr int kRivalsMax = 2;
// Limit that includes the nodes that the rival has cordoned. The rival does not count our nodes.
constexpr int kUnavailableMax = 3;

constexpr std::string_view kGpuPolicy = R"(
apiVersion: nvidia.com/v1
kind: ClusterPolicy
metadata: {name: cluster-policy}
spec: {driver: {upgradePolicy: {autoUpgrade: true, maxParallelUpgrades: 2, maxUnavailable: 3}}}
)";

int CountInState(const World& world, const std::string& state) {
  int count = 0;
  for (const auto& [_, node] : world.Nodes()) count += node.state == state;
  return count;
}

bool IsBetween(const std::string& rivals_state) {
  const std::vector<std::string> states = {"wait-for-jobs-required", "drain-required", "pod-restart-required",
                                           "uncordon-required"};
  return std::find(states.begin(), states.end(), rivals_state) != states.end();
}

// Returns how many recorded node versions show both operators in progress on the same node.
int MeetingsSeen(Rollout& rollout) {
  int meetings = 0;
  for (const std::string& name : rollout.world.nodes()) {
    for (const NodeVersion& version : rollout.watch.Read().VersionsOf(name)) {
      const auto rivals = version.labels.find(kOfedState);
      meetings += IsInProgress(version.state) && rivals != version.labels.end() && IsBetween(rivals->second);
    }
  }
  return meetings;
}

TEST_CASE("dep-F8: alongside a rival that behaves like the Go library, both drivers are upgraded within the budgets",
          "[operators]") {
  World world(ControlPlane::Shared(), "rival", kNodes);
  world.DeployDriver();
  Workload workload;
  workload.replicas = kNodes;
  workload.unavailable_max = kUnavailableMax + kRivalsMax;
  world.Deploy(workload);
  const OfedDriver ofed(world);
  world.control_plane().admin().Create(kGpuPolicy);
  Rollout rollout(world);
  world.ChangeDriver("driver:2", "500ms");
  ofed.Change("mofed:2");

  // The rival has cordoned two nodes when our operator starts, so these two nodes must wait for the rival.
  GoRival rival(ofed, kRivalsMax);
  for (int pass = 0; pass < 20 && rival.Count("drain-required") < kRivalsMax; ++pass) rival.Pass();
  REQUIRE(rival.Count("drain-required") == kRivalsMax);
  OperatorProgram ours(world.control_plane(), "gpu_operator", world.control_plane().operator_kubeconfig(),
                       {"--cluster-policy", "--namespace", world.driver_ns(), "--driver-labels", "app=driver",
                        "--validation-selector", ""});
  // Our operator upgrades all other nodes, within the headroom that the rival's nodes leave.
  const bool others_done =
      Eventually(kRolloutLimit, [&] { return CountInState(world, "upgrade-done") == kNodes - kRivalsMax; });
  INFO(ours.Log());
  REQUIRE(others_done);
  for (const auto& [name, node] : world.Nodes()) {
    INFO(name);
    const bool is_rivals = node.labels.at(kOfedState) == "drain-required";
    CHECK(node.state == (is_rivals ? "upgrade-required" : "upgrade-done"));
    CHECK(node.unschedulable == is_rivals);
  }

  // The two operators meet: our operator keeps a node in progress until the rival starts the same node, because the
  // rival does not check for other operators.
  world.ChangeDriverAndHold("driver:3");
  const bool at_work = Eventually(kRolloutLimit, [&] { return CountInState(world, "pod-restart-required") > 0; });
  INFO(ours.Log());
  REQUIRE(at_work);
  REQUIRE(Eventually(kRolloutLimit, [&] {
    rival.Pass();
    return MeetingsSeen(rollout) > 0;
  }));

  // The two operators now work in parallel, and a newer version of our driver arrives halfway through.
  world.ChangeDriver("driver:4", "500ms");
  const bool done = Eventually(kRolloutLimit, [&] {
    rival.Pass();
    return rival.Count("upgrade-done") == kNodes && CountInState(world, "upgrade-done") == kNodes &&
           NobodyIsCordoned(world);
  });
  INFO(ours.Log());
  REQUIRE(done);
  CHECK(ours.IsRunning());
  ExpectEveryNodeUpgraded(rollout);
  // Our operator ends an upgrade with a single write, so a node in uncordon-required is only waiting for the rival and
  // takes no slot.
  ExpectBudgetsKept(rollout, kOursMax, kUnavailableMax + kRivalsMax,
                    [](std::string_view state) { return IsInProgress(state) && state != "uncordon-required"; });
  for (const auto& [name, node] : world.Nodes()) {
    INFO(name);
    CHECK(node.annotations.count("driverupgrade/cordoned-by") == 0);
  }
}

}  // namespace
}  // namespace driverupgrade::e2e
