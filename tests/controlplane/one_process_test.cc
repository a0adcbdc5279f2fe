// Tests two engines that share a process, a cache and a connection. They upgrade both drivers on the same nodes at the
// same time.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "driverupgrade/driver_identity.h"
#include "driverupgrade/kubernetes/http_transport.h"
#include "driverupgrade/kubernetes/kube_config.h"
#include "driverupgrade/kubernetes/rest_cluster.h"
#include "driverupgrade/upgrade_controller.h"
#include "driverupgrade/upgrade_engine.h"
#include "driverupgrade/watch_cache.h"
#include "ofed_driver.h"
#include "rollout_expectations.h"
#include "support.h"
#include "support/catch.h"
#include "support/chosen_transport.h"
#include "world.h"

namespace driverupgrade::e2e {
namespace {

constexpr std::chrono::seconds kRolloutLimit{90};
constexpr int kNodes = 4;
constexpr int kParallelMax = 2;

std::shared_ptr<ClusterFacade> Connect(const ControlPlane& control_plane) {
  const auto config = KubeConfig::LoadFile(control_plane.folder() / "admin.kubeconfig");
  REQUIRE(config.ok());
  const auto transport = examples::MakeChosenTransport(examples::TransportNames().front(), *config);
  REQUIRE(transport.ok());
  return MakeRestCluster(MakeRetryingTransport(*transport));
}

// An engine that runs for one driver of the process until this object is destroyed.
class Upgrade {
 public:
  Upgrade(const std::string& driver, const std::shared_ptr<ClusterFacade>& cluster,
          const std::shared_ptr<WatchCache>& cache, const SnapshotOptions& snapshot) {
    auto engine = UpgradeEngine::Create(*DriverIdentity::Create("nvidia.com", driver), cluster,
                                        {.snapshot = snapshot, .cache = cache});
    INFO(engine.status().ToString());
    REQUIRE(engine.ok());
    engine_ = *std::move(engine);
    controller_ = std::make_unique<UpgradeController>(*engine_, cache, ControllerOptions{});
    controller_->SetPolicy({.auto_upgrade = true, .max_parallel = kParallelMax, .drain = DrainPolicy{}});
    thread_ = std::jthread([this](const std::stop_token& stop) { controller_->Run(stop); });
  }

 private:
  std::unique_ptr<UpgradeEngine> engine_;
  std::unique_ptr<UpgradeController> controller_;
  std::jthread thread_;  // declared last, so joined first: the thread uses the other members
};

TEST_CASE("Both drivers are upgraded on the same nodes at the same time by one process", "[operators]") {
  World world(ControlPlane::Shared(), "one-process", kNodes);
  world.DeployDriver();
  Workload workload;
  workload.replicas = kNodes;
  world.Deploy(workload);
  const OfedDriver ofed(world);
  Rollout rollout(world);
  world.ChangeDriver("driver:2", "500ms");
  ofed.Change("mofed:2");

  const std::shared_ptr<ClusterFacade> cluster = Connect(world.control_plane());
  const SnapshotOptions gpu_pods{.ns = world.driver_ns(), .driver_labels = *LabelSelector::Parse("app=driver")};
  const SnapshotOptions ofed_pods{.ns = ofed.ns(), .driver_labels = *LabelSelector::Parse("nvidia.com/ofed-driver")};
  const auto cache =
      WatchCache::Create(cluster, {.drivers = {{.ns = gpu_pods.ns, .driver_labels = gpu_pods.driver_labels},
                                               {.ns = ofed_pods.ns, .driver_labels = ofed_pods.driver_labels}}});
  REQUIRE(cache.ok());
  (*cache)->Start();
  bool done = false;
  {
    const Upgrade gpu("gpu", cluster, *cache, gpu_pods);
    const Upgrade network("ofed", cluster, *cache, ofed_pods);
    done = Eventually(kRolloutLimit, [&] {
      const auto nodes = world.Nodes();
      return std::all_of(nodes.begin(), nodes.end(), [](const auto& entry) {
        const auto state = entry.second.labels.find(kOfedState);
        return entry.second.state == "upgrade-done" && !entry.second.unschedulable &&
               state != entry.second.labels.end() && state->second == "upgrade-done";
      });
    });
  }
  (*cache)->Stop();
  REQUIRE(done);
  ExpectEveryNodeUpgraded(rollout);
  ExpectBudgetsKept(rollout, kParallelMax, 2 * kParallelMax);
}

}  // namespace
}  // namespace driverupgrade::e2e
