// Tests a rollout in stages on a real control plane, in which the Go module takes turns with the native operator.
#include <chrono>
#include <ctime>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "go_operator.h"
#include "gpu_operator.h"
#include "kubectl.h"
#include "rollout_expectations.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "upgradectl_program.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

using std::chrono::system_clock;

constexpr int kNodes = 50;
constexpr std::chrono::seconds kSoak{20};
constexpr std::chrono::seconds kFleetLimit{150};

constexpr std::string_view kCanaries = R"(
autoUpgrade: true
maxParallelUpgrades: 10
maxUnavailable: 100%
rollout:
  stages:
  - {name: canary, nodes: 2, soakSeconds: 20, approval: Manual}
)";

// A policy whose window is closed, and opens again in 20 or 21 hours.
constexpr std::string_view kShut = R"(
autoUpgrade: true
maxParallelUpgrades: 10
maxUnavailable: 100%
rollout: {windows: [{start: "$START", durationSeconds: 3600, timeZone: Europe/Berlin}]}
)";

// Waits for `condition`, and prints the operator's output if the condition does not become true in time.
bool Await(const GoOperator& go, std::chrono::seconds limit, const std::function<bool()>& condition) {
  if (Eventually(limit, condition)) return true;
  WARN(ReadFile(go.log_file()));
  return false;
}

bool Says(const GoOperator& go, const std::string& words) {
  return Await(go, kStepLimit, [&] { return ReadFile(go.log_file()).find(words) != std::string::npos; });
}

KubectlResult Approve(const World& world, const GoOperator& go) {
  return RunUpgradectl(
      world.control_plane(),
      {"approve", "canary", "--yes", "--driver", "gpu", "--namespace", world.driver_ns(), "--driver-labels",
       "app=driver", "--policy", go.policy_file().string(), "--kubeconfig",
       (world.control_plane().folder() / "admin.kubeconfig").string()});
}

TEST_CASE(
    "Two canaries soak under the Go module, the native operator takes over, and an approval lets the fleet follow",
    "[go]") {
  World world(ControlPlane::Shared(), "go-stages", kNodes);
  world.DeployDriver();
  Rollout rollout(world);
  world.ChangeDriver("driver:2");
  GoOperator go(world, kCanaries, GoOperator::Of::kVendor);
  std::unique_ptr<Process> process = go.Start();

  REQUIRE(Await(go, kStepLimit, [&] { return NodesIn(world, "upgrade-done").size() == 2; }));
  const std::set<std::string> canaries = NodesIn(world, "upgrade-done");
  const auto done_at = system_clock::now();
  CHECK(Says(go, "canary: 2 of 2 nodes done; rest: 0 of 48 nodes done; Soak"));
  CHECK(Says(go, "stage canary waits for the approval canary@" + world.NewestDriverRevision()));
  CHECK(system_clock::now() - done_at >= kSoak - std::chrono::seconds(2));
  CHECK(NodesIn(world, "upgrade-done") == canaries);
  CHECK(NodesIn(world, "upgrade-required").size() == kNodes - 2);
  process.reset();

  // The native operator uses the record that the Go module has stored.
  GpuOperator native(world, kCanaries);
  native.set_more_options({"--ledger"});
  process = native.Start("--leader-elect");
  Eventually(std::chrono::seconds(5), [] { return false; });
  CHECK(NodesIn(world, "upgrade-done") == canaries);
  const KubectlResult approved = Approve(world, go);
  INFO(approved.out << approved.err);
  REQUIRE(approved.exit_code == 0);
  REQUIRE(Eventually(kFleetLimit, [&] { return NodesIn(world, "upgrade-done").size() >= 10; }));
  process.reset();

  // The Go module uses the record that the native operator has stored, in the middle of the stage.
  process = go.Start();
  REQUIRE(Await(go, kFleetLimit, [&] { return NodesIn(world, "upgrade-done").size() == kNodes; }));
  process.reset();
  ExpectEveryNodeUpgraded(rollout);
  ExpectBudgetsKept(rollout, 10, kNodes);
  ExpectWitnessesSawTheEnd(rollout);
}

TEST_CASE("A closed window in Berlin keeps the Go module's nodes waiting", "[go]") {
  World world(ControlPlane::Shared(), "go-window", 3);
  world.DeployDriver();
  world.ChangeDriver("driver:2");
  const std::time_t start = system_clock::to_time_t(system_clock::now() + std::chrono::hours(22));
  std::tm civil = {};
  gmtime_r(&start, &civil);
  char clock[6] = {};
  std::strftime(clock, sizeof(clock), "%H:%M",
                &civil);  // in UTC; clocks in Berlin show this time one or two hours earlier
  const GoOperator go(world, Substitute(std::string(kShut), {{"$START", clock}}), GoOperator::Of::kVendor);
  const std::unique_ptr<Process> process = go.Start();
  CHECK(Says(go, "Window"));
  REQUIRE(Eventually(kStepLimit, [&] { return NodesIn(world, "upgrade-required").size() == 3; }));
  GiveTimeToAct(world);
  CHECK(NodesIn(world, "upgrade-required").size() == 3);
}

}  // namespace
}  // namespace driverupgrade::e2e
