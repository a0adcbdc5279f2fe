// Tests an outage of the API server in the middle of an upgrade, and the restoration of a cluster from a backup while
// the operator runs.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "go_operator.h"
#include "gpu_operator.h"
#include "rollout_expectations.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr int kNodes = 12;
constexpr int kInProgressMax = 3;
constexpr int kUnschedulableMax = 4;  // includes a node that an administrator cordoned

constexpr std::string_view kPolicy = R"(
autoUpgrade: true
maxParallelUpgrades: 3
maxUnavailable: 4
podDeletion: {force: false, timeoutSeconds: 300, deleteEmptyDir: false}
drain: {enable: true, force: false, timeoutSeconds: 300, deleteEmptyDir: false}
)";

std::ptrdiff_t CountDone(const World& world) {
  const auto nodes = world.Nodes();
  return std::count_if(nodes.begin(), nodes.end(),
                       [](const auto& node) { return node.second.state == "upgrade-done"; });
}

// After an outage, the cluster's controllers must recover before anything can continue. This can take a long time on a
// busy machine.
constexpr std::chrono::seconds kRecoveryLimit{240};
constexpr std::chrono::seconds kOperatorLimit{600};

bool AwaitDone(const World& world, std::ptrdiff_t count) {
  return Eventually(kRecoveryLimit, [&] { return CountDone(world) >= count; });
}

// Expects that no driver pod was replaced twice: at most `count_max` driver pods were deleted. `count_max` is the number
// of driver pods that had to be replaced.
void ExpectDriverPodsReplaced(const World& world, AuditLog& audit, std::ptrdiff_t count_max) {
  std::set<std::string> deleted;
  for (const AuditedRequest& request : audit.Read()) {
    if (request.verb != "delete" || request.resource != "pods" || request.ns != world.driver_ns()) continue;
    if (request.code < 300) deleted.insert(request.name);
  }
  CHECK(deleted.size() <= static_cast<std::size_t>(count_max));
}

// Returns the witnesses of the remaining upgrade. Several nodes are cordoned at this moment, but only the node that is
// stored in `cordoned_before` was cordoned by an administrator.
Rollout RestOf(const World& world) {
  Rollout rest(world);
  rest.cordoned_before = {world.nodes().at(3)};
  return rest;
}

void ExpectEnd(const GpuOperator& gpu_operator, Process& process) {
  const OperatorResult result = gpu_operator.Finish(process);
  INFO(result.output());
  REQUIRE(result.exit_code == 0);
}

TEST_CASE("The API server is unavailable for half a minute in the middle of an upgrade", "[outage]") {
  ControlPlane& control_plane = ControlPlane::Shared();
  World world(control_plane, "away", kNodes);
  DeployAll(world, kNodes);
  const std::map<std::string, NodeVersion> nodes_before = world.Nodes();
  AuditLog audit(control_plane.audit_log());
  world.ChangeDriver("driver:2", "1500ms");

  const Stopwatch stopwatch;
  GpuOperator gpu_operator(world, kPolicy);
  gpu_operator.set_timeout(kOperatorLimit);
  const std::unique_ptr<Process> process = gpu_operator.Start();
  REQUIRE(AwaitDone(world, 3));
  control_plane.KillApiServer();
  Eventually(std::chrono::seconds(30), [] { return false; });
  CHECK(process->IsRunning());
  control_plane.StartApiServerAgain();
  // The earlier watch ended when the API server was killed. This watch sees the rest.
  Rollout rest = RestOf(world);
  ExpectEnd(gpu_operator, *process);

  ExpectEveryNodeUpgraded(rest);
  ExpectBudgetsKept(rest, kInProgressMax, kUnschedulableMax);
  const Peaks peaks = audit.Timeline(nodes_before).ComputePeaks(rest.cordoned_before);
  CHECK(peaks.in_progress <= kInProgressMax);
  CHECK(peaks.unschedulable <= kUnschedulableMax);
  ExpectNothingElseWritten(rest);
  ExpectDriverPodsReplaced(world, audit, kNodes);
  std::cout << kNodes << " nodes, the API server 30 s away: " << std::fixed << std::setprecision(1)
            << stopwatch.seconds() << " s\n";
}

// Restores the cluster in the middle of an upgrade, while the operator runs. `finish` waits until the operator exits.
// After the restore, the API server assigns the same resource versions again, to objects with different content. The
// operator has already seen versions that are higher than the server's current version.
void RestoreInTheMiddle(World& world, const std::function<std::unique_ptr<Process>()>& start,
                        const std::function<void(Process&)>& finish) {
  ControlPlane& control_plane = ControlPlane::Shared();
  DeployAll(world, kNodes);
  world.ChangeDriver("driver:2", "1500ms");

  const std::unique_ptr<Process> process = start();
  REQUIRE(AwaitDone(world, 3));
  control_plane.SaveData();
  REQUIRE(AwaitDone(world, 7));
  control_plane.RestoreData();
  // Counted before the audit starts, because nodes that are already done lose no driver pod during the audit.
  const std::ptrdiff_t done = CountDone(world);
  Rollout rest = RestOf(world);
  const Stopwatch stopwatch;
  finish(*process);

  ExpectEveryNodeUpgraded(rest);
  ExpectBudgetsKept(rest, kInProgressMax, kUnschedulableMax);
  ExpectNothingElseWritten(rest);
  ExpectDriverPodsReplaced(world, rest.audit, kNodes - done);
  std::cout << kNodes << " nodes, set back from 7 done to " << done << ": " << std::fixed << std::setprecision(1)
            << stopwatch.seconds() << " s from then on\n";
}

TEST_CASE("The cluster is restored to an earlier state in the middle of an upgrade", "[outage]") {
  World world(ControlPlane::Shared(), "back", kNodes);
  GpuOperator gpu_operator(world, kPolicy);
  gpu_operator.set_timeout(kOperatorLimit);
  RestoreInTheMiddle(
      world, [&] { return gpu_operator.Start(); }, [&](Process& process) { ExpectEnd(gpu_operator, process); });
}

TEST_CASE("The cluster is restored to an earlier state while an operator built on the Go module upgrades it",
          "[outage]") {
  World world(ControlPlane::Shared(), "back-go", kNodes);
  const GoOperator go_operator(world, kPolicy);
  RestoreInTheMiddle(
      world,
      [&] {
        return go_operator.Start({"--timeout", std::to_string(kOperatorLimit.count()) + "s"});
      },
      [&](Process& process) {
        const auto exit_code = process.Wait(kOperatorLimit);
        INFO(LastLines(go_operator.log_file(), 40));
        REQUIRE(exit_code == 0);
      });
}

}  // namespace
}  // namespace driverupgrade::e2e
