// Tests two replicas that both consider themselves the leader. The test holds their requests, so that each replica
// decides to start a node before it can see the other replica's start. The test forces this interleaving because it is
// the only one that exceeds a budget without the admission ledger.
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gpu_operator.h"
#include "hostile_proxy.h"
#include "rollout_expectations.h"
#include "support.h"
#include "support/catch.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::size_t kReplicas = 2;
// Maximum time for which one replica's start waits for a start of the other replica. It is longer than the usual delay
// between two such starts, and shorter than the 30 s after which an operator gives up on a request.
constexpr std::chrono::seconds kPatience{15};

constexpr std::string_view kOneAtATime = R"(
autoUpgrade: true
maxParallelUpgrades: 1
maxUnavailable: 100%
)";

bool StartsNode(const HttpRequest& request) {
  return request.verb == HttpVerb::kPatch && request.path.find("/nodes/") != std::string::npos &&
         request.body.find("\"unschedulable\":true") != std::string::npos;
}

// Holds the first start of each replica until both replicas have requested a start, for at most kPatience.
class StartsTogether {
 public:
  void Hold(std::size_t replica, const HttpRequest& request) {
    if (!StartsNode(request)) return;
    std::unique_lock lock(mutex_);
    if (asked_[replica]) return;
    asked_[replica] = true;
    nodes_.insert(request.path);
    all_asked_.notify_all();
    met_ = all_asked_.wait_for(lock, kPatience, [&] { return asked_[0] && asked_[1]; });
  }

  // nodes() returns how many nodes the replicas tried to start first. met() returns whether both replicas had requested
  // a start before kPatience expired.
  std::size_t nodes() {
    const std::lock_guard lock(mutex_);
    return nodes_.size();
  }
  bool met() {
    const std::lock_guard lock(mutex_);
    return met_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_asked_;
  std::array<bool, kReplicas> asked_ = {};
  std::set<std::string> nodes_;
  bool met_ = false;
};

struct Replica {
  std::unique_ptr<HostileProxy> proxy;
  std::unique_ptr<GpuOperator> gpu_operator;
  std::unique_ptr<Process> process;
};

struct Outcome {
  std::size_t nodes_to_start = 0;
  int most_at_a_time = 0;
};

// Rolls out a driver with as many nodes as replicas, and makes the first starts of the replicas coincide. Without the
// ledger, the replicas start different nodes, because each replica takes its own node last (dep-F19).
Outcome RollOut(const std::string& name, const std::vector<std::string>& options) {
  World world(ControlPlane::Shared(), name, kReplicas);
  world.DeployDriver();
  for (const std::string& node : world.nodes()) {
    world.control_plane().admin().Must({"label", "node", node, "nvidia.com/gpu-driver-upgrade-state=upgrade-required"});
  }
  Rollout rollout(world);
  world.ChangeDriver("driver:2", "2s");

  StartsTogether starts;
  std::array<Replica, kReplicas> replicas;
  for (std::size_t i = 0; i < kReplicas; ++i) {
    Replica& replica = replicas[i];
    const HostileProxyOptions quiet = {.faults_of_1000 = 0,
                                       .before = [&starts, i](const HttpRequest& request) { starts.Hold(i, request); }};
    replica.proxy = std::make_unique<HostileProxy>(world.control_plane().operator_kubeconfig(), quiet);
    const auto kubeconfig = world.control_plane().folder() / (name + "-" + std::to_string(i) + ".kubeconfig");
    replica.proxy->WriteKubeconfig(kubeconfig);
    replica.gpu_operator = std::make_unique<GpuOperator>(world, kOneAtATime);
    replica.gpu_operator->set_kubeconfig(kubeconfig);
    std::vector<std::string> more = {"--node-name", world.nodes()[i]};
    more.insert(more.end(), options.begin(), options.end());
    replica.gpu_operator->set_more_options(more);
    replica.process = replica.gpu_operator->Start();
  }
  for (Replica& replica : replicas) {
    const OperatorResult result = replica.gpu_operator->Finish(*replica.process);
    INFO(result.output());
    REQUIRE(result.exit_code == 0);
  }
  ExpectEveryNodeUpgraded(rollout);
  CHECK(starts.met());
  return {.nodes_to_start = starts.nodes(), .most_at_a_time = MeasurePeaks(rollout).in_progress};
}

TEST_CASE("Two replicas that start a node at the same moment keep the limit with the ledger, and exceed it without",
          "[replicas]") {
  const Outcome with = RollOut("ledger", {"--ledger"});
  CHECK(with.nodes_to_start == 1);  // the grant names a node, so both replicas start the same node
  CHECK(with.most_at_a_time == 1);
  const Outcome without = RollOut("no-ledger", {});
  CHECK(without.nodes_to_start == 2);
  CHECK(without.most_at_a_time == 2);
}

}  // namespace
}  // namespace driverupgrade::e2e
