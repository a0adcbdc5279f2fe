// Tests complete upgrades by gpu_operator against a real API server, and checks the upgrades with the server's records.
#include <chrono>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>

#include "driverupgrade/wire/kubernetes_json.h"
#include "gpu_operator.h"
#include "rollout_expectations.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr int kNodes = 6;
constexpr int kInProgressMax = 2;
constexpr int kUnschedulableMax = 3;

constexpr std::string_view kPolicy = R"(
autoUpgrade: true
maxParallelUpgrades: 2
maxUnavailable: 3
podDeletion: {force: false, timeoutSeconds: 300, deleteEmptyDir: false}
drain: {enable: true, force: false, timeoutSeconds: 300, deleteEmptyDir: false}
)";

void ExpectGoodEnd(Rollout& rollout) {
  ExpectEveryNodeUpgraded(rollout);
  ExpectBudgetsKept(rollout, kInProgressMax, kUnschedulableMax);
  ExpectPodsMovedByEvictionOnly(rollout);
}

TEST_CASE("A driver is upgraded on six nodes within the budgets, and the cordon of an administrator stays",
          "[upgrade][short]") {
  World world(ControlPlane::Shared(), "six", kNodes);
  DeployAll(world, 2);
  Rollout rollout(world);
  world.ChangeDriver("driver:2");

  const OperatorResult result = GpuOperator(world, kPolicy).Run();
  INFO(result.output());
  REQUIRE(result.exit_code == 0);

  ExpectGoodEnd(rollout);
  ExpectWitnessesAgree(rollout);
  ExpectOneEventForEachState(rollout);
  std::cout << "6 nodes, 2 at a time: " << std::fixed << std::setprecision(1) << result.seconds << " s\n";
  PrintRequests(std::cout, rollout.audit.Read(), kNodes);
}

// The engine compares templates, because the revision number can be wrong (kubernetes#80698).
TEST_CASE("The newest revision has the template that the API server returns for its DaemonSet", "[upgrade]") {
  World world(ControlPlane::Shared(), "templates", kNodes);
  DeployAll(world, 2);
  const std::string oldest = world.NewestDriverRevision();
  world.ChangeDriver("driver:2");
  REQUIRE(Eventually(std::chrono::seconds(30), [&] { return world.NewestDriverRevision() != oldest; }));
  const auto object = [&](const std::string& kind, const std::string& name) {
    return world.control_plane()
        .admin()
        .Run({"get", kind, name, "--namespace=" + world.driver_ns(), "--output=json"})
        .out;
  };
  const auto digest = [&](const std::string& hash) {
    const auto revision = ParseObject<ControllerRevision>(object("controllerrevision", "driver-" + hash));
    REQUIRE(revision.ok());
    return revision->template_digest.value;
  };
  const auto daemon_set = ParseObject<DaemonSet>(object("daemonset", "driver"));
  REQUIRE(daemon_set.ok());
  CHECK(daemon_set->template_digest.value != 0);
  CHECK(daemon_set->template_digest.value == digest(world.NewestDriverRevision()));
  CHECK(daemon_set->template_digest.value != digest(oldest));
}

TEST_CASE("An operator that is killed ten times in the middle of an upgrade reaches the same result", "[upgrade]") {
  constexpr int kKills = 10;
  World world(ControlPlane::Shared(), "killed", kNodes);
  // The API server charges an eviction to the disruption budget before it deletes the pod. If the operator dies in
  // between, the budget counts the eviction for two minutes although the pod stays. The budget must allow for several
  // such evictions.
  DeployAll(world, kNodes);
  Rollout rollout(world);
  world.ChangeDriver("driver:2", "1500ms");

  GpuOperator gpu_operator(world, kPolicy);
  gpu_operator.set_timeout(std::chrono::seconds(240));  // the budget may block evictions for two minutes
  for (int kill = 0; kill < kKills; ++kill) {
    // Each process makes one to three more writes before it is killed, so that the kills occur at various moments. Each
    // process must make progress; otherwise killing ten processes would show no more than killing one.
    const int writes_wanted = rollout.audit.CountWrites() + 1 + kill % 3;
    const std::unique_ptr<Process> process = gpu_operator.Start();
    const bool killed_in_progress = Eventually(std::chrono::seconds(60), [&] {
      return !process->IsRunning() ||
             (rollout.audit.CountWrites() >= writes_wanted && rollout.watch.Read().AnyInProgress());
    });
    INFO("life " << kill + 1 << ": " << ReadFile(gpu_operator.out_file()) << ReadFile(gpu_operator.err_file()));
    REQUIRE(killed_in_progress);
    REQUIRE(process->IsRunning());
    process->Kill();
  }

  const OperatorResult result = gpu_operator.Run();
  INFO(result.output());
  REQUIRE(result.exit_code == 0);
  ExpectGoodEnd(rollout);
  std::cout << "6 nodes, killed " << kKills << " times\n";
  PrintRequests(std::cout, rollout.audit.Read(), kNodes);
}

}  // namespace
}  // namespace driverupgrade::e2e
