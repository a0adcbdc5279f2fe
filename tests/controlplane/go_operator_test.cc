// Tests a Go operator, built on the Go module, against a real API server. It must behave like the native operator and
// match its performance, and the two operators must be able to take turns.
#include "go_operator.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iomanip>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "go_library.h"
#include "gpu_operator.h"
#include "loopback.h"
#include "rollout_expectations.h"
#include "support.h"
#include "support/catch.h"
#include "support/http_get.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr int kInProgressMax = 5;
constexpr std::chrono::seconds kLimit{170};
constexpr std::chrono::seconds kStepOfHandover{60};

constexpr std::string_view kPolicy = R"(
autoUpgrade: true
maxParallelUpgrades: 5
maxUnavailable: 50%
podDeletion: {force: false, timeoutSeconds: 300, deleteEmptyDir: false}
drain: {enable: true, force: false, timeoutSeconds: 300, deleteEmptyDir: false}
)";

struct Figures {
  double seconds = 0;
  double requests_per_node = 0;
};

Figures FiguresOf(const Stopwatch& stopwatch, Rollout& rollout, int nodes, const std::string& of) {
  Figures figures{.seconds = stopwatch.seconds()};
  const auto& all = rollout.audit.Read();
  std::vector<AuditedRequest> requests;  // without Events, whose number can differ between operators
  std::copy_if(all.begin(), all.end(), std::back_inserter(requests),
               [](const AuditedRequest& request) { return request.resource != "events"; });
  figures.requests_per_node = static_cast<double>(requests.size()) / nodes;
  std::cout << of << ", " << nodes << " nodes, " << kInProgressMax << " at a time: " << std::fixed
            << std::setprecision(1) << figures.seconds << " s\n";
  PrintRequests(std::cout, requests, nodes);
  return figures;
}

// Deploys a workload pod for each node and cordons a node as an administrator.
void DeployOneEach(const World& world) {
  world.DeployDriver();
  Workload workload;
  workload.replicas = static_cast<int>(world.nodes().size());
  workload.unavailable_max = workload.replicas;
  world.Deploy(workload);
  world.Cordon(world.nodes().at(3));
}

int CountDone(const World& world) {
  int done = 0;
  for (const auto& [_, node] : world.Nodes()) done += node.state == "upgrade-done";
  return done;
}

TEST_CASE("An operator built on the Go module upgrades 20 and 50 nodes with few requests in at most 1.5 times the time",
          "[go]") {
  const int nodes = GENERATE(20, 50);
  World world(ControlPlane::Shared(), "go-" + std::to_string(nodes), nodes);
  DeployOneEach(world);
  Figures native;
  {
    Rollout rollout(world);
    world.ChangeDriver("driver:2", "500ms");
    const Stopwatch stopwatch;
    const OperatorResult result = GpuOperator(world, kPolicy).Run();
    INFO(result.output());
    REQUIRE(result.exit_code == 0);
    ExpectEveryNodeUpgraded(rollout);
    native = FiguresOf(stopwatch, rollout, nodes, "native");
  }
  Rollout rollout(world);
  world.ChangeDriver("driver:3", "500ms");
  const Stopwatch stopwatch;
  const GoOperator go_operator(world, kPolicy);
  const std::vector<int> ports = FindFreePorts(2);
  const std::string host = "127.0.0.1:";
  const std::unique_ptr<Process> process = go_operator.Start(
      {"--health-address", host + std::to_string(ports[0]), "--metrics-address", host + std::to_string(ports[1])});
  const auto is_heard = [](int port, const std::string& path, const std::string& text) {
    return Eventually(kStepOfHandover, [&] { return tests::HttpGet(port, path).find(text) != std::string::npos; });
  };
  CHECK(is_heard(ports[0], "/healthz", "200"));
  CHECK(is_heard(ports[0], "/readyz", "200"));
  CHECK(is_heard(ports[1], "/metrics", R"(driverupgrade_nodes{driver="nvidia.com/gpu",state="upgrade-done"})"));
  const auto exit_code = process->Wait(kLimit);
  const Figures go = FiguresOf(stopwatch, rollout, nodes, "Go module");
  INFO(ReadFile(go_operator.log_file()));
  REQUIRE(exit_code == 0);
  ExpectEveryNodeUpgraded(rollout);
  ExpectBudgetsKept(rollout, kInProgressMax, nodes / 2);
  ExpectPodsMovedByEvictionOnly(rollout);
  CHECK(go.requests_per_node <= 8);
  CHECK(go.seconds <= 1.5 * native.seconds);
}

