// Tests two replicas of the operator. In the middle of an upgrade, one of them is repeatedly killed and restarted.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <iomanip>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu_operator.h"
#include "rollout_expectations.h"
#include "steps.h"
#include "support.h"
#include "support/catch.h"
#include "upgradectl_picture.h"
#include "upgradectl_program.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr int kKills = 10;
constexpr int kNodes = 18;
constexpr int kInProgressMax = 3;
constexpr int kUnschedulableMax = 4;
// Long enough to kill a replica ten times in the middle of the upgrade, even on a busy machine.
constexpr char kDriverStart[] = "4s";

// maxUnavailable is maxParallelUpgrades plus one, for the node that the administrator cordons. The test therefore
// reaches both limits.
constexpr std::string_view kPolicy = R"(
autoUpgrade: true
maxParallelUpgrades: 3
maxUnavailable: 4
podDeletion: {force: false, timeoutSeconds: 300, deleteEmptyDir: false}
drain: {enable: true, force: false, timeoutSeconds: 300, deleteEmptyDir: false}
)";

// deploy/rbac grants access to this Lease.
constexpr char kLease[] = "nvidia-gpu-driver-upgrade";

// A replica, which runs as a sequence of processes.
class Replica {
 public:
  Replica(const World& world, std::string name, std::string_view policy = kPolicy)
      : gpu_operator_(world, policy), name_(std::move(name)) {
    gpu_operator_.set_timeout(std::chrono::seconds(240));  // includes extra time for the restarts
  }

  // Returns the identity of the replica's current process. Every process has a different identity.
  std::string identity() const { return name_ + "-" + std::to_string(lives_); }

  void StartElected() {
    ++lives_;
    Start({"--leader-elect", "--identity", identity(), "--lease-duration", "4s", "--renew-deadline", "3s",
           "--retry-period", "500ms"});
  }

  void StartForced() {
    ++lives_;
    Start({"--ledger"});
  }

  bool IsRunning() { return process_->IsRunning(); }
  void Kill() { process_->Kill(); }

  void ExpectGoodEnd() {
    const OperatorResult result = gpu_operator_.Finish(*process_);
    INFO(identity() << ": " << result.output());
    REQUIRE(result.exit_code == 0);
  }

  std::string output() const {
    return identity() + ": " + ReadFile(gpu_operator_.out_file()) + ReadFile(gpu_operator_.err_file());
  }

 private:
  void Start(std::vector<std::string> options) {
    gpu_operator_.set_more_options(std::move(options));
    process_ = gpu_operator_.Start();
  }

  GpuOperator gpu_operator_;
  std::string name_;
  int lives_ = 0;
  std::unique_ptr<Process> process_;
};

using Replicas = std::array<Replica, 2>;

void RequireBothRunning(Replicas& replicas) {
  for (Replica& replica : replicas) {
    INFO(replica.output());
    REQUIRE(replica.IsRunning());
  }
}

std::string LeaseHolder(const World& world) {
  return world.control_plane().admin().Must({"get", "lease", kLease, "--namespace=" + world.driver_ns(),
                                             "--ignore-not-found", "--output=jsonpath={.spec.holderIdentity}"});
}

// Waits until a running replica holds the Lease, and returns this replica.
Replica& AwaitLeader(const World& world, Replicas& replicas) {
  Replica* leader = nullptr;
  REQUIRE(Eventually(kStepLimit, [&] {
    const std::string holder = LeaseHolder(world);
    for (Replica& replica : replicas) {
      if (replica.identity() == holder) leader = &replica;
    }
    return leader != nullptr;
  }));
  return *leader;
}

std::ptrdiff_t CountNodePatches(AuditLog& audit) {
  const std::vector<AuditedRequest>& requests = audit.Read();
  return std::count_if(requests.begin(), requests.end(), [](const auto& request) { return request.node.has_value(); });
}

// Waits until there have been at least `patches` node patches and a node is in progress.
void AwaitMiddle(Rollout& rollout, std::ptrdiff_t patches, Replicas& replicas) {
  const bool came_there = Eventually(
      kStepLimit, [&] { return CountNodePatches(rollout.audit) >= patches && rollout.watch.Read().AnyInProgress(); });
  INFO(replicas[0].output() << replicas[1].output());
  REQUIRE(came_there);
  RequireBothRunning(replicas);
}

void ExpectGoodEnd(Rollout& rollout, Replicas& replicas) {
  for (Replica& replica : replicas) replica.ExpectGoodEnd();
  ExpectEveryNodeUpgraded(rollout);
  ExpectBudgetsKept(rollout, kInProgressMax, kUnschedulableMax);
  ExpectPodsMovedByEvictionOnly(rollout);
}

void PrintFigures(const std::string& title, double seconds, Rollout& rollout) {
  const Peaks peaks = MeasurePeaks(rollout);
  std::cout << title << ": " << kNodes << " nodes, " << kKills << " kills, " << std::fixed << std::setprecision(1)
            << seconds << " s; at most " << peaks.in_progress << " of " << kInProgressMax << " in progress, "
            << peaks.unschedulable << " of " << kUnschedulableMax << " unschedulable\n";
  PrintRequests(std::cout, rollout.audit.Read(), kNodes);
}

