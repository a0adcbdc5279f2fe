// Tests a policy with `rollout` on a real control plane: stages, a window, and groups.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_operator.h"
#include "json.h"
#include "rollout_expectations.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

using std::chrono::system_clock;

constexpr std::string_view kCanaries = R"(
autoUpgrade: true
maxParallelUpgrades: 3
maxUnavailable: 100%
rollout:
  stages:
  - {name: canary, nodes: 2, maxParallel: 1, soakSeconds: 4, maxFailures: 0, approval: Manual}
  health: {nodeConditions: [{type: GpuHealthy, status: "False"}]}
)";

constexpr std::string_view kGroups = R"(
autoUpgrade: true
maxParallelUpgrades: 1
maxUnavailable: 4
rollout: {groups: {by: example.com/clique, mode: Together}}
)";

constexpr std::string_view kWindow = R"(
autoUpgrade: true
maxParallelUpgrades: 1
maxUnavailable: 100%
rollout: {windows: [{start: "$START", durationSeconds: $SECONDS}]}
)";

constexpr std::string_view kNoWindow = R"(
autoUpgrade: true
maxParallelUpgrades: 6
maxUnavailable: 100%
)";

// Resource versions at which the node's upgrade started and ended; 0 if it has not yet started or ended.
struct Upgrade {
  std::uint64_t begun = 0;
  std::uint64_t done = 0;
};

Upgrade UpgradeOf(const NodeTimeline& timeline, const std::string& node) {
  Upgrade upgrade;
  for (const NodeVersion& version : timeline.VersionsOf(node)) {
    if (upgrade.begun == 0 && IsInProgress(version.state)) upgrade.begun = version.version;
    if (upgrade.begun != 0 && upgrade.done == 0 && version.state == "upgrade-done") upgrade.done = version.version;
  }
  return upgrade;
}

void SetGpuHealthy(const World& world, const std::string& node, const std::string& status) {
  const std::string patch = Substitute(
      R"({"status": {"conditions": [{"type": "GpuHealthy", "status": "$STATUS", "reason": "Test", "message": "test"}]}})",
      {{"$STATUS", status}});
  world.control_plane().admin().Must({"patch", "node", node, "--subresource=status", "--type=strategic", "-p", patch});
}

void Approve(const World& world, const std::string& stage) {
  world.control_plane().admin().Must(
      {"annotate", "daemonset", "driver", "--namespace=" + world.driver_ns(), "--overwrite",
       "nvidia.com/gpu-driver-upgrade.approved=" + stage + "@" + world.NewestDriverRevision()});
}

bool AwaitWord(const GpuOperator& gpu_operator, std::string_view word) {
  return Eventually(kStepLimit, [&] {
    return (ReadFile(gpu_operator.out_file()) + ReadFile(gpu_operator.err_file())).find(word) != std::string::npos;
  });
}

// The two canaries are upgraded in sequence. An unhealthy canary halts the rollout although the other one is healthy.
// An approval afterwards lets all nodes continue.
TEST_CASE("Two canaries soak, a sick canary halts the rollout, and an approval resumes it", "[staged]") {
  World world(ControlPlane::Shared(), "canary", 5);
  world.DeployDriver();
  Rollout rollout(world);
  world.ChangeDriver("driver:2");
  GpuOperator gpu_operator(world, kCanaries);
  gpu_operator.set_more_options({"--ledger"});
  const std::unique_ptr<Process> process = gpu_operator.Start("--leader-elect");

  REQUIRE(Eventually(kStepLimit, [&] { return NodesIn(world, "upgrade-done").size() == 2; }));
  const std::set<std::string> canaries = NodesIn(world, "upgrade-done");
  CHECK(NodesIn(world, "upgrade-required").size() == 3);
  SetGpuHealthy(world, *canaries.begin(), "False");
  CHECK(AwaitWord(gpu_operator, "the rollout is halted: node " + *canaries.begin() + " of stage canary is sick"));
  // The halt remains in effect after the soak time has passed and the canary is healthy again.
  SetGpuHealthy(world, *canaries.begin(), "True");
  Eventually(std::chrono::seconds(5), [] { return false; });
  GiveTimeToAct(world);
  CHECK(process->IsRunning());
  CHECK(NodesIn(world, "upgrade-done") == canaries);
  CHECK(NodesIn(world, "upgrade-required").size() == 3);

  Approve(world, "canary");
  REQUIRE(Eventually(kStepLimit, [&] { return NodesIn(world, "upgrade-done").size() == 5; }));
  ExpectEveryNodeUpgraded(rollout);
  ExpectBudgetsKept(rollout, 3, 5);
  ExpectWitnessesSawTheEnd(rollout);
  const NodeTimeline timeline = rollout.watch.Read();
  const Upgrade one = UpgradeOf(timeline, *canaries.begin());
  const Upgrade other = UpgradeOf(timeline, *canaries.rbegin());
  CHECK((one.done < other.begun || other.done < one.begun));
}