// Uses one node with a workload pod that cannot be evicted at first. The example watches only its DaemonSet, which does
// not change when an eviction becomes possible. Between two `ApplyState` calls, therefore, only the order that the last
// call created can continue the upgrade (docs/go.md).
TEST_CASE("Between an operator's calls, ten minutes apart, a node is drained as soon as its pods can be evicted",
          "[go]") {
  World world(ControlPlane::Shared(), "go-order", 1);
  world.DeployDriver();
  Workload workload;
  workload.unavailable_max = 0;
  world.Deploy(workload);
  const std::string& node = world.nodes().front();
  world.ChangeDriver("driver:2");
  const GoOperator go_operator(world, kPolicy);
  const std::unique_ptr<Process> process = go_operator.Start({"--until-done=false", "--timeout=0", "--interval=10m"});
  const auto reaches = [&](const std::string& state) {
    return Eventually(kStepOfHandover, [&] { return world.Nodes().at(node).state == state; });
  };
  const auto log = [&] { return LastLines(go_operator.log_file(), 20); };
  INFO(log());
  REQUIRE(reaches("pod-deletion-required"));
  const std::string old_driver = world.DriverPodOn(node).name;

  const Stopwatch stopwatch;
  world.control_plane().admin().Must({"delete", "poddisruptionbudget", "work", "--namespace=" + world.workload_ns()});
  const bool is_done = reaches("upgrade-done");
  INFO(log());
  REQUIRE(is_done);
  std::cout << "Go module, " << stopwatch.seconds() << " s from the disruption budget's end to upgrade-done\n";
  CHECK(world.DriverPodOn(node).name != old_driver);
  CHECK(process->IsRunning());
}

// A running operator and its output file.
struct Started {
  std::unique_ptr<Process> process;
  std::filesystem::path log;
};

struct Operator {
  std::function<Started(const World&)> start;
  // The Go library's snapshot omits a driver pod that is not bound to a node yet, and therefore the pod's node as well.
  // Until a new pod is bound, its node takes no slot, and the library starts one node too many.
  bool keeps_budget = true;
};

// The first operator is killed in the middle of the upgrade. The second one continues until it is killed as well, and
// the first one then completes the upgrade.
void ExpectTurns(const std::string& name, EndedBy by, const Operator& first, const Operator& second) {
  constexpr int kNodes = 20;
  World world(ControlPlane::Shared(), name, kNodes);
  DeployOneEach(world);
  Rollout rollout(world);
  world.ChangeDriver("driver:2", "1500ms");
  std::vector<Turn> unjudged;
  const auto run = [&](const Operator& program, const std::function<void(const Started&)>& until) {
    const std::uint64_t before = LatestVersion(world.Nodes());
    {
      const Started started = program.start(world);
      until(started);
    }
    if (!program.keeps_budget) unjudged.push_back({.after = before, .until = LatestVersion(world.Nodes())});
  };
  const auto some_done = [&](int wanted) {
    return [&world, wanted](const Started& started) {
      const bool reached = Eventually(kStepOfHandover, [&] { return CountDone(world) >= wanted; });
      INFO(LastLines(started.log, 20));
      REQUIRE(reached);
      REQUIRE(started.process->IsRunning());
    };
  };
  run(first, some_done(4));
  run(second, some_done(12));
  run(first, [](const Started& last) {
    const auto exit_code = last.process->Wait(kLimit);
    INFO(LastLines(last.log, 20));
    REQUIRE(exit_code == 0);
  });
  ExpectEveryNodeUpgraded(rollout, by);
  ExpectBudgetsKept(rollout, kInProgressMax, kNodes / 2, IsInProgress, unjudged);
}

Started StartInGo(const World& world, GoOperator::Of of) {
  const GoOperator program(world, kPolicy, of);
  return {program.Start(), program.log_file()};
}

Started StartNative(const World& world) {
  const GpuOperator program(world, kPolicy);
  return {program.Start(), program.err_file()};
}

Started StartGoModule(const World& world) { return StartInGo(world, GoOperator::Of::kModule); }

Started StartGoLibrary(const World& world) {
  GrantGoLibrary(world.control_plane());
  return StartInGo(world, GoOperator::Of::kLibrary);
}

const Operator kNative = {.start = StartNative};
const Operator kGoModule = {.start = StartGoModule};
const Operator kGoLibrary = {.start = StartGoLibrary, .keeps_budget = false};

TEST_CASE("The native operator and an operator built on the Go module take over an upgrade from each other", "[go]") {
  ExpectTurns("turns", EndedBy::kUs, kNative, kGoModule);
}

TEST_CASE("The Go library and the native operator take over an upgrade from each other", "[go]") {
  ExpectTurns("turns-library", EndedBy::kGoLibraryToo, kGoLibrary, kNative);
  ExpectTurns("turns-native", EndedBy::kGoLibraryToo, kNative, kGoLibrary);
}

TEST_CASE("The Go library and the Go module take over an upgrade from each other", "[go]") {
  ExpectTurns("turns-swap", EndedBy::kGoLibraryToo, kGoLibrary, kGoModule);
  ExpectTurns("turns-back", EndedBy::kGoLibraryToo, kGoModule, kGoLibrary);
}

}  // namespace
}  // namespace driverupgrade::e2e