// The workload's disruption budget allows one unavailable pod per node. If a replica is killed while it requests an
// eviction, the budget counts the pod as disrupted for two minutes. The budget must allow for several such pods.
TEST_CASE("The leader of two replicas is killed ten times, and the upgrade finishes within the budgets", "[replicas]") {
  World world(ControlPlane::Shared(), "elected", kNodes);
  DeployAll(world, kNodes);
  Rollout rollout(world);
  world.ChangeDriver("driver:2", kDriverStart);

  const Stopwatch stopwatch;
  Replicas replicas = {Replica(world, "first"), Replica(world, "second")};
  for (Replica& replica : replicas) replica.StartElected();
  for (int kill = 0; kill < kKills; ++kill) {
    INFO("kill " << kill + 1);
    Replica& leader = AwaitLeader(world, replicas);
    // Each leader makes progress before it is killed, and is killed at a different moment.
    AwaitMiddle(rollout, CountNodePatches(rollout.audit) + 1 + kill % 3, replicas);
    leader.Kill();
    leader.StartElected();
  }
  ExpectGoodEnd(rollout, replicas);
  PrintFigures("Two replicas with leader election", stopwatch.seconds(), rollout);
}

// Without leader election, both replicas consider themselves the leader. With the ledger they keep the budgets, and the
// ledger must not block them despite conflicting writes and kills. ledger_test.cc shows that the replicas exceed the
// budgets without the ledger.
TEST_CASE("Two replicas that both lead keep the budgets with the ledger while they are killed alternately, ten times",
          "[replicas]") {
  World world(ControlPlane::Shared(), "forced", kNodes);
  DeployAll(world, kNodes);
  Rollout rollout(world);
  world.ChangeDriver("driver:2", kDriverStart);

  constexpr int kPatchesApart = 3 * kNodes / kKills;  // a node takes three or more patches, so the kills spread over
                                                      // the whole upgrade
  const Stopwatch stopwatch;
  Replicas replicas = {Replica(world, "first"), Replica(world, "second")};
  for (Replica& replica : replicas) replica.StartForced();
  for (int kill = 0; kill < kKills; ++kill) {
    INFO("kill " << kill + 1);
    AwaitMiddle(rollout, (kill + 1) * kPatchesApart, replicas);
    Replica& killed = replicas[static_cast<std::size_t>(kill % 2)];
    killed.Kill();
    killed.StartForced();
  }
  ExpectGoodEnd(rollout, replicas);
  CHECK(FindWrite(rollout.audit, "patch", "configmaps", "nvidia-gpu-driver-upgrade").has_value());
  PrintFigures("Two replicas that both lead, with the ledger", stopwatch.seconds(), rollout);
}

// The policy is paused, so that the operator does not exit.
TEST_CASE("The Lease contains the policy of the current leader, and upgradectl shows the policy's source and age",
          "[replicas]") {
  World world(ControlPlane::Shared(), "reported", 1);
  world.DeployDriver();
  world.ChangeDriver("driver:2");
  Replica first(world, "first", "{autoUpgrade: true, paused: true, maxParallelUpgrades: 7}");
  Replica second(world, "second", "{autoUpgrade: true, paused: true, maxParallelUpgrades: 8}");
  const std::string admin = (world.control_plane().folder() / "admin.kubeconfig").string();
  const auto await = [&](const std::string& line, const std::string& limits) {
    std::string out;
    const bool came = Eventually(kStepLimit, [&] {
      std::vector<std::string> words = {"status", "--policy", "live"};
      const std::vector<std::string> options = UpgradectlOptions(world, admin);
      words.insert(words.end(), options.begin(), options.end());
      const KubectlResult answer = RunUpgradectl(world.control_plane(), words);
      out = answer.out + answer.err;
      return out.find(line) != std::string::npos && out.find(limits) != std::string::npos;
    });
    INFO(out);
    CHECK(came);
  };
  const std::string lease = world.driver_ns() + "/" + kLease;
  first.StartElected();
  await("policy reported by first-1 (Lease " + lease + ", renewed ", "slots 0 of 7,");
  second.StartElected();
  first.Kill();
  await("policy reported by second-1 (Lease " + lease + ", renewed ", "slots 0 of 8,");
  second.Kill();
  await("policy reported by second-1, whose Lease " + lease + " has expired, ", "slots 0 of 8,");
}

// Other tests leave behind Leases of the same driver in other namespaces.
TEST_CASE("upgradectl needs only the namespace of a driver whose operator reports its options (W36)", "[replicas]") {
  World world(ControlPlane::Shared(), "options", 1);
  world.DeployDriver();
  // The policy is paused, so that the operator does not exit at the end of the rollout.
  world.ChangeDriver("driver:2");
  Replica replica(world, "first", "{autoUpgrade: true, paused: true, maxParallelUpgrades: 7}");
  const std::string admin = (world.control_plane().folder() / "admin.kubeconfig").string();
  replica.StartElected();
  std::string out;
  const bool came = Eventually(kStepLimit, [&] {
    const KubectlResult answer = RunUpgradectl(
        world.control_plane(), {"status", "--kubeconfig", admin, "--namespace", world.driver_ns(), "--policy", "live"});
    out = answer.out + answer.err;
    return out.find("slots 0 of 7,") != std::string::npos && out.find("0 of 1 done") != std::string::npos;
  });
  INFO(out);
  CHECK(came);
  const std::string report = world.control_plane().admin().Must(
      {"get", "lease", kLease, "--namespace=" + world.driver_ns(),
       R"(--output=jsonpath={.metadata.annotations.nvidia\.com/gpu-driver-upgrade\.options})"});
  CHECK(report.find("\"gpuPods\":true,\"defaults\":\"gpu-operator\"") != std::string::npos);
  replica.Kill();
}

}  // namespace
}  // namespace driverupgrade::e2e