// No node starts after the window closes, and every node that has started finishes.
TEST_CASE("After a window closes in the middle of a rollout, no further node starts, and nodes in progress finish",
          "[staged]") {
  World world(ControlPlane::Shared(), "window", 6);
  world.DeployDriver();
  Rollout rollout(world);
  world.ChangeDriver("driver:2", "4s");

  // The window opened at a full minute in the past, and stays open for a few more seconds, which is enough for two or
  // three of the six nodes.
  const std::time_t now = system_clock::to_time_t(system_clock::now());
  const std::time_t start = (now / 60 - 2) * 60;
  const std::time_t end = now + 16;
  std::tm civil = {};
  gmtime_r(&start, &civil);
  char clock[6] = {};
  std::strftime(clock, sizeof(clock), "%H:%M", &civil);
  GpuOperator gpu_operator(
      world, Substitute(std::string(kWindow), {{"$START", clock}, {"$SECONDS", std::to_string(end - start)}}));
  gpu_operator.set_more_options({"--ledger"});
  std::unique_ptr<Process> process = gpu_operator.Start("--leader-elect");

  REQUIRE(Eventually(kStepLimit, [&] {
    const std::size_t waiting = NodesIn(world, "upgrade-required").size();
    return system_clock::to_time_t(system_clock::now()) > end && waiting + NodesIn(world, "upgrade-done").size() == 6;
  }));
  const std::set<std::string> done = NodesIn(world, "upgrade-done");
  CHECK(done.size() >= 1);
  CHECK(done.size() < 6);
  GiveTimeToAct(world);
  CHECK(process->IsRunning());
  CHECK(NodesIn(world, "upgrade-done") == done);
  CHECK(NodesIn(world, "upgrade-required").size() == 6 - done.size());
  process.reset();

  // The remaining nodes are upgraded with a policy that has no window.
  const OperatorResult result = GpuOperator(world, kNoWindow).Run();
  INFO(result.output());
  REQUIRE(result.exit_code == 0);
  ExpectEveryNodeUpgraded(rollout);
  ExpectWitnessesSawTheEnd(rollout);
}

TEST_CASE("Twenty nodes in groups of four start group by group, each group as a whole", "[staged]") {
  constexpr std::size_t kSize = 4;
  World world(ControlPlane::Shared(), "groups", 20);
  std::map<std::string, std::size_t> group;
  for (std::size_t i = 0; i < world.nodes().size(); ++i) {
    group[world.nodes()[i]] = i % 5;  // neighbors in name order are in different groups
    world.control_plane().admin().Must(
        {"label", "node", world.nodes()[i], "example.com/clique=c" + std::to_string(i % 5)});
  }
  world.DeployDriver();
  Rollout rollout(world);
  world.ChangeDriver("driver:2", "1s");
  GpuOperator gpu_operator(world, kGroups);
  gpu_operator.set_more_options({"--ledger"});
  const OperatorResult result = gpu_operator.Run();
  INFO(result.output());
  REQUIRE(result.exit_code == 0);
  ExpectEveryNodeUpgraded(rollout);
  ExpectBudgetsKept(rollout, kSize, kSize);
  ExpectWitnessesAgree(rollout);

  struct Start {
    Upgrade upgrade;
    std::size_t group = 0;
  };
  std::vector<Start> starts;
  const NodeTimeline timeline = rollout.watch.Read();
  for (const std::string& node : world.nodes()) starts.push_back({UpgradeOf(timeline, node), group[node]});
  std::sort(starts.begin(), starts.end(),
            [](const Start& a, const Start& b) { return a.upgrade.begun < b.upgrade.begun; });
  for (std::size_t i = 0; i < starts.size(); i += kSize) {
    const std::uint64_t last_begun = starts[i + kSize - 1].upgrade.begun;
    for (std::size_t j = i; j < i + kSize; ++j) {
      CHECK(starts[j].group == starts[i].group);
      CHECK(starts[j].upgrade.done > last_begun);  // all nodes have started before any of them is done
      if (i > 0) CHECK(starts[j].upgrade.begun > starts[i - 1].upgrade.done);
    }
  }
}

}  // namespace
}  // namespace driverupgrade::e2e
