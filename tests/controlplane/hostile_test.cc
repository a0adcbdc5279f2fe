// Tests the operator behind a proxy that disturbs one request in twenty: the proxy drops, cuts, delays or refuses the
// request, or responds with HTML.
#include <algorithm>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "gpu_operator.h"
#include "hostile_proxy.h"
#include "rollout_expectations.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr int kNodes = 20;
constexpr int kInProgressMax = 5;
constexpr int kUnschedulableMax = 6;  // includes a node that an administrator cordoned

constexpr std::string_view kPolicy = R"(
autoUpgrade: true
maxParallelUpgrades: 5
maxUnavailable: 6
podDeletion: {force: false, timeoutSeconds: 300, deleteEmptyDir: false}
drain: {enable: true, force: false, timeoutSeconds: 300, deleteEmptyDir: false}
)";

// Runs one rollout behind a proxy and returns how long it took. The result must be the same as without faults.
double RollOut(const std::string& name, const HostileProxyOptions& options, std::map<Fault, int>& faults) {
  ControlPlane& control_plane = ControlPlane::Shared();
  World world(control_plane, name, kNodes);
  DeployAll(world, kNodes);
  Rollout rollout(world);
  world.ChangeDriver("driver:2");

  HostileProxy proxy(control_plane.operator_kubeconfig(), options);
  const std::filesystem::path kubeconfig = control_plane.folder() / (name + ".kubeconfig");
  proxy.WriteKubeconfig(kubeconfig);
  GpuOperator gpu_operator(world, kPolicy);
  gpu_operator.set_kubeconfig(kubeconfig);
  const OperatorResult result = gpu_operator.Run();
  INFO(result.output());
  REQUIRE(result.exit_code == 0);

  ExpectEveryNodeUpgraded(rollout);
  ExpectBudgetsKept(rollout, kInProgressMax, kUnschedulableMax);
  ExpectPodsMovedByEvictionOnly(rollout);
  for (const auto& [fault, count] : proxy.faults()) faults[fault] += count;
  return result.seconds;
}

// Rolls out once behind a proxy without faults and `seeds` times behind a faulty one, and prints a comparison.
std::map<Fault, int> RollOutSeeds(int seeds) {
  std::map<Fault, int> none;
  std::map<Fault, int> faults;
  std::vector<double> quiet;
  for (int run = 0; run < 3; ++run) {
    quiet.push_back(RollOut("quiet-" + std::to_string(run), {.faults_of_1000 = 0}, none));
  }
  std::vector<double> hostile;
  for (int seed = 1; seed <= seeds; ++seed) {
    INFO("seed " << seed);
    hostile.push_back(RollOut("hostile-" + std::to_string(seed), {.seed = static_cast<std::uint64_t>(seed)}, faults));
  }

  CHECK(none.size() == 1);
  std::sort(quiet.begin(), quiet.end());
  std::sort(hostile.begin(), hostile.end());
  const double median =
      (hostile[(static_cast<std::size_t>(seeds) - 1) / 2] + hostile[static_cast<std::size_t>(seeds) / 2]) / 2;
  std::cout << std::fixed << std::setprecision(1) << kNodes << " nodes, " << kInProgressMax << " at a time: quiet "
            << quiet[1] << " s (median of 3), hostile " << median << " s (median of " << seeds << ", "
            << hostile.front() << " to " << hostile.back() << " s): " << median / quiet[1] << " x\n";
  for (const auto& [fault, count] : faults) std::cout << "  " << ToString(fault) << ": " << count << "\n";
  return faults;
}

TEST_CASE("An upgrade finishes within its budgets on a network that damages one request in twenty", "[hostile]") {
  CHECK(RollOutSeeds(2).size() > 4);
}

// Runs only on request, because this test takes a quarter of an hour.
TEST_CASE("Ten upgrades finish on a network that damages one request in twenty, and every fault occurs",
          "[.hostile-ten]") {
  std::map<Fault, int> faults = RollOutSeeds(10);
  for (const Fault fault : {Fault::kReset, Fault::kRefusal, Fault::kHtml, Fault::kDelay, Fault::kDropAnswer,
                            Fault::kCutAnswer, Fault::kCutStream}) {
    INFO(ToString(fault));
    CHECK(faults[fault] > 0);
  }
}

}  // namespace
}  // namespace driverupgrade::e2e
